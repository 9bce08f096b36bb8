"""What is asked about models that were trained here."""

# Not evaluated: `RunId` is known by its name, see `questions`.
from __future__ import annotations

import hashlib

from bertviz_core.engine import memory, run_store, table_store
from bertviz_core.engine.jobs import JobProgress
from bertviz_core.errors import TrainingError
from bertviz_core.experiments import after_training
from bertviz_core.experiments.after_training import (
    LayerComparison,
    NearTrainingRows,
    WeightChange,
)
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import PREDICT_RESOURCE, task, untold
from bertviz_core.training.finetune import row_prediction, temperature, visitor_tables
from bertviz_core.training.finetune.request import SAMPLES, RunId, TableSource
from bertviz_core.training.finetune.row_prediction import TablePredictions
from bertviz_core.training.finetune.temperature import Temperature
from bertviz_core.visitor_files import RUN_PREFIX, own_run_folder, renew


@task()
def weight_change(run: RunId) -> WeightChange:
    """Measures how far a training has moved the weights of each layer.

    Raises:
        CheckpointError: the model that it began with is gone.
    """
    return memory.ANSWERS.get(
        ("weight_change", _model(run)),
        lambda: after_training.weight_change(
            memory.explorer(run_store.run_request(run).model).loaded.model,
            memory.explorer(_model(run)).loaded.model,
        ),
    )


@task()
def nearest_training_rows(
    run: RunId,
    text: str,
    pair: str | None = None,
    count: int = 5,
    progress: JobProgress = untold,
) -> NearTrainingRows:
    """Finds the training rows that look most alike to the classifier."""
    data = run_store.run_data(run)
    max_tokens = run_store.run_request(run).settings.max_tokens
    part, opened = data.train, memory.explorer(_model(run))
    vectors = memory.ANSWERS.get(
        ("row_vectors", _model(run)),
        lambda: after_training.row_vectors(
            opened, part.texts, part.pairs, max_tokens, progress
        ),
    )
    text, pair = row_prediction.cut_texts(opened, text, pair, max_tokens)
    read = opened.tokenize(text, pair, cut=True)
    return after_training.nearest_rows(opened, read, vectors, data, count)


@task()
def compare_layers(
    run: RunId, reading: str, progress: JobProgress = untold
) -> LayerComparison:
    """Looks at rows in each layer of the model before and after training."""
    request = run_store.run_request(run)
    return after_training.compare_layers(
        memory.explorer(request.model),
        memory.explorer(_model(run)),
        run_store.run_data(run),
        reading,
        request.settings.max_tokens,
        progress,
    )


@task()
def fit_temperature(run: RunId, progress: JobProgress = untold) -> Temperature:
    """Fits a temperature on a run's validation rows; without any, a `TrainingError`."""
    part = run_store.run_data(run).validation
    if not len(part):
        raise TrainingError(
            "This training has no validation rows to fit a temperature on. Train on a "
            "table with more rows."
        )
    max_tokens = run_store.run_request(run).settings.max_tokens
    said, _ = row_prediction.predict_rows(
        memory.explorer(_model(run)), part.texts, part.pairs, max_tokens, progress
    )
    value = temperature.fit_temperature(said, part.targets)
    return Temperature(value, len(part))


@task(is_kept=False)
def keep_temperature(run: RunId, found: Temperature) -> bool:
    """Gives a run's model its temperature, for good.

    Raises:
        TrainingError: it has one, or `run` is a name to read it by alone.
    """
    folder = own_run_folder(run)
    temperature.keep_temperature(folder, run_store.run_data(run), found)
    return True


@task(PREDICT_RESOURCE, is_kept=False)
def predict_table(
    explorer: Explorer,
    source: TableSource,
    text_column: str,
    pair_column: str | None = None,
    progress: JobProgress = untold,
) -> TablePredictions:
    """Predicts every row of a table that a visitor brought, not one of the project."""
    if source.table in SAMPLES.values():
        raise ValueError(f"A table of a visitor is needed. Received: {source.table}.")
    table, path = table_store.table(source), visitor_tables.table_path(source.table)

    def tell(fraction: float, message: str) -> None:
        renew(path.parent)  # the work may take longer than a lease
        progress(fraction, message)

    # Beside the table, so that it goes when the table goes.
    asked = repr((explorer.model_id, source, text_column, pair_column))
    name = hashlib.sha256(asked.encode()).hexdigest()[:16]
    return row_prediction.predict_table(
        explorer,
        table,
        (text_column, pair_column),
        0,  # what the model learned with
        path.with_name(f"predicted-{name}.csv"),
        tell,
    )


def _model(run: str) -> str:
    return f"{RUN_PREFIX}{run}"
