"""What a model is worth on text that it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.model.bert import Bert
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.pretrain.batches import assemble
from bertviz_core.pretrain.corpus import EncodedCorpus, encode_documents
from bertviz_core.pretrain.masking import TokenKinds
from bertviz_core.pretrain.prepare import read_paragraphs, sentences_by_document
from bertviz_core.pretrain.sequences import draw_sequences
from bertviz_core.pretrain.settings import SequenceSettings
from bertviz_core.tokenizer import BertTokenizer

MASKED_RATE = 0.15  # Devlin et al. 2019, section 3.1
_SEED = 0
_BATCH_TOKENS = 4096  # in one forward pass; the scores of words take the room


_PLACES_AT_ONCE = 128  # positions that share a score


@dataclass(frozen=True)
class PositionScore:
    """How well the words at some positions of their windows are guessed.

    Args:
        first, last: the positions, from 0.
        top1: share of the words that come first.
        num_words: how many were hidden there.
    """

    first: int
    last: int
    top1: float
    num_words: int


@dataclass(frozen=True)
class MlmScores:
    """How well hidden words are guessed.

    Args:
        loss: mean of -ln p(word).
        top1, top5: share of the words that come first, or among the first five.
        num_words: how many were hidden.
        by_position: the same for each 128 positions with hidden words, so that
            positions that were never trained cannot hide in the mean.
    """

    loss: float
    top1: float
    top5: float
    num_words: int
    by_position: tuple[PositionScore, ...]


@dataclass(frozen=True)
class NspScores:
    """How well the next sentence is told from another document's.

    Args:
        accuracy: share of the pairs that are told right.
        num_pairs: how many; about half of each kind.
    """

    accuracy: float
    num_pairs: int


def read_text(path: Path, tokenizer: BertTokenizer) -> EncodedCorpus:
    """Encodes a text file for evaluation.

    Raises:
        TrainingError: absent, empty or not text.
    """
    documents = sentences_by_document(read_paragraphs(path))
    return encode_documents(((0, sentences) for sentences in documents), tokenizer)


def make_windows(
    corpus: EncodedCorpus,
    documents: Sequence[int] | np.ndarray,
    max_tokens: int,
    kinds: TokenKinds,
) -> np.ndarray:
    """Cuts documents into windows `[CLS] … [SEP]`, each word in exactly one.

    A window ends where its document ends, so the last one is mostly shorter.

    Args:
        corpus: the text.
        documents: which documents.
        max_tokens: T of a window.
        kinds: ids of the special tokens.

    Returns:
        int32 `[W, T]`, padded.
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
) -> MlmScores:
    """Hides 15 % of each window behind [MASK], always the same, and has them guessed.

    Args:
        forward: of a model with the head "mlm".
        windows: int `[W, T]`, padded, see `make_windows`.
        kinds: of the vocabulary.

    Returns:
        Means over all hidden words; special tokens and `[UNK]` are never hidden.

    Raises:
        TrainingError: there is no word to hide.
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
        part = _filled(windows[first : first + rows_at_once], rows_at_once)
        hidden = _filled(is_hidden[first : first + rows_at_once], rows_at_once)
        logits, labels = _guesses(forward, part, hidden, kinds)
        right = logits[np.arange(len(labels)), labels][:, None]  # [P, 1]
        # Words that score the same share their places: none is given away.
        ties = (logits == right).sum(axis=1) - 1
        ranks.append((logits > right).sum(axis=1) + (ties + 1) // 2)
        highest = logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(logits - highest).sum(axis=1)) + highest[:, 0]
        losses.append(total - right[:, 0])
    rank = np.concatenate(ranks)
    return MlmScores(
        loss=float(np.concatenate(losses).mean()),
        top1=float((rank < 1).mean()),
        top5=float((rank < 5).mean()),
        num_words=len(rank),
        by_position=_by_position(rank, np.nonzero(is_hidden)[1]),
    )


def evaluate_nsp(
    forward: CompiledForward,
    corpus: EncodedCorpus,
    documents: np.ndarray,
    max_tokens: int,
    kinds: TokenKinds,
    max_pairs: int = 2000,
) -> NspScores | None:
    """Asks for every pair of segments whether the second follows the first.

    Args:
        forward: of a model with the head "nsp".
        corpus: the text.
        documents: int, which documents.
        max_tokens: of a pair, special tokens counted.
        kinds: ids of the special tokens.
        max_pairs: a draw of that many, if there are more.

    Returns:
        The scores; `None` where the text has no two documents with two sentences.
    """
    times = np.isin(np.arange(corpus.num_documents), documents).astype("int64")
    settings = SequenceSettings(pair_rate=1.0, join_rate=0.0)
    rng = np.random.default_rng(_SEED)
    sequences = draw_sequences(corpus, times, max_tokens, settings, rng)
    asked = rng.permutation(np.flatnonzero(sequences.nsp_weights > 0))[:max_pairs]
    if not len(asked):
        return None
    rows_at_once = max(1, _BATCH_TOKENS // max_tokens)
    is_right = []
    for first in range(0, len(asked), rows_at_once):
        chosen = asked[first : first + rows_at_once]
        rows = _filled(chosen[:, None], rows_at_once)
        arrays = assemble(corpus.tokens, sequences, rows, max_tokens, kinds)
        inputs = {
            "input_ids": arrays["input_ids"],
            "token_type_ids": arrays["token_type_ids"],
            "attention_mask": np.sign(arrays["sequence_ids"]),
        }
        logits = forward(inputs, ("nsp_logits",))["nsp_logits"][: len(chosen)]
        is_right.append(logits.argmax(axis=1) == sequences.nsp_labels[chosen])
    return NspScores(float(np.concatenate(is_right).mean()), len(asked))


def _by_position(ranks: np.ndarray, positions: np.ndarray) -> tuple[PositionScore, ...]:
    parts = positions // _PLACES_AT_ONCE
    return tuple(
        PositionScore(
            first=int(part) * _PLACES_AT_ONCE,
            last=(int(part) + 1) * _PLACES_AT_ONCE - 1,
            top1=float((ranks[parts == part] < 1).mean()),
            num_words=int((parts == part).sum()),
        )
        for part in np.unique(parts)
    )


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


def _filled(rows: np.ndarray, count: int) -> np.ndarray:
    """Rows of nothing behind the last ones, for one compiled size."""
    # A window repeated with nothing hidden counts for nothing.
    missing = count - len(rows)
    filler = np.zeros_like(rows[:1]) if rows.dtype == bool else rows[:1]
    return np.concatenate([rows, np.repeat(filler, missing, axis=0)])


# A look now and then; `evaluate-mlm` reads all of a file.
_NUM_WINDOWS, _WINDOW_TOKENS, _NUM_PAIRS = 256, 128, 256


class HeldOut:
    """Some of the held-out text, always the same.

    Args:
        bert: the model, read at each call.
        corpus: with held-out documents.
        kinds: of the vocabulary.
    """

    def __init__(self, bert: Bert, corpus: EncodedCorpus, kinds: TokenKinds) -> None:
        self.corpus, self.kinds = corpus, kinds
        self.forward = CompiledForward(bert)
        self.documents = np.flatnonzero(corpus.is_held_out)
        self.length = min(_WINDOW_TOKENS, bert.config.max_position_embeddings)
        windows = make_windows(corpus, self.documents, self.length, kinds)
        chosen = np.random.default_rng(0).permutation(len(windows))[:_NUM_WINDOWS]
        self.windows = windows[np.sort(chosen)]

    def scores(self) -> tuple[MlmScores, NspScores | None]:
        """Scores of both tasks, with the weights of this moment."""
        mlm = evaluate_mlm(self.forward, self.windows, self.kinds)
        nsp = evaluate_nsp(
            self.forward,
            self.corpus,
            self.documents,
            self.length,
            self.kinds,
            _NUM_PAIRS,
        )
        return mlm, nsp
