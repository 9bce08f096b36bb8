"""How well words and sentences fit, by hiding what is scored piece by piece."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax, ranks_of
from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import (
    Row,
    head_logits,
    mask_position,
    row_with,
)
from bertviz_core.experiments.word_results import MinimalPair, SentenceScore, WordScore
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

if TYPE_CHECKING:
    from bertviz_core.tokenizer import BertTokenizer

VARIANTS = ("naive", "within_word")


def score_words(
    explorer: Explorer,
    text: str,
    words: Sequence[str],
    mask_index: int = 0,
    progress: Progress = untold,
) -> tuple[WordScore, ...]:
    """Scores words that the user names at a mask, in their order; other masks stay.

    The mask becomes as many masks as the word has pieces. A piece is predicted
    with those before it written and those after it masked, so a word of one
    piece gets its entry of the softmax. A piece of the vocabulary counts as itself
    ("##ing").

    Raises:
        TextError: a word without pieces in the vocabulary, no mask, or a text
            that gets too long.

    Source: Kauf and Ivanova 2023 (arXiv:2305.10588), "within_word_l2r".
    """
    tokenized = explorer.require_masks(text)
    position = mask_position(tokenized, mask_index)
    pieces = [pieces_of(explorer.tokenizer, word) for word in words]
    rows = [row for ids in pieces for row in word_rows(tokenized, position, ids)]
    asked = [index for ids in pieces for index in ids]
    log_probs, ranks = _scores(explorer, rows, asked, progress)
    bounds = np.cumsum([0, *map(len, pieces)])
    vocabulary = explorer.tokenizer.vocabulary
    return tuple(
        WordScore(
            word=word,
            tokens=tuple(vocabulary[index] for index in ids),
            log_probs=log_probs[start:end].copy(),
            ranks=ranks[start:end].copy(),
        )
        for word, ids, start, end in zip(
            words, pieces, bounds[:-1], bounds[1:], strict=True
        )
    )


@task()
def score_known_words(
    explorer: Explorer,
    text: str,
    words: Sequence[str],
    mask_index: int = 0,
    progress: Progress = untold,
) -> tuple[WordScore, ...]:
    """The same without words that the model cannot read, or has no room for."""
    room = explorer.config.max_position_embeddings
    room += 1 - explorer.tokenize(text).num_tokens
    known = []
    for word in words:
        with contextlib.suppress(TextError):
            if len(pieces_of(explorer.tokenizer, word)) <= room:
                known.append(word)
    return score_words(explorer, text, known, mask_index, progress=progress)


@task()
def score_sentence(
    explorer: Explorer,
    text: str,
    pair: str | None = None,
    variant: str = "naive",
    progress: Progress = untold,
) -> SentenceScore:
    """Pseudo-log-likelihood: each token predicted from all others.

    Args:
        text: masks in it stay masked and are not scored.
        variant: "naive" hides one token at a time. "within_word" also hides
            the later pieces of the same word, which would give it away.

    Raises:
        TextError: nothing but masks, or see `Explorer.tokenize`.

    Source: Salazar et al. 2020 (arXiv:1910.14659), equation 1, for "naive"; Kauf and
    Ivanova 2023 (arXiv:2305.10588), "within_word_l2r".
    """
    (found,) = score_sentences(explorer, [(text, pair)], variant, progress)
    return found


def score_sentences(
    explorer: Explorer,
    texts: Sequence[tuple[str, str | None]],
    variant: str = "naive",
    progress: Progress = untold,
    cut: bool = False,
) -> tuple[SentenceScore, ...]:
    """The same for many texts, or pairs, that are read together, or `cut`."""
    if variant not in VARIANTS:
        raise ValueError(f"`variant` must be among {VARIANTS}. Received: {variant}.")
    explorer.require_head("mlm")
    read = [explorer.tokenize(text, pair, cut=cut) for text, pair in texts]
    places = [_scored_places(tokenized) for tokenized in read]
    rows, asked = [], []
    for tokenized, positions in zip(read, places, strict=True):
        for position in positions.tolist():
            hidden = _hidden_with(tokenized, position, variant)
            mask = tokenized.mask_token_id
            rows.append(row_with(tokenized, hidden, mask, position))
            asked.append(tokenized.input_ids[position])
    log_probs, ranks = _scores(explorer, rows, asked, progress)
    bounds = np.cumsum([len(positions) for positions in places])[:-1]
    return tuple(
        SentenceScore(tokenized, positions, own_probs, own_ranks)
        for tokenized, positions, own_probs, own_ranks in zip(
            read,
            places,
            np.split(log_probs, bounds),
            np.split(ranks, bounds),
            strict=True,
        )
    )


def _scored_places(tokenized: TokenizedText) -> np.ndarray:
    is_mask = tokenized.input_ids == tokenized.mask_token_id
    positions = np.flatnonzero(~tokenized.is_added & ~is_mask)
    if not len(positions):
        raise TextError(
            "The text contains only masks, so there is no word to score. Type a "
            "sentence."
        )
    return positions


@task()
def score_minimal_pair(
    explorer: Explorer,
    first: str,
    second: str,
    variant: str = "within_word",
    progress: Progress = untold,
) -> MinimalPair:
    """Scores two sentences that differ little, side by side; see `score_sentence`.

    The first is the one that is expected to be better.

    Source: Warstadt et al. 2020 (arXiv:1912.00582) for judging a model by pairs.
    """
    texts = [(first, None), (second, None)]
    one, other = score_sentences(explorer, texts, variant, progress)
    return MinimalPair(one, other, _aligned(one, other))


def pieces_of(tokenizer: BertTokenizer, word: str) -> list[int]:
    """Ids of the pieces of a word that someone typed.

    Raises:
        TextError: nothing, or characters that the vocabulary lacks.
    """
    word = word.strip()
    if word in tokenizer.vocabulary:
        ids = [tokenizer.vocabulary.index(word)]
    else:
        ids = tokenizer.encode_many([word])[0]
    if not ids or tokenizer.unk_token_id in ids or tokenizer.mask_token_id in ids:
        raise TextError(
            "The vocabulary has no word pieces for this word, so it cannot be scored. "
            "Received: “{word}”. Try another word.",
            word=word[:60],
        )
    return ids


def word_rows(tokenized: TokenizedText, position: int, ids: Sequence[int]) -> list[Row]:
    """A row for each piece of a word at a mask: earlier ones written, later hidden."""
    size = len(ids)

    def widened(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
        parts = [values[:position], inside, values[position + 1 :]]
        return np.concatenate(parts).astype("int32")

    types = widened(
        tokenized.token_type_ids, np.repeat(tokenized.token_type_ids[position], size)
    )
    rows = []
    for done in range(size):
        inside = np.full(size, tokenized.mask_token_id)
        inside[:done] = ids[:done]
        rows.append(Row(widened(tokenized.input_ids, inside), types, position + done))
    return rows


def _hidden_with(tokenized: TokenizedText, position: int, variant: str) -> np.ndarray:
    """Token indices that are masked while one is predicted."""
    if variant == "naive":
        return np.array([position])
    same_word = tokenized.word_ids == tokenized.word_ids[position]
    same_text = tokenized.token_type_ids == tokenized.token_type_ids[position]
    later = np.arange(tokenized.num_tokens) >= position
    return np.flatnonzero(same_word & same_text & later)


def _scores(
    explorer: Explorer,
    rows: Sequence[Row],
    asked: Sequence[int] | np.ndarray,
    progress: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probability and rank of one word in each row, `[R]` each.

    Rows that are alike are read once: words of one length begin with the same one.
    """
    ids = np.asarray(asked, np.int64)
    log_probs = np.empty(len(rows))
    ranks = np.empty(len(rows), np.int64)
    different: dict[tuple[bytes, int], int] = {}
    place = np.array(
        [
            different.setdefault((row.input_ids.tobytes(), row.position), index)
            for index, row in enumerate(rows)
        ],
        np.int64,
    )
    firsts = np.array(list(different.values()), np.int64)
    to_read = [rows[index] for index in firsts]
    for chunk, logits in head_logits(explorer, "mlm", to_read, progress, "score"):
        members = np.flatnonzero(np.isin(place, firsts[chunk]))
        read = np.searchsorted(firsts[chunk], place[members])  # firsts increase
        log_probs[members] = log_softmax(logits)[read, ids[members]]
        ranks[members] = ranks_of(logits[read], ids[members])
    return log_probs, ranks


def _aligned(first: SentenceScore, second: SentenceScore) -> np.ndarray:
    """Which scored places belong side by side, int `[A, 2]`; -1 for none."""
    one, other = (
        [score.tokenized.tokens[position] for position in score.positions]
        for score in (first, second)
    )
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    rows: list[tuple[int, int]] = []
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        for step in range(max(end - start, other_end - other_start)):
            left, right = start + step, other_start + step
            rows.append(
                (left if left < end else -1, right if right < other_end else -1)
            )
    return np.array(rows)
