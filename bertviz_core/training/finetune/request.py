"""What is to be trained, how far it is, what came of it: plain values for pages."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bertviz_core.errors import BertVizError
from bertviz_core.trace import ModelEntry
from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.evaluation import Comparison, Report
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
    """A table, and how it is laid out where a guess is not to decide."""

    # One of `SAMPLES`, or what `Client.keep_table` returned. The request in a
    # `TrainingStatus` names copies that live as long as the run.
    table: str
    encoding: str | None = None  # of `table_encoding.ENCODINGS`; `None` guesses
    separator: str | None = None  # of `table.SEPARATORS`; `None` guesses
    has_header: bool | None = None  # `None` guesses


@dataclass(frozen=True)
class DataChoice:
    """Rows to learn from, to choose the epoch by, and to test on."""

    source: TableSource  # the table
    columns: ColumnChoice  # which column is what
    # A table to test on, with the same columns; `None` sets rows of `source` aside.
    validation: TableSource | None = None
    validation_rate: float = 0.1  # share of the rows that choose the epoch, in (0, 1)
    seed: int = 1  # of the draws
    # Share of the rows to test on, in (0, 1), where `validation` is none.
    test_rate: float = 0.2


@dataclass(frozen=True)
class TrainingRequest(Checked):
    """A run that is asked for."""

    model: str  # id of the model to begin with
    data: DataChoice  # rows
    settings: FinetuneSettings = field(default_factory=FinetuneSettings)  # of the run
    title: str = ""  # what to call the trained model; user text
    tensorboard: bool = False  # whether to write a log for TensorBoard
    # `data.source.table` as it was when the run was asked for; "" until the run has a
    # table of its own.
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


@dataclass(frozen=True)
class RunOutcome:
    """How good the model of a finished run is, and what it was made of.

    Texts of the rows stay in the worker, see `finetune_tasks.report_rows`.
    """

    run_id: str  # of the run
    model_id: str  # opens the trained model
    # Class names; for numbers the one name of what is predicted.
    labels: tuple[str, ...]
    has_pairs: bool  # whether rows have two texts
    report: Report  # on the test rows; `rows` are row numbers of the file
    baselines: tuple[Baseline, ...]  # simple methods on the same rows
    comparisons: tuple[Comparison, ...]  # of the model with each of these
    # Settings, hashes, versions, curves, as `recipe.json` holds them.
    recipe: dict[str, Any]


@dataclass(kw_only=True)
class TrainingStatus(RunHistory):
    """Where a run stands, and everything that it has told so far."""

    run_id: str  # what `start_training` returned
    state: str  # one of `STATES`
    request: TrainingRequest  # what was asked for
    place: int = 0  # in the queue: 1 is next; 0 where it does not wait
    error: BertVizError | None = None  # why it failed
    # The trained model, to be opened on every page; `None` before.
    model: ModelEntry | None = None
    has_log: bool = False  # whether there is a log for TensorBoard to take away
    # Whether something is on the disk for the run to go on from.
    has_epoch: bool = False
    can_go_on: bool = False  # whether it can be taken up now
    # Whether it was asked for by its id, so that it can be stopped; false by
    # `visitor_files.reading_name`.
    is_own: bool = True

    @property
    def is_finished(self) -> bool:
        """Whether nothing will change any more, unless it is resumed."""
        return self.state not in ("waiting", "running")

    @property
    def has_model(self) -> bool:
        """Whether the run has left a model."""
        return self.model is not None
