"""Texts as padded batches of rows of nearly the same length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.finetune.dataset import Examples

if TYPE_CHECKING:
    from bertviz_core.tokenizer import BertTokenizer

Arrays = dict[str, np.ndarray]

# Batches are cut from so many at a time, sorted by length: padding almost goes,
# while the order of an epoch stays one of chance.
_WINDOW_BATCHES = 32
# Padded lengths are multiples of this where the backend compiles for a shape, so that
# there are fewer; TensorFlow does not, see `open_shapes`.
_LENGTH_STEP = 8
_ORDER = 1  # stream of random numbers; 0 draws the head


@dataclass(frozen=True)
class TokenRows:
    """Rows as the model reads them, without padding.

    Args:
        input_ids, token_type_ids: R arrays, int32 `[T of the row]`.
        pad_token_id: fills up.
        max_tokens: T at most, padding counted.
    """

    input_ids: tuple[np.ndarray, ...]
    token_type_ids: tuple[np.ndarray, ...]
    pad_token_id: int
    max_tokens: int

    @property
    def lengths(self) -> np.ndarray:
        """Int `[R]`, tokens of each row."""
        return np.array([len(ids) for ids in self.input_ids], "int64")

    def renumbered(self, words: np.ndarray) -> TokenRows:
        """The same rows, each id replaced by its place among `words`.

        Args:
            words: from `used_words`, of these rows among others.
        """
        return TokenRows(
            tuple(_places(words, ids) for ids in self.input_ids),
            self.token_type_ids,
            int(np.searchsorted(words, self.pad_token_id)),
            self.max_tokens,
        )

    def batch(self, chosen: np.ndarray) -> Arrays:
        """Pads some rows to one length.

        Args:
            chosen: int `[B]`, which rows.

        Returns:
            int32 `[B, T]` each: `input_ids`, `token_type_ids` and
            `attention_mask`, 1 = token, 0 = padding.
        """
        ids = [self.input_ids[row] for row in chosen]
        types = [self.token_type_ids[row] for row in chosen]
        return {
            "input_ids": padded(ids, self.pad_token_id, self.max_tokens),
            "token_type_ids": padded(types, 0, self.max_tokens),
            "attention_mask": self.mask(chosen),
        }

    def mask(self, chosen: np.ndarray) -> np.ndarray:
        """Int32 `[B, T]`: 1 = token, 0 = padding."""
        ones = [np.ones_like(self.input_ids[row]) for row in chosen]
        return padded(ones, 0, self.max_tokens)


def tokenize(
    tokenizer: BertTokenizer,
    examples: Examples,
    max_tokens: int,
    tell: Callable[[float], None] = lambda _: None,
) -> TokenRows:
    """Splits every text; what is beyond `max_tokens` is cut.

    Args:
        tokenizer: of the model.
        examples: R rows.
        max_tokens: T at most, special tokens counted.
        tell: told the fraction done; may raise to cancel.
    """
    pairs = examples.pairs or (None,) * len(examples)
    ids, types = [], []
    for index, (text, pair) in enumerate(zip(examples.texts, pairs, strict=True)):
        if index % 256 == 0:
            tell(index / len(examples))
        row = tokenizer.encode(text, pair, max_tokens, cut=True)
        ids.append(row.input_ids)
        types.append(row.token_type_ids)
    return TokenRows(tuple(ids), tuple(types), tokenizer.pad_token_id, max_tokens)


def used_words(parts: Sequence[TokenRows]) -> np.ndarray:
    """Int `[U]`: the ids that occur in any rows, and that of padding, sorted."""
    ids = [row for part in parts for row in part.input_ids]
    return np.unique(np.concatenate([*ids, [part.pad_token_id for part in parts]]))


def epoch_order(
    lengths: np.ndarray, batch_size: int, seed: int, epoch: int
) -> list[np.ndarray]:
    """Draws which rows go together in an epoch, and in which order.

    Args:
        lengths: int `[R]`, tokens of each row.
        batch_size: B, rows of a batch; the last may have fewer.
        seed: of the run.
        epoch: from 0; the order depends on it and on the seed alone.

    Returns:
        Arrays int `[B]` of row indices; every row is in exactly one.
    """
    rng = np.random.default_rng([seed, _ORDER, epoch])
    order = rng.permutation(len(lengths))
    size = batch_size * _WINDOW_BATCHES
    windows = [order[start : start + size] for start in range(0, len(order), size)]
    order = np.concatenate(
        [window[np.argsort(lengths[window], kind="stable")] for window in windows]
    )
    batches = in_batches(order, batch_size)
    return [batches[index] for index in rng.permutation(len(batches))]


def by_length(lengths: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Rows in batches from the shortest to the longest, for a pass without order."""
    return in_batches(np.argsort(lengths, kind="stable"), batch_size)


def in_batches(order: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Cuts row indices into batches; the last may have fewer."""
    starts = range(0, len(order), batch_size)
    return [order[start : start + batch_size] for start in starts]


def _places(words: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return np.searchsorted(words, ids).astype(ids.dtype)


def padded(rows: list[np.ndarray], value: int, max_tokens: int) -> np.ndarray:
    """`[T of the row, ...]` each to `[B, T, ...]`, filled up with `value`."""
    import keras  # loaded long before, where there is something to train

    longest = max(len(row) for row in rows)
    step = 1 if keras.backend.backend() == "tensorflow" else _LENGTH_STEP
    num_tokens = min(-(-longest // step) * step, max_tokens)
    shape = (len(rows), num_tokens, *rows[0].shape[1:])
    batch = np.full(shape, value, rows[0].dtype)
    for index, row in enumerate(rows):
        batch[index, : len(row)] = row
    return batch
