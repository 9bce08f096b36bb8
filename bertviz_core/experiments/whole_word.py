"""Whole words for one mask: several characters, or several pieces, at once."""

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax
from bertviz_core.chinese_words import is_character
from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import (
    Row,
    all_word_logits,
    mask_position,
    piece_names,
)
from bertviz_core.experiments.scoring import word_rows
from bertviz_core.experiments.word_results import WholeWords
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

KINDS = ("characters", "pieces")
MOST_PIECES = 8


@task()
def find_whole_words(
    explorer: Explorer,
    text: str,
    num_pieces: int,
    kind: str = "characters",
    mask_index: int = 0,
    beam: int = 32,
    progress: Progress = untold,
) -> WholeWords:
    """Finds the likeliest words of 1 to `MOST_PIECES` pieces; other masks stay.

    The mask becomes as many masks. From the left, each of the best `beam` beginnings is
    written and the next piece predicted, all in one batch; a word's score is that of
    `scoring.score_words`. Words that the tokenizer would cut into other pieces are none
    of them.

    Args:
        kind: "characters" builds words of Chinese characters; punctuation,
            letters and digits are left out. "pieces" builds words of an
            alphabet: one beginning and `##` pieces, letters only.

    Raises:
        TextError: no mask, a text that gets too long, or a vocabulary without
            such pieces.

    Source: Cui et al. 2021 (arXiv:1906.08101) for masking whole Chinese words; the
    score as in Kauf and Ivanova 2023 (arXiv:2305.10588).
    """
    if kind not in KINDS or not 1 <= num_pieces <= MOST_PIECES or beam < 1:
        raise ValueError(
            f"`kind` must be among {KINDS}, `num_pieces` from 1 to {MOST_PIECES}, "
            f"`beam` at least 1. Received: {kind}, {num_pieces}, {beam}."
        )
    tokenized = explorer.require_masks(text)
    position = mask_position(tokenized, mask_index)
    choices = _choices(explorer, kind)
    search = _Beam(explorer, beam)
    for place in range(num_pieces):
        rows = [_row_at(tokenized, position, ids, num_pieces) for ids in search.ids]
        log_probs = log_softmax(all_word_logits(explorer, rows))
        search.extend(log_probs, choices[min(place, 1)])
        progress((place + 1) / num_pieces, "whole word")
    return WholeWords(
        tokens=tuple(piece_names(explorer, row) for row in search.ids),
        log_probs=search.log_probs,
        bound=search.bound,
    )


class _Beam:
    """The best beginnings so far, best first: `ids` and `log_probs` `[M, n]`."""

    def __init__(self, explorer: Explorer, size: int) -> None:
        self.explorer, self.size = explorer, size
        self.ids = np.empty((1, 0), np.int64)
        self.log_probs = np.empty((1, 0))
        # A longer word is never likelier than its beginning: no beginning that was
        # dropped can have led to anything above this.
        self.bound = -np.inf

    def extend(self, log_probs: np.ndarray, choices: np.ndarray) -> None:
        """Adds one of the chosen pieces to each beginning; keeps the best.

        Only what the tokenizer writes so takes a place. WordPiece takes the longest
        piece that fits, so a beginning that it cuts otherwise begins no word that
        it cuts into these pieces.
        """
        totals = self.log_probs.sum(axis=1)[:, None] + log_probs[:, choices]
        order = np.argsort(-totals, axis=None, kind="stable")
        kept = np.empty(0, np.int64)
        start, size = 0, 2 * self.size
        # One more than is kept: the best of those that are dropped.
        while len(kept) <= self.size and start < len(order):
            some = order[start : start + size]
            kept = np.append(kept, some[self._is_written_so(some, choices)])
            start, size = start + size, 2 * size
        if len(kept) > self.size:
            self.bound = max(self.bound, float(totals.ravel()[kept[self.size]]))
        beginning, choice = np.divmod(kept[: self.size], len(choices))
        added = log_probs[beginning, choices[choice]]
        self.ids = self._extended(kept[: self.size], choices)
        self.log_probs = np.concatenate(
            [self.log_probs[beginning], added[:, None]], axis=1
        )

    def _extended(self, places: np.ndarray, choices: np.ndarray) -> np.ndarray:
        """The beginnings at these places of beginnings times choices, int `[m, n]`."""
        beginning, choice = np.divmod(places, len(choices))
        return np.concatenate([self.ids[beginning], choices[choice, None]], axis=1)

    def _is_written_so(self, places: np.ndarray, choices: np.ndarray) -> np.ndarray:
        """Which of them the tokenizer cuts into these very pieces, bool `[m]`.

        A model never saw "play" + "##ing" if "playing" is a piece itself.
        """
        ids = self._extended(places, choices)
        words = [
            "".join(p.removeprefix("##") for p in piece_names(self.explorer, row))
            for row in ids
        ]
        cut = self.explorer.tokenizer.encode_many(words)
        return np.array(
            [found == row.tolist() for found, row in zip(cut, ids, strict=True)], bool
        )


def _choices(explorer: Explorer, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Ids that a word may begin with, and those that may follow."""
    vocabulary = explorer.tokenizer.vocabulary
    if kind == "characters":
        begin = [i for i, piece in enumerate(vocabulary) if is_character(piece)]
        follow = begin
    else:
        begin = [
            i
            for i, piece in enumerate(vocabulary)
            if piece.isalpha() and not is_character(piece)
        ]
        follow = [
            i
            for i, piece in enumerate(vocabulary)
            if piece.startswith("##")
            and piece[2:].isalpha()
            and not is_character(piece[2:])
        ]
    if not begin or not follow:
        raise TextError(
            "The vocabulary of the model {model} has no word pieces to build such "
            "words from. Received: {kind}. Choose the other kind or another model.",
            model=explorer.model_id,
            kind=kind,
        )
    return np.array(begin), np.array(follow)


def _row_at(tokenized: TokenizedText, position: int, ids: np.ndarray, size: int) -> Row:
    """The text with a beginning written and the rest of the word masked."""
    word = [*ids.tolist(), *[tokenized.mask_token_id] * (size - len(ids))]
    return word_rows(tokenized, position, word)[len(ids)]
