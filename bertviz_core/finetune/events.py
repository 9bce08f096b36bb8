"""What a fine-tuning run tells while it goes: plain values, nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# What an event is about, in the order of a run: texts become tokens, frozen layers
# are computed once, a step was taken, an epoch ended, it could not be written to the
# disk, why the run ended, the finished model reads the validation rows, that it was
# stopped in it, a simple method learns from the same ones, and why that was left out.
KINDS = (
    "tokenize",
    "cache",
    "resumed",
    "step",
    "epoch",
    "unsaved",
    "ended",
    "judge",
    "unread",
    "compare",
    "left_out",
)

# Why a run ended: all epochs done; no better epoch for `patience` epochs; someone
# asked; the loss was no number any more, and an epoch before it was kept.
ENDINGS = ("finished", "no_better", "asked", "not_a_number")


@dataclass(frozen=True)
class TrainingEvent:
    """A moment of a run.

    Args:
        kind: one of `KINDS`.
        epoch: from 1; 0 before the first.
        step: optimiser steps done.
        num_steps: of all epochs; a run may end before.
        fraction: of what `kind` is about, 0 to 1; for steps, of the run.
        loss: mean loss of the step, for "epoch" of its steps; `None` elsewhere.
        learning_rate: of the step; `None` elsewhere.
        metric_name: "accuracy", "macro_f1" or "r2".
        metric: on the validation rows, for "epoch"; `None` elsewhere.
        validation_loss: for "epoch"; `None` elsewhere.
        is_best: whether this epoch is the best so far.
        seconds_left: estimate for the rest of the run, for "judge" of the reading;
            `None` when unknown.
        ending: one of `ENDINGS` for "ended", "" elsewhere.
        kept_epoch: the last epoch on the disk, for "unsaved"; 0 for none. For
            "unread" the epoch whose answers stand in the report.
        reason: why there is no later one, as the system says it; for "left_out"
            one of `baselines.REASONS`, for "unread" the precision of these answers.
    """

    kind: str
    epoch: int = 0
    step: int = 0
    num_steps: int = 0
    fraction: float = 0.0
    loss: float | None = None
    learning_rate: float | None = None
    metric_name: str = ""
    metric: float | None = None
    validation_loss: float | None = None
    is_best: bool = False
    seconds_left: float | None = None
    ending: str = ""
    kept_epoch: int = 0
    reason: str = ""


Tell = Callable[[TrainingEvent], None]
