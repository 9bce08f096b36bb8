"""What a fine-tuning run tells while it goes: plain values, nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# What an event is about, in the order of a run: a simple method learns from the rows,
# what it reached, texts become tokens, frozen layers are computed once, a step was
# taken, an epoch ended, it could not be written to the disk, why the run ended, the
# finished model reads the test rows.
KINDS = (
    "compare",
    "compared",
    "tokenize",
    "cache",
    "resumed",
    "step",
    "epoch",
    "unsaved",
    "ended",
    "judge",
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
            "" where no rows choose an epoch.
        metric: for "epoch", on the validation rows, `None` where there are none; for
            "compared", on the test rows, `None` where it could not be had.
        validation_loss: for "epoch", as `metric`.
        is_best: whether this epoch is the best so far.
        is_whole: whether all steps of an epoch were taken: for "epoch", of this one,
            for "ended", of any.
        seconds_left: estimate for the rest of the run, for "judge" of the reading;
            `None` when unknown.
        ending: one of `ENDINGS` for "ended", "" elsewhere.
        kept_epoch: the last epoch on the disk, for "unsaved"; 0 for none.
        reason: why there is no later one, as the system says it.
        chosen: for "compared", see `baselines.Baseline`.
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
    is_whole: bool = True
    seconds_left: float | None = None
    ending: str = ""
    kept_epoch: int = 0
    reason: str = ""
    chosen: Mapping[str, Any] = field(default_factory=dict)


Tell = Callable[[TrainingEvent], None]
