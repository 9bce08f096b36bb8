"""Tables that a process has parsed, and the rows that were made of them.

A store with a bound, as in `memory`: what was dropped is parsed from its file anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from bertviz_core.engine.cache import BoundedCache
from bertviz_core.errors import DatasetError, ValidationFileError
from bertviz_core.finetune.dataset import Dataset, make_dataset
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.notes import Note
from bertviz_core.finetune.origin import origin_of
from bertviz_core.finetune.request import DataChoice, TableSource
from bertviz_core.finetune.split import split_beside_test, split_dataset
from bertviz_core.finetune.table import Table
from bertviz_core.finetune.table import read_table as parse
from bertviz_core.finetune.visitor_tables import table_path

# Cells of all tables that are kept, and as much again for the rows made of them.
# A cell takes a pointer, and a string object unless it is empty or repeated.
MAX_KEPT_CELLS = 2_000_000


@dataclass(frozen=True)
class PreparedData:
    """Rows, ready to be checked and to be trained on.

    Args:
        dataset: all rows of the table that are whole.
        data: to learn from, to choose the epoch by, and to test on.
        notes: what was left out, and what could not be split.
        validation_notes: what was left out of the table to test on.
        warnings: those of both notes that nobody may miss.
        judged: all rows of the table to test on, where there is one.
    """

    dataset: Dataset
    data: TrainingData
    notes: tuple[Note, ...]
    validation_notes: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()
    judged: Dataset | None = None


def table(source: TableSource) -> Table:
    """A table, from the store if it is there.

    Raises:
        DatasetError: it is gone, or no table.
    """
    path = table_path(source.table)  # renews the lease, also of a kept one

    def read() -> Table:
        return parse(
            path,
            encoding=source.encoding,
            separator=source.separator,
            has_header=source.has_header,
        )

    return _TABLES.get(source, read)


def prepared(data: DataChoice) -> PreparedData:
    """The rows of a choice, from the store if they are there.

    Raises:
        DatasetError: see `make_dataset`, `split_dataset`, `split_beside_test`; of the
            table to test on it is a `ValidationFileError`.
    """
    table_path(data.source.table)
    if data.validation is not None:
        try:
            table_path(data.validation.table)
        except DatasetError as error:
            raise ValidationFileError.of(error) from error
    return _PREPARED.get(data, lambda: _prepare(data))


def clear() -> None:
    """Forgets everything, in a process that goes on to other work."""
    for store in (_TABLES, _PREPARED):
        store.forget(lambda _: True)


def _prepare(data: DataChoice) -> PreparedData:
    found = _divided(data)
    other = None if data.validation is None else table(data.validation)
    origin = origin_of(
        table(data.source),
        data.columns,
        other,
        data.validation_rate,
        data.seed,
        data.test_rate,
    )
    rows = dataclasses.replace(found.data, origin=origin)
    return dataclasses.replace(found, data=rows)


def _divided(data: DataChoice) -> PreparedData:
    dataset = make_dataset(table(data.source), data.columns)
    if data.validation is None:
        split = split_dataset(dataset, data.validation_rate, data.seed, data.test_rate)
        return PreparedData(
            dataset,
            split.training_data(dataset),
            dataset.notes + split.notes,
            warnings=dataset.warnings,
        )
    try:
        read = table(data.validation)
        other = make_dataset(read, data.columns, dataset.label_names)
    except DatasetError as error:
        raise ValidationFileError.of(error) from error
    # Before there were three parts, the other table also chose the epoch.
    rate = data.validation_rate if data.test_rate else 0.0
    split, warnings = split_beside_test(dataset, other, rate, data.seed)
    return PreparedData(
        dataset,
        split.training_data(dataset, other),
        dataset.notes + split.notes + warnings,
        other.notes,
        dataset.warnings + warnings + other.warnings,
        other,
    )


def _num_cells(found: Table) -> int:
    return int(found.cells.size)


def _num_rows(found: PreparedData) -> int:
    return 5 * (len(found.dataset) + len(found.judged or ()))


_TABLES: BoundedCache[Hashable, Any] = BoundedCache(MAX_KEPT_CELLS, _num_cells)
_PREPARED: BoundedCache[Hashable, Any] = BoundedCache(MAX_KEPT_CELLS, _num_rows)
