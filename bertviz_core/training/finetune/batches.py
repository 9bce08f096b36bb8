"""Texts as padded batches of rows of nearly the same length, as the network takes them.

These are tokens, or what frozen layers made of them: a frozen layer says the same of a
row in every epoch, so it is asked once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.training.events import Tell, TrainingEvent
from bertviz_core.training.finetune.dataset import Examples, TrainingData

if TYPE_CHECKING:
    from bertviz_core.tokenizer import BertTokenizer
    from bertviz_core.training.finetune.learner import Learner
    from bertviz_core.training.finetune.settings import FinetuneSettings

Arrays = dict[str, np.ndarray]

# Batches are cut from so many at a time, sorted by length: padding almost goes,
# while the order of an epoch stays one of chance.
_WINDOW_BATCHES = 32
# Padded lengths are multiples of this where the backend compiles for a shape, so that
# there are fewer; TensorFlow does not, see `OpenShapes`.
_LENGTH_STEP = 8
_ORDER = 1  # stream of random numbers; 0 draws the head


@dataclass(frozen=True)
class TokenRows:
    """Rows as the model reads them, without padding."""

    input_ids: tuple[np.ndarray, ...]  # R arrays, int32 [T of the row]
    token_type_ids: tuple[np.ndarray, ...]  # R arrays, int32 [T of the row]
    pad_token_id: int  # fills up
    max_tokens: int  # T at most, padding counted
    num_cut: int = 0  # rows whose end was left out

    @property
    def lengths(self) -> np.ndarray:
        """Int `[R]`, tokens of each row."""
        return np.array([len(ids) for ids in self.input_ids], "int64")

    def renumbered(self, words: np.ndarray) -> TokenRows:
        """The same rows, each id replaced by its place among those of `used_words`."""
        places = [np.searchsorted(words, i).astype(i.dtype) for i in self.input_ids]
        pad = int(np.searchsorted(words, self.pad_token_id))
        return dataclasses.replace(self, input_ids=tuple(places), pad_token_id=pad)

    def batch(self, chosen: np.ndarray) -> Arrays:
        """Pads some rows, int `[B]`, to one length.

        Int32 `[B, T]` each: `input_ids`, `token_type_ids` and `attention_mask`, 1 =
        token, 0 = padding.
        """
        ids = [self.input_ids[row] for row in chosen]
        types = [self.token_type_ids[row] for row in chosen]
        return {
            "input_ids": padded(ids, self.pad_token_id, self.max_tokens),
            "token_type_ids": padded(types, 0, self.max_tokens),
            "attention_mask": padded(list(map(np.ones_like, ids)), 0, self.max_tokens),
        }


def tokenize(
    tokenizer: BertTokenizer,
    examples: Examples,
    max_tokens: int,
    tell: Callable[[float], None] = lambda _: None,
) -> TokenRows:
    """Splits every text; what is beyond `max_tokens` is cut."""
    pairs = examples.pairs or (None,) * len(examples)
    ids, types, num_cut = [], [], 0
    for index, (text, pair) in enumerate(zip(examples.texts, pairs, strict=True)):
        if index % 256 == 0:
            tell(index / len(examples))
        row = tokenizer.encode(text, pair, max_tokens, cut=True)
        ids.append(row.input_ids)
        types.append(row.token_type_ids)
        num_cut += row.was_cut
    pad = tokenizer.pad_token_id
    return TokenRows(tuple(ids), tuple(types), pad, max_tokens, num_cut)


def used_words(parts: Sequence[TokenRows]) -> np.ndarray:
    """Int `[U]`: the ids that occur in any rows, and that of padding, sorted."""
    ids = [row for part in parts for row in part.input_ids]
    return np.unique(np.concatenate([*ids, [part.pad_token_id for part in parts]]))


def epoch_order(
    lengths: np.ndarray, batch_size: int, seed: int, epoch: int
) -> list[np.ndarray]:
    """Draws which rows go together in an epoch, and in which order.

    Of `lengths` int `[R]`, tokens of each row, it makes arrays int `[B]` of row
    indices; every row is in exactly one. The order depends on the seed of the run and
    on the epoch, from 0, alone.
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


