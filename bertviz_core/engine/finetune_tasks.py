"""Tasks that read tables and runs of fine-tuning.

A table is parsed from a file in its visit's folder, and kept in a small store of
this process; what a page gets of it is always small.
"""

# Not evaluated: `RunId` is known by its name, see `questions`.
from __future__ import annotations

from bertviz_core.engine import run_store, table_store
from bertviz_core.engine.jobs import JobProgress
from bertviz_core.engine.memory import ANSWERS
from bertviz_core.engine.training_tasks import RUNNING, leave_training
from bertviz_core.tasks import ESTIMATE_RESOURCE, task, untold
from bertviz_core.training.finetune import visitor_tables
from bertviz_core.training.finetune.checks import DataRow, rows_of
from bertviz_core.training.finetune.estimate import TrainingEstimate, estimate_levels
from bertviz_core.training.finetune.request import (
    DataChoice,
    RunId,
    RunOutcome,
    TableSource,
)
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.visitor_files import RUN_PREFIX


@task()
def mend_table(
    source: TableSource, column: str, changes: visitor_tables.Mending, owner: str
) -> TableSource:
    """Makes a table of another: see `visitor_tables.mend_table`."""
    table = table_store.table(source)
    return visitor_tables.mend_table(table, source, column, changes, owner)


@task(ESTIMATE_RESOURCE, is_kept=False)
def estimate_training(
    model: str,
    data: DataChoice,
    settings: FinetuneSettings,
    progress: JobProgress = untold,
) -> TrainingEstimate:
    """Times two steps of each level; runs where trainings run."""
    from bertviz_core.checkpoints.library import open_model

    prepared = table_store.prepared(data)
    # Not kept: this process has more use for the memory.
    loaded = open_model(model)
    try:
        is_loaded = bool(RUNNING)
        return estimate_levels(loaded, prepared.data, settings, progress, is_loaded)
    finally:
        del loaded
        leave_training()


@task()
def training_outcome(run_id: RunId) -> RunOutcome:
    """How good the trained model is, and what it was made of."""
    key = ("training_outcome", f"{RUN_PREFIX}{run_id}")
    found = ANSWERS.get(key, lambda: run_store.run_outcome(run_id))
    run_store.run_request(run_id)  # renews the lease; an answer of a gone run is none
    return found


@task()
def report_rows(run_id: RunId, indices: tuple[int, ...]) -> tuple[DataRow, ...]:
    """Test rows of a training, by index in its report; others are passed over."""
    data = run_store.run_data(run_id)
    return rows_of(data.test, data.labels, indices)
