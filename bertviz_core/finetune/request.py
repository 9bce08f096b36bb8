"""What is to be trained, on what and how, and how far it is: plain values for pages."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertviz_core.errors import BertVizError
from bertviz_core.finetune.columns import ColumnChoice
from bertviz_core.finetune.notes import Note
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.trace import FrozenArrays, ModelEntry

# The tables that come with the project, by language.
SAMPLES = {"en": "sample:library_en", "zh": "sample:reviews_zh"}


@dataclass(frozen=True)
class TableSource:
    """A table, and how it is laid out where a guess is not to decide.

    Args:
        table: one of `SAMPLES`, or what `Client.keep_table` returned. The request
            in a `TrainingStatus` names copies that live as long as the run.
        encoding: of `table_encoding.ENCODINGS`; `None` guesses.
        separator: of `table_layout.SEPARATORS`; `None` guesses.
        has_header: `None` guesses.
    """

    table: str
    encoding: str | None = None
    separator: str | None = None
    has_header: bool | None = None


@dataclass(frozen=True)
class DataChoice:
    """Rows to learn from, to choose the epoch by, and to test on.

    Args:
        source: the table.
        columns: which column is what.
        validation: a table to test on, with the same columns; `None` sets rows of
            `source` aside.
        validation_rate: share of the rows that choose the epoch, in (0, 1).
        seed: of the draws.
        test_rate: share of the rows to test on, in (0, 1). 0 in requests of earlier
            versions: the rows that chose the epoch, or that table, gave the report.
    """

    source: TableSource
    columns: ColumnChoice
    validation: TableSource | None = None
    validation_rate: float = 0.1
    seed: int = 1
    test_rate: float = 0.2


@dataclass(frozen=True)
class TrainingRequest:
    """A run that is asked for.

    Args:
        model: id of the model to begin with.
        data: rows.
        settings: of the run.
        title: what to call the trained model; user text.
        tensorboard: whether to write a log for TensorBoard.
        asked_table: `data.source.table` as it was when the run was asked for; ""
            until the run has a table of its own.
    """

    model: str
    data: DataChoice
    settings: FinetuneSettings = field(default_factory=FinetuneSettings)
    title: str = ""
    tensorboard: bool = False
    asked_table: str = ""

    def is_of(self, table: str) -> bool:
        """Whether this is what the run learns from, under either of its names.

        Args:
            table: a handle.
        """
        return table in (self.data.source.table, self.asked_table)

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON holds it, without the reasons of guesses."""
        raw = dataclasses.asdict(self)
        del raw["data"]["columns"]["reasons"]
        return raw

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> TrainingRequest:
        """Takes what `to_dict` gave.

        Raises:
            TrainingError: settings that cannot be.
        """
        data = raw["data"]
        other = data["validation"]
        choice = DataChoice(
            source=TableSource(**data["source"]),
            columns=ColumnChoice(**data["columns"]),
            validation=None if other is None else TableSource(**other),
            validation_rate=data["validation_rate"],
            seed=data["seed"],
            test_rate=data.get("test_rate", 0.0),
        )
        settings = FinetuneSettings.from_dict(raw["settings"])
        return cls(
            raw["model"],
            choice,
            settings,
            str(raw["title"]),
            bool(raw["tensorboard"]),
            str(raw.get("asked_table", "")),
        )


# waiting: for its turn; running; done: all epochs, or no better one came; stopped:
# someone asked, and the best so far is kept; failed: see `error`; interrupted: the
# processes that ran it ended, `Trainings.resume` goes on from its last epoch.
STATES = ("waiting", "running", "done", "stopped", "failed", "interrupted")
# States of a run that can be taken up, see `run_files.can_go_on`.
RESUMABLE = ("stopped", "failed", "interrupted")
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
        has_epoch: whether something is on the disk for the run to go on from.
        can_go_on: whether it can be taken up now.
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
    can_go_on: bool = False
    is_own: bool = True

    @property
    def is_finished(self) -> bool:
        """Whether nothing will change any more, unless it is resumed."""
        return self.state not in ("waiting", "running")

    @property
    def has_model(self) -> bool:
        """Whether the run has left a model."""
        return self.model is not None
