"""What is to be trained, on what and how, and how far it is: plain values for pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bertviz_core.errors import BertVizError
from bertviz_core.trace import ModelEntry
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.run_history import RunHistory
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.settings import Checked

# The tables that come with the project, by the names of their files.
SAMPLES = {
    name: f"sample:{name}" for name in ("library_en", "reviews_en", "reviews_zh")
}


# Of a training that a visitor has started, without `visitor_files.RUN_PREFIX`.
RunId: TypeAlias = str


@dataclass(frozen=True)
class TableSource:
    """A table, and how it is laid out where a guess is not to decide.

    Args:
        table: one of `SAMPLES`, or what `Client.keep_table` returned. The request
            in a `TrainingStatus` names copies that live as long as the run.
        encoding: of `table_encoding.ENCODINGS`; `None` guesses.
        separator: of `table.SEPARATORS`; `None` guesses.
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
        test_rate: share of the rows to test on, in (0, 1), where `validation` is none.
    """

    source: TableSource
    columns: ColumnChoice
    validation: TableSource | None = None
    validation_rate: float = 0.1
    seed: int = 1
    test_rate: float = 0.2


@dataclass(frozen=True)
class TrainingRequest(Checked):
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
        """Whether this is what the run learns from, under either of its names."""
        return table in (self.data.source.table, self.asked_table)

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON holds it, without the reasons of guesses."""
        raw = super().to_dict()
        del raw["data"]["columns"]["reasons"]
        return raw


# waiting: for its turn; running; done: all epochs, or no better one came; stopped:
# someone asked, and the best so far is kept; failed: see `error`; interrupted: the
# processes that ran it ended, `Trainings.resume` goes on from its last epoch.
STATES = ("waiting", "running", "done", "stopped", "failed", "interrupted")
# States of a run that can be taken up, see `run_files.can_go_on`.
RESUMABLE = ("stopped", "failed", "interrupted")


@dataclass(kw_only=True)
class TrainingStatus(RunHistory):
    """Where a run stands, and everything that it has told so far.

    Args:
        run_id: what `start_training` returned.
        state: one of `STATES`.
        request: what was asked for.
        place: in the queue: 1 is next; 0 where it does not wait.
        error: why it failed.
        model: the trained model, to be opened on every page; `None` before.
        has_log: whether there is a log for TensorBoard to take away.
        has_epoch: whether something is on the disk for the run to go on from.
        can_go_on: whether it can be taken up now.
        is_own: whether it was asked for by its id, so that it can be stopped; false by
            `visitor_files.reading_name`.
    """

    run_id: str
    state: str
    request: TrainingRequest
    place: int = 0
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
