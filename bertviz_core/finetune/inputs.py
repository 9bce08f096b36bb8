"""Rows as the network takes them: tokens, or what frozen layers made of them.

A frozen layer says the same of a row in every epoch, so it is asked once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.batches import (
    Arrays,
    TokenRows,
    by_length,
    padded,
    tokenize,
)
from bertviz_core.finetune.dataset import TrainingData
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.events import Tell, TrainingEvent

# Hidden states that are kept, float32; where they are more, frozen layers run in
# every epoch anew.
MAX_KEPT_BYTES = 500_000_000


@dataclass(frozen=True)
class RowInputs:
    """Rows of one kind.

    Args:
        batch: from int `[B]`, which rows, to the inputs of `Network`.
        lengths: int `[R]`, what makes a row long.
        targets: int32 or float32 `[R]`, as the network learns them.
    """

    batch: Callable[[np.ndarray], Arrays]
    lengths: np.ndarray
    targets: np.ndarray


def tokenize_parts(
    tokenizer: BertTokenizer, data: TrainingData, settings: FinetuneSettings, tell: Tell
) -> list[TokenRows]:
    """Splits the rows to learn from, then those to judge by.

    Args:
        tokenizer: of the model.
        data: texts.
        settings: reads `max_tokens`.
        tell: told how far it is; may raise to cancel.
    """
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
    learner: Learner,
    rows: list[TokenRows],
    data: TrainingData,
    settings: FinetuneSettings,
    tell: Tell,
) -> tuple[RowInputs, RowInputs]:
    """Gives the rows to learn from and those to judge by.

    Args:
        learner: asked for the output of its frozen layers.
        rows: to learn from and to judge by, as the learner's network reads them.
        data: reads the targets.
        settings: reads the level.
        tell: told how far it is; may raise to cancel.
    """
    made = _kept(learner, rows, settings, tell)
    targets = [learner.centred(part.targets) for part in (data.train, data.validation)]
    train, validation = (
        RowInputs(batch, lengths, wanted)
        for (batch, lengths), wanted in zip(made, targets, strict=True)
    )
    return train, validation


def kept_bytes(learner: Learner, settings: FinetuneSettings, num_tokens: int) -> int:
    """Bytes of hidden states that a run keeps, or 0 where it keeps none.

    Args:
        learner: reads how many blocks are frozen.
        settings: of the run.
        num_tokens: of all rows, to learn from and to judge by, without padding.
    """
    # A single epoch and its judgement see each row once anyhow. At level "head"
    # there is one vector a row, which is next to nothing.
    if settings.level == "head" or not learner.num_frozen or settings.epochs == 1:
        return 0
    size = learner.bert.config.hidden_size
    num_bytes = num_tokens * size * np.dtype("float32").itemsize
    return num_bytes if num_bytes <= MAX_KEPT_BYTES else 0


def _kept(
    learner: Learner, rows: list[TokenRows], settings: FinetuneSettings, tell: Tell
) -> list[tuple[Callable[[np.ndarray], Arrays], np.ndarray]]:
    if settings.level == "head":
        return [_head_inputs(learner, part, tell) for part in rows]
    if kept_bytes(learner, settings, sum(int(part.lengths.sum()) for part in rows)):
        return [_upper_inputs(learner, part, tell) for part in rows]
    return [(part.batch, part.lengths) for part in rows]


def _head_inputs(
    learner: Learner, rows: TokenRows, tell: Tell
) -> tuple[Callable[[np.ndarray], Arrays], np.ndarray]:
    lengths = np.ones(len(rows.lengths), "int64")
    if not learner.learns_pooler:
        pooled = np.array(_frozen(learner, rows, tell, reads_pooled=True))  # [R, H]
        return lambda chosen: {"pooled_output": pooled[chosen]}, lengths
    # The pooler reads the first token alone; all tokens of all rows may be too many.
    firsts = np.array(
        _frozen(learner, rows, tell, reads_pooled=False, most_tokens=1)
    )  # [R, 1, H]

    def batch(chosen: np.ndarray) -> Arrays:
        ones = np.ones((len(chosen), 1), "int32")
        return {"states": firsts[chosen], "attention_mask": ones}

    return batch, lengths


def _upper_inputs(
    learner: Learner, rows: TokenRows, tell: Tell
) -> tuple[Callable[[np.ndarray], Arrays], np.ndarray]:
    states = _frozen(learner, rows, tell, reads_pooled=False)

    def batch(chosen: np.ndarray) -> Arrays:
        picked = [states[row] for row in chosen]
        return {
            "states": padded(picked, 0, rows.max_tokens),
            "attention_mask": rows.mask(chosen),
        }

    return batch, rows.lengths


def _frozen(
    learner: Learner,
    rows: TokenRows,
    tell: Tell,
    reads_pooled: bool,
    most_tokens: int | None = None,
) -> list[np.ndarray]:
    """float32 of each row: `[H]`, or `[T, H]` without padding, the first of them."""
    groups = by_length(rows.lengths, 2 * learner.settings.batch_size)
    batches = (rows.batch(chosen) for chosen in groups)
    made = learner.frozen_outputs(batches, reads_pooled)
    found: list[np.ndarray] = [np.empty(0)] * len(rows.lengths)
    for index, (chosen, outputs) in enumerate(zip(groups, made, strict=True)):
        for row, output in zip(chosen, outputs, strict=True):
            kept = output if reads_pooled else output[: rows.lengths[row]][:most_tokens]
            found[row] = np.array(kept)  # not the padded batch behind it
        tell(TrainingEvent("cache", fraction=(index + 1) / len(groups)))
    return found
