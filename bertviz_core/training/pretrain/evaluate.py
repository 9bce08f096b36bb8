"""What a model is worth: text that it never saw, and everyday sentences with a gap."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.sentence_splitting import sentences_of
from bertviz_core.tasks import Progress
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.pretrain.batches import assemble
from bertviz_core.training.pretrain.corpus import (
    INDEX_FILE,
    EncodedCorpus,
    encode_sentences,
    open_corpus,
    read_paragraphs,
)
from bertviz_core.training.pretrain.masking import TokenKinds
from bertviz_core.training.pretrain.sequences import draw_sequences
from bertviz_core.training.pretrain.settings import SequenceSettings

MASKED_RATE = 0.15  # Devlin et al. 2019, section 3.1
_SEED = 0
_BATCH_TOKENS = 4096  # in one forward pass; the scores of words take the room
_PLACES_AT_ONCE = 128  # positions that share a score


def make_windows(
    corpus: EncodedCorpus,
    documents: Sequence[int] | np.ndarray,
    max_tokens: int,
    kinds: TokenKinds,
) -> np.ndarray:
    """Cuts documents into windows `[CLS] … [SEP]`, each word in exactly one.

    A window ends where its document ends, so the last one is mostly shorter, and
    padded: int32 `[W, T]`.
    """
    room = max_tokens - 2
    bounds = corpus.sentence_starts[corpus.document_starts]
    windows = []
    for document in documents:
        ids = np.asarray(corpus.tokens[bounds[document] : bounds[document + 1]])
        for first in range(0, len(ids), room):
            part = ids[first : first + room]
            window = np.full(max_tokens, kinds.pad_token_id, "int32")
            window[0], window[len(part) + 1] = kinds.cls_token_id, kinds.sep_token_id
            window[1 : len(part) + 1] = part
            windows.append(window)
    return np.array(windows, "int32").reshape(-1, max_tokens)


def evaluate_mlm(
    forward: CompiledForward, windows: np.ndarray, kinds: TokenKinds
) -> dict[str, Any]:
    """Hides 15 % of each window behind [MASK], always the same, and has them guessed.

    Of all hidden words, of which special tokens and `[UNK]` are none: "loss", the mean
    of -ln p(word); "top1" and "top5", the shares that come first or among the first
    five; "num_words". And "by_position", "top1" and "num_words" of each 128 positions
    with hidden words, from "first" to "last", so that positions that were never trained
    cannot hide in the mean. No word to hide is a `TrainingError`.
    """
    rng = np.random.default_rng(_SEED)
    is_word = ~kinds.is_special[windows]  # [W, T]
    keys = np.where(is_word, rng.random(windows.shape), 2.0)
    counts = np.minimum(
        np.maximum(np.rint(is_word.sum(1) * MASKED_RATE), 1), is_word.sum(1)
    )
    is_hidden = np.argsort(np.argsort(keys, axis=1), axis=1) < counts[:, None]
    if not is_hidden.any():
        raise TrainingError(
            "There is no word to hide in the text. Give more text, or text in the "
            "language of the vocabulary."
        )
    rows_at_once = max(1, _BATCH_TOKENS // windows.shape[1])
    ranks, losses = [], []
    for first in range(0, len(windows), rows_at_once):
        part = slice(first, first + rows_at_once)
        logits, labels = _guesses(forward, windows[part], is_hidden[part], kinds)
        right = logits[np.arange(len(labels)), labels][:, None]  # [P, 1]
        # Words that score the same share their places: none is given away.
        ties = (logits == right).sum(axis=1) - 1
        ranks.append((logits > right).sum(axis=1) + (ties + 1) // 2)
        losses.append(logsumexp(logits, axis=1) - right[:, 0])
    rank = np.concatenate(ranks)
    parts = np.nonzero(is_hidden)[1] // _PLACES_AT_ONCE
    return {
        "loss": float(np.concatenate(losses).mean()),
        "top1": float((rank < 1).mean()),
        "top5": float((rank < 5).mean()),
        "num_words": len(rank),
        "by_position": [
            {
                "first": part * _PLACES_AT_ONCE,
                "last": (part + 1) * _PLACES_AT_ONCE - 1,
                "top1": float((rank[parts == part] < 1).mean()),
                "num_words": int((parts == part).sum()),
            }
            for part in np.unique(parts).tolist()
        ],
    }


def evaluate_nsp(
    forward: CompiledForward,
    corpus: EncodedCorpus,
    documents: np.ndarray,
    max_tokens: int,
    kinds: TokenKinds,
    max_pairs: int = 2000,
) -> dict[str, Any]:
    """Asks for every pair of segments, or a draw, whether the second follows the first.

    "nsp_accuracy" is the share of pairs that are told right, of "num_pairs", about half
    of each kind; `None` and 0 where no two documents have two sentences.
    """
    times = np.isin(np.arange(corpus.num_documents), documents).astype("int64")
    settings = SequenceSettings(pair_rate=1.0, join_rate=0.0)
    rng = np.random.default_rng(_SEED)
    sequences = draw_sequences(corpus, times, max_tokens, settings, rng)
    asked = rng.permutation(np.flatnonzero(sequences.nsp_weights > 0))[:max_pairs]
    rows_at_once = max(1, _BATCH_TOKENS // max_tokens)
    is_right: list[bool] = []
    for first in range(0, len(asked), rows_at_once):
        chosen = asked[first : first + rows_at_once]
        arrays = assemble(corpus.tokens, sequences, chosen[:, None], max_tokens, kinds)
        inputs = {
            "input_ids": arrays["input_ids"],
            "token_type_ids": arrays["token_type_ids"],
            "attention_mask": np.sign(arrays["sequence_ids"]),
        }
        logits = forward(inputs, ("nsp_logits",))["nsp_logits"]
        is_right.extend(logits.argmax(axis=1) == sequences.nsp_labels[chosen])
    accuracy = float(np.mean(is_right)) if is_right else None
    return {"nsp_accuracy": accuracy, "num_pairs": len(asked)}


def _guesses(
    forward: CompiledForward, windows: np.ndarray, hidden: np.ndarray, kinds: TokenKinds
) -> tuple[np.ndarray, np.ndarray]:
    """Scores float64 `[P, V]` of the hidden places, and the words that stood there."""
    slots = int(np.ceil(windows.shape[1] * MASKED_RATE)) * len(windows)
    places = np.flatnonzero(hidden)
    # As many places for every batch, so that nothing is compiled twice.
    padded = np.append(places, np.zeros(max(slots - len(places), 0), "int64"))
    inputs = {
        "input_ids": np.where(hidden, kinds.mask_token_id, windows),
        "attention_mask": (windows != kinds.pad_token_id).astype("int32"),
        "mlm_positions": padded,
    }
    logits = forward(inputs, ("mlm_logits",))["mlm_logits"][: len(places)]
    return logits.astype("float64"), windows.reshape(-1)[places]


def evaluate_text(
    forward: CompiledForward,
    corpus: EncodedCorpus,
    documents: np.ndarray,
    max_tokens: int,
    kinds: TokenKinds,
    max_windows: int | None = None,
    max_pairs: int = 2000,
) -> dict[str, Any]:
    """What `evaluate_mlm` and `evaluate_nsp` say of some documents, or of a draw.

    The draw is always the same. Of a model without the second head "nsp_accuracy" is
    `None`, of 0 pairs.
    """
    windows = make_windows(corpus, documents, max_tokens, kinds)
    drawn = np.random.default_rng(_SEED).permutation(len(windows))[:max_windows]
    scores = evaluate_mlm(forward, windows[np.sort(drawn)], kinds)
    if "nsp" not in forward.model.heads:
        return scores | {"nsp_accuracy": None, "num_pairs": 0}
    return scores | evaluate_nsp(
        forward, corpus, documents, max_tokens, kinds, max_pairs
    )


@dataclass(frozen=True)
class ClozeItem:
    """One sentence."""

    text: str  # with one [MASK]
    answers: tuple[str, ...]  # whole words that fit, thought of before asking a model
    # More of them, found sensible by judges who were shown the guesses of several
    # models among other words, without being told whose they are.
    judged: tuple[str, ...] = ()


def read_cloze(path: Path) -> tuple[ClozeItem, ...]:
    """Reads sentences from JSON: a list of {"text": …, "answers": […]}.

    An object may have a list "judged" as well, see `ClozeItem`. Another file, or a
    sentence without exactly one `[MASK]`, is a `DatasetError`.
    """
    try:
        items = tuple(map(_item, json.loads(path.read_text(encoding="utf-8"))))
        if not items:
            raise ValueError("an empty list")
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            "The file {name} does not contain cloze sentences. Write a JSON list of "
            'objects with "text" and "answers".',
            name=path.name,
        ) from error
    for item in items:
        if item.text.count("[MASK]") != 1 or not item.answers:
            raise DatasetError(
                "A cloze sentence needs one [MASK] and at least one answer. Received: "
                "{text}. Correct it in the file.",
                text=item.text[:80],
            )
    return items


def _item(row: dict[str, Any]) -> ClozeItem:
    words = row["answers"], row.get("judged", [])
    if not all(isinstance(some, list) for some in words):
        raise TypeError("answers")  # a string would be read letter by letter
    return ClozeItem(str(row["text"]), *(tuple(map(str, some)) for some in words))


def score_cloze(
    forward: CompiledForward, tokenizer: BertTokenizer, items: tuple[ClozeItem, ...]
) -> dict[str, Any]:
    """Lets a model fill the gaps; punctuation and word pieces compete, too.

    "cloze_top1" and "cloze_top5" are the shares of "num_cloze" sentences with one of
    their answers first, or among the first five; "cloze_judged_top1" and
    "cloze_judged_top5", where words were judged, the same with these.
    """
    texts = [tokenizer.encode(item.text) for item in items]
    max_tokens = max(text.num_tokens for text in texts)
    ids = np.full((len(texts), max_tokens), tokenizer.pad_token_id, "int32")
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : text.num_tokens] = text.input_ids
        mask[row, : text.num_tokens] = 1
    places = np.flatnonzero(ids == tokenizer.mask_token_id)
    inputs = {"input_ids": ids, "attention_mask": mask, "mlm_positions": places}
    logits = forward(inputs, ("mlm_logits",))["mlm_logits"]
    logits = logits[:, : tokenizer.vocab_size]  # the rest belongs to no word
    best = np.argsort(-logits, axis=1, kind="stable")[:, :5]
    guesses = [[tokenizer.vocabulary[i] for i in row] for row in best]
    answers = [item.answers for item in items]
    found = {
        "cloze_top1": _share_right(guesses, answers, 1),
        "cloze_top5": _share_right(guesses, answers, 5),
        "num_cloze": len(items),
    }
    if any(item.judged for item in items):
        answers = [item.answers + item.judged for item in items]
        found["cloze_judged_top1"] = _share_right(guesses, answers, 1)
        found["cloze_judged_top5"] = _share_right(guesses, answers, 5)
    return found


def _share_right(
    guesses: list[list[str]], answers: list[tuple[str, ...]], count: int
) -> float:
    pairs = zip(guesses, answers, strict=True)
    return float(np.mean([not set(words[:count]).isdisjoint(a) for words, a in pairs]))


def evaluate_model(
    model_id: str,
    text_path: Path | None,
    cloze_path: Path | None,
    window: int = 128,
    file_name: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measures a model on text, on cloze sentences, or on both.

    Text is a file, or the folder of an encoded corpus, of which the documents kept
    apart are read, `file_name` of those of one text file; it is cut into windows of so
    many tokens. What is returned is "model", with a text "window" and what
    `evaluate_text` gives, with sentences what `score_cloze` gives.

    Raises:
        CheckpointError: no such model, or one without a masked-word head.
        TrainingError: the text cannot be read, or the window is too long; the encoded
            corpus has another vocabulary, or no such file.
        DatasetError: the sentences cannot be read.
    """
    explorer = Explorer.open(model_id, progress)
    explorer.require_head("mlm")
    scores: dict[str, Any] = {"model": model_id}
    if text_path is not None:
        scores |= _on_text(explorer, text_path, window, file_name)
    if cloze_path is not None:
        items = read_cloze(cloze_path)
        scores |= score_cloze(explorer.forward, explorer.tokenizer, items)
    return scores