# Hidden states that are kept, float32; where they are more, frozen layers run in
# every epoch anew.
MAX_KEPT_BYTES = 500_000_000


@dataclass(frozen=True)
class RowInputs:
    """Rows of one kind."""

    # From int [B], which rows, to the inputs of `Network`.
    batch: Callable[[np.ndarray], Arrays]
    lengths: np.ndarray  # int [R], what makes a row long
    targets: np.ndarray  # int32 or float32 [R], as the network learns them


def tokenize_parts(
    tokenizer: BertTokenizer, data: TrainingData, settings: FinetuneSettings, tell: Tell
) -> list[TokenRows]:
    """Splits the rows to learn from, then those to judge by."""
    parts = (data.train, data.validation)
    total = sum(map(len, parts))
    rows, done = [], 0
    for part in parts:

        def told(fraction: float, done: int = done, size: int = len(part)) -> None:
            tell(TrainingEvent("tokenize", fraction=(done + fraction * size) / total))

        rows.append(tokenize(tokenizer, part, settings.max_tokens, told))
        done += len(part)
    return rows


def prepare_inputs(
    learner: Learner, rows: list[TokenRows], data: TrainingData, tell: Tell
) -> tuple[RowInputs, RowInputs]:
    """Gives the rows to learn from and those to judge by, as the network reads them."""
    is_head = learner.settings.level == "head"
    num_tokens = sum(int(part.lengths.sum()) for part in rows)
    keeps = is_head or kept_bytes(learner, num_tokens)
    found = []
    for part, examples in zip(rows, (data.train, data.validation), strict=True):
        batch = _kept(learner, part, tell) if keeps else part.batch
        # At level "head" there is one vector a row, which no length makes longer.
        lengths = np.ones_like(part.lengths) if is_head else part.lengths
        found.append(RowInputs(batch, lengths, learner.centred(examples.targets)))
    train, validation = found
    return train, validation


def kept_bytes(learner: Learner, num_tokens: int) -> int:
    """Bytes of hidden states that a run keeps, or 0 where it keeps none.

    `num_tokens` are those of all rows, to learn from and to judge by, without padding.
    """
    # A single epoch and its judgement see each row once anyhow. At level "head" it is
    # next to nothing.
    settings = learner.settings
    if settings.level == "head" or not learner.num_frozen or settings.epochs == 1:
        return 0
    size = learner.bert.config.hidden_size
    num_bytes = num_tokens * size * np.dtype("float32").itemsize
    return num_bytes if num_bytes <= MAX_KEPT_BYTES else 0


def _kept(
    learner: Learner, rows: TokenRows, tell: Tell
) -> Callable[[np.ndarray], Arrays]:
    """From int `[B]`, which rows, to what frozen layers made of them."""
    states = _frozen(learner, rows, tell)

    def batch(chosen: np.ndarray) -> Arrays:
        picked = [states[row] for row in chosen]
        if learner.network.reads_pooled:
            return {"pooled_output": np.array(picked)}
        ones = [np.ones(len(one), "int32") for one in picked]
        return {
            "states": padded(picked, 0, rows.max_tokens),
            "attention_mask": padded(ones, 0, rows.max_tokens),
        }

    return batch


def _frozen(learner: Learner, rows: TokenRows, tell: Tell) -> list[np.ndarray]:
    """float32 of each row: `[H]`, or `[T, H]` without padding, see `FrozenPart`."""
    groups = by_length(rows.lengths, 2 * learner.settings.batch_size)
    found: list[np.ndarray] = [np.empty(0)] * len(rows.lengths)
    for index, chosen in enumerate(groups):
        outputs = learner.frozen_output(rows.batch(chosen))
        for row, output in zip(chosen, outputs, strict=True):
            length = None if output.ndim == 1 else rows.lengths[row]
            found[row] = np.array(output[:length])  # not the padded batch behind it
        tell(TrainingEvent("cache", fraction=(index + 1) / len(groups)))
    return found
