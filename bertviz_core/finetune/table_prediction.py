"""What a trained classifier says of a table of a user's."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np

from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.experiments.masked_rows import Progress
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.column_profile import is_absent
from bertviz_core.finetune.finetuned_results import (
    PredictedRow,
    RowPredictions,
    TablePredictions,
)
from bertviz_core.finetune.prediction_file import PredictedTable
from bertviz_core.finetune.row_prediction import predict_rows
from bertviz_core.finetune.table import Table

NUM_FIRST = 20


def predict_table(
    explorer: Explorer,
    table: Table,
    columns: tuple[str, str | None],
    max_tokens: int,
    path: Path,
    progress: Progress | None = None,
) -> TablePredictions:
    """Predicts every row that has a text, and writes them all to a file.

    Args:
        explorer: of a model with a classifier.
        table: the rows.
        columns: names of the column with texts, and of that with second texts, or
            `None`.
        max_tokens: see `row_prediction.read_text`.
        path: of the CSV file; one that is there is replaced. Beside it, with the
            ending ".jsonl", lie the exact texts.
        progress: told the share of the work done; may raise to cancel.

    Raises:
        CheckpointError: the model has no classifier.
        DatasetError: no such column, or no row has a text.
        TextError: second texts for a model that reads one at a time.
        TrainingError: the file cannot be written.
    """
    texts = [cell.strip() for cell in table.column(columns[0])]
    pairs = None
    if columns[1] is not None:
        pairs = [cell.strip() for cell in table.column(columns[1])]
    asked = [
        row
        for row, text in enumerate(texts)
        if not is_absent(text) and (pairs is None or not is_absent(pairs[row]))
    ]
    if not asked:
        raise DatasetError(
            "No row of the column {column} has a text. Received: {num_rows} rows. "
            "Choose another column.",
            column=columns[0],
            num_rows=table.num_rows,
        )
    found = predict_rows(
        explorer,
        [texts[row] for row in asked],
        None if pairs is None else [pairs[row] for row in asked],
        max_tokens,
        progress,
    )
    shape = (table.num_rows, found.outputs.shape[1])
    outputs = np.full(shape, np.nan, np.float32)
    outputs[asked] = found.outputs
    predicted = PredictedTable(
        table.columns, table.cells, found.labels, outputs, found.is_regression
    )
    _write(path, "utf-8-sig", predicted.write_csv)
    _write(path.with_suffix(".jsonl"), "utf-8", predicted.write_json_lines)
    return TablePredictions(
        labels=found.labels,
        is_regression=found.is_regression,
        num_rows=table.num_rows,
        num_empty=table.num_rows - len(asked),
        num_cut=found.num_cut,
        counts=np.bincount(found.outputs.argmax(axis=1), minlength=len(found.labels)),
        first=tuple(_row(table, texts, found, outputs, r) for r in asked[:NUM_FIRST]),
        path=str(path),
    )


def _row(
    table: Table,
    texts: list[str],
    found: RowPredictions,
    outputs: np.ndarray,
    row: int,
) -> PredictedRow:
    best = int(outputs[row].argmax())
    return PredictedRow(
        row=int(table.row_numbers[row]),
        text=texts[row],
        label="" if found.is_regression else found.labels[best],
        value=float(outputs[row, best]),
    )


def _write(path: Path, encoding: str, write: Callable[[TextIO], None]) -> None:
    # Two visitors of one link may ask at the same time.
    scratch = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        with scratch.open("w", encoding=encoding, newline="") as file:
            write(file)
        scratch.replace(path)
    except OSError as error:
        raise TrainingError(
            "The predictions cannot be stored on the server. Received: {reason}. Its "
            "disk may be full; try a smaller file.",
            reason=error.strerror or type(error).__name__,
        ) from error
    finally:
        with contextlib.suppress(OSError):  # there, or nowhere to write at all
            scratch.unlink()