def _on_text(
    explorer: Explorer, path: Path, window: int, file_name: str | None
) -> dict[str, Any]:
    longest = explorer.config.max_position_embeddings
    if window > longest:
        raise TrainingError(
            "The window is longer than the model. Received: {window} tokens; the model "
            "has {longest} positions. Choose a shorter window.",
            window=window,
            longest=longest,
        )
    corpus, documents = _documents(explorer, path, file_name)
    kinds = TokenKinds.of(explorer.tokenizer.vocabulary)
    found = evaluate_text(explorer.forward, corpus, documents, window, kinds)
    return {"window": window, **found}


def _documents(
    explorer: Explorer, path: Path, file_name: str | None
) -> tuple[EncodedCorpus, np.ndarray]:
    """The text, and which of its documents are asked about."""
    if not (path / INDEX_FILE).is_file():
        sentences = (
            (sentence, number, 0)
            for paragraph, number in read_paragraphs(path)
            for sentence in sentences_of(paragraph)
        )
        corpus = encode_sentences(sentences, explorer.tokenizer)
        return corpus, np.arange(corpus.num_documents)
    corpus = open_corpus(path)
    vocabulary = BertTokenizer.from_folder(path).vocabulary
    if vocabulary != explorer.tokenizer.vocabulary:
        raise TrainingError(
            "The encoded corpus {folder} has another vocabulary than the model. Give "
            "its text files, or a model that was trained on it.",
            folder=path.name,
        )
    is_asked = corpus.is_held_out.copy()
    if file_name is not None:
        if file_name not in corpus.file_names:
            raise TrainingError(
                "The encoded corpus holds no such text file. Received: {name}. In the "
                "corpus: {known}.",
                name=file_name[:60],
                known=", ".join(corpus.file_names),
            )
        is_asked &= corpus.document_files == corpus.file_names.index(file_name)
    return corpus, np.flatnonzero(is_asked)
