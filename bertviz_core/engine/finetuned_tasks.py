"""Tasks about models that were trained here, see `tasks`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer, whole_trace
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.finetuned_results import (
    HeadChange,
    LayerComparison,
    NearTrainingRows,
    ReadText,
    TablePredictions,
    WeightChange,
)
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.finetune.data_check import rows_of
from bertviz_core.finetune.request import SAMPLES, TableSource
from bertviz_core.finetune.workplace import RUN_PREFIX

if TYPE_CHECKING:
    from bertviz_core.finetune.examples import TrainingData
    from bertviz_core.finetune.request import TrainingRequest


def read_class(
    model: str, text: str, pair: str | None = None, max_tokens: int = 0
) -> ReadText:
    """Asks a classifier about one text.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        max_tokens: what is beyond is cut; 0 for the length that the model learned
            with, or, where that is not known, for its positions.

    Raises:
        CheckpointError: the model has no classifier.
        TextError: empty.
    """
    from bertviz_core.experiments import row_prediction

    return row_prediction.read_text(explorer(model), text, pair, max_tokens)


def weight_change(run: str) -> WeightChange:
    """Measures how far a training has moved the weights of each layer.

    Args:
        run: its id.

    Raises:
        CheckpointError: the model that it began with is gone.
        TrainingError: the run is gone, or has no model.
    """
    from bertviz_core.experiments import weight_change as experiment

    return ANSWERS.get(
        ("weight_change", _model(run)),
        lambda: experiment.weight_change(
            explorer(_request(run).model).loaded.model,
            explorer(_model(run)).loaded.model,
        ),
    )


def head_change(run: str, text: str, pair: str | None = None) -> HeadChange:
    """Measures how much of each head's attention went elsewhere.

    Args:
        run: its id.
        text: the first text; what is beyond the last position is left out.
        pair: the second text.

    Raises:
        CheckpointError: the model that it began with is gone.
        TextError: empty.
        TrainingError: the run is gone, or has no model.
    """
    from bertviz_core.analysis import attention_change

    before, after = (
        whole_trace(model, text, pair, cut=True)
        for model in (_request(run).model, _model(run))
    )
    if before.attention_probs is None or after.attention_probs is None:
        raise ValueError("A whole trace always has its attention.")
    return HeadChange(
        tokens=after.tokenized.tokens,
        distances=attention_change.head_change(
            before.attention_probs, after.attention_probs
        ),
    )


def attribute_class(
    progress: Progress,
    model: str,
    text: str,
    index: int,
    pair: str | None = None,
    baseline: str = "mask",
) -> Attribution:
    """Says how much each token speaks for a class, or for a number."""
    from bertviz_core.experiments import attribution

    key = ("attribute_class", model, text, index, pair, baseline)
    settings = attribution.AttributionSettings(baseline=baseline)
    target = Target("classifier", index)
    return ANSWERS.get(
        key,
        lambda: attribution.attribute(
            explorer(model), text, target, None, pair, settings, True, progress
        ),
    )


def nearest_training_rows(
    progress: Progress, run: str, text: str, pair: str | None = None, count: int = 5
) -> NearTrainingRows:
    """Finds the training rows that look most alike to the classifier."""
    from bertviz_core.experiments import nearest_rows, row_prediction

    data, max_tokens = _data(run), _request(run).settings.max_tokens
    part, opened = data.train, explorer(_model(run))
    known = ANSWERS.get(
        ("row_vectors", _model(run)),
        lambda: nearest_rows.row_vectors(
            opened, part.texts, part.pairs, max_tokens, progress
        ),
    )
    read = row_prediction.read_text(opened, text, pair, max_tokens)
    found = nearest_rows.nearest_rows(opened, read, known, count)
    return NearTrainingRows(
        rows=rows_of(part, data.labels, tuple(found.indices.tolist())),
        cosines=found.cosines,
        num_searched=found.num_searched,
    )


def compare_layers(progress: Progress, run: str, reading: str) -> LayerComparison:
    """Looks at rows in each layer of the model before and after training."""
    from bertviz_core.experiments import layer_comparison

    request = _request(run)
    return ANSWERS.get(
        ("compare_layers", _model(run), reading),
        lambda: layer_comparison.compare_layers(
            explorer(request.model),
            explorer(_model(run)),
            _data(run),
            reading,
            request.settings.max_tokens,
            progress,
        ),
    )


def predict_table(
    progress: Progress,
    model: str,
    source: TableSource,
    text_column: str,
    pair_column: str | None = None,
    max_tokens: int = 0,
) -> TablePredictions:
    """Predicts every row of a table that a visitor brought.

    Raises:
        ValueError: one of the project's own tables, beside which nothing is written.
    """
    if source.table in SAMPLES.values():
        raise ValueError(f"A table of a visitor is needed. Received: {source.table}.")
    from bertviz_core.experiments import table_prediction
    from bertviz_core.finetune.table import read_table
    from bertviz_core.finetune.workplace import renew, table_path

    path = table_path(source.table)

    def tell(fraction: float, message: str) -> None:
        renew(path.parent)  # the work may take longer than a lease
        progress(fraction, message)

    table = read_table(
        path,
        encoding=source.encoding,
        separator=source.separator,
        has_header=source.has_header,
    )
    # Beside the table, so that it goes when the table goes.
    asked = repr((model, source, text_column, pair_column, max_tokens))
    name = hashlib.sha256(asked.encode()).hexdigest()[:16]
    return table_prediction.predict_table(
        explorer(model),
        table,
        (text_column, pair_column),
        max_tokens,
        path.with_name(f"predicted-{name}.csv"),
        tell,
    )


def _model(run: str) -> str:
    return f"{RUN_PREFIX}{run}"


def _request(run: str) -> TrainingRequest:
    from bertviz_core.engine.run_store import run_request

    return run_request(run)


def _data(run: str) -> TrainingData:
    from bertviz_core.engine.run_store import run_data

    return run_data(run)


JOB_TASKS = (attribute_class, nearest_training_rows, compare_layers, predict_table)
