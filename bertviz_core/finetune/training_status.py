"""How far a training run is, as a page draws it: small, whatever the run's size."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bertviz_core.errors import BertVizError
from bertviz_core.finetune.notes import Note
from bertviz_core.finetune.request import TrainingRequest
from bertviz_core.trace import FrozenArrays, ModelEntry

# waiting: for its turn; running; done: all epochs, or no better one came; stopped:
# someone asked, and the best so far is kept; failed: see `error`; interrupted: the
# processes that ran it ended, `Trainings.resume` goes on from its last epoch.
STATES = ("waiting", "running", "done", "stopped", "failed", "interrupted")
# Endings that leave a run which can go on from its last epoch.
RESUMABLE = ("failed", "interrupted")
# What a running run is at: the model and the table are read; a simple method learns
# from the rows; texts become tokens; frozen layers are computed once; steps; the best
# epoch is judged; the zip is made.
PHASES = ("read", "compare", "tokenize", "cache", "train", "evaluate", "pack")
# Points that a curve keeps at most: more than a screen has columns.
MAX_POINTS = 1000


def _no_steps() -> np.ndarray:
    return np.empty(0, "int64")


def _no_values() -> np.ndarray:
    return np.empty(0, "float64")


@dataclass(frozen=True)
class LogEntry:
    """One line of the log.

    Args:
        seconds: since the run began.
        sentence: a template and what fills it.
    """

    seconds: float
    sentence: Note


@dataclass(frozen=True)
class TrainingStatus(FrozenArrays):
    """Where a run stands, and everything that it has told so far.

    Shapes: S points of steps, at most `MAX_POINTS`: of a long run every second,
    fourth … step is kept, the last one always. E epochs that have ended.

    Args:
        run_id: what `start_training` returned.
        state: one of `STATES`.
        place: in the queue: 1 is next; 0 where it does not wait.
        request: what was asked for.
        phase: one of `PHASES` while it runs, else "".
        fraction: of the phase, 0 to 1; of "train", of all steps.
        step, num_steps: optimiser steps done and of all epochs.
        epoch, num_epochs: from 1, the one that runs or ran last; 0 before.
        seconds: since it began to run; 0 while it waits.
        seconds_left: estimate; `None` when not known.
        steps: int `[S]`, number of each step, from 1.
        losses: float `[S]`, mean over the steps since the point before.
        learning_rates: float `[S]`.
        epoch_steps: int `[E]`, steps done at the end of each epoch.
        epoch_losses, validation_losses: float `[E]`.
        metrics: float `[E]`, on the validation rows; NaN, as the losses on them,
            where no rows choose an epoch.
        metric_name: "accuracy", "macro_f1" or "r2"; "" before the first event, and
            where no rows choose an epoch.
        best_epoch: from 1; 0 before the first.
        log: in plain words.
        num_restarts: how often its process died and it went on.
        resumed_epoch: after which the last restart went on; 0 where it began anew,
            `None` while that is not known.
        ending: one of `events.ENDINGS`, or "".
        bar: what word counts reach on the test rows; `None` before they are counted.
        error: why it failed.
        model: the trained model, to be opened on every page; `None` before.
        has_log: whether there is a log for TensorBoard to take away.
        is_own: whether it was asked for by its id, so that it can be stopped; false by
            `visitor_files.reading_name`.
        has_epoch: whether one is on the disk, for a run that broke off to go on from.
    """

    run_id: str
    state: str
    request: TrainingRequest
    place: int = 0
    phase: str = ""
    fraction: float = 0.0
    step: int = 0
    num_steps: int = 0
    epoch: int = 0
    num_epochs: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    steps: np.ndarray = field(default_factory=_no_steps)
    losses: np.ndarray = field(default_factory=_no_values)
    learning_rates: np.ndarray = field(default_factory=_no_values)
    epoch_steps: np.ndarray = field(default_factory=_no_steps)
    epoch_losses: np.ndarray = field(default_factory=_no_values)
    validation_losses: np.ndarray = field(default_factory=_no_values)
    metrics: np.ndarray = field(default_factory=_no_values)
    metric_name: str = ""
    best_epoch: int = 0
    log: tuple[LogEntry, ...] = ()
    num_restarts: int = 0
    resumed_epoch: int | None = None
    ending: str = ""
    bar: Note | None = None
    error: BertVizError | None = None
    model: ModelEntry | None = None
    has_log: bool = False
    has_epoch: bool = False
    is_own: bool = True

    @property
    def is_finished(self) -> bool:
        """Whether nothing will change any more, unless it is resumed."""
        return self.state not in ("waiting", "running")

    @property
    def has_model(self) -> bool:
        """Whether the run has left a model."""
        return self.model is not None
