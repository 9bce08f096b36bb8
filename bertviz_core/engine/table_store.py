"""Tables that a process has parsed, and the rows that were made of them.

A store with a bound, as in `memory`: what was dropped is parsed from its file anew.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from bertviz_core.engine.cache import BoundedCache
from bertviz_core.errors import DatasetError, ValidationFileError
from bertviz_core.training.finetune.request import DataChoice, TableSource
from bertviz_core.training.finetune.split import PreparedData, prepare
from bertviz_core.training.finetune.table import Table
from bertviz_core.training.finetune.table import read_table as parse
from bertviz_core.training.finetune.visitor_tables import table_path

# Cells of all tables that are kept, and as much again for the rows made of them.
# A cell takes a pointer, and a string object unless it is empty or repeated.
MAX_KEPT_CELLS = 2_000_000
Asked = TypeVar("Asked")
Found = TypeVar("Found")


def table(source: TableSource) -> Table:
    """A table, from the store if it is there; `DatasetError` if it is gone, or none."""
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
    """The rows of a choice, from the store if they are there; errors see `prepare`."""
    # Renews the leases, also of kept ones.
    table_path(data.source.table)
    if data.validation is not None:
        _of_validation(table_path, data.validation.table)

    def make() -> PreparedData:
        own, other = table(data.source), None
        if data.validation is not None:
            other = _of_validation(table, data.validation)
        rates = data.validation_rate, data.seed, data.test_rate
        return prepare(own, data.columns, other, *rates)

    return _PREPARED.get(data, make)


def clear() -> None:
    """Forgets everything, in a process that goes on to other work."""
    for store in (_TABLES, _PREPARED):
        store.forget(lambda _: True)


def _of_validation(read: Callable[[Asked], Found], what: Asked) -> Found:
    """Reads of the table to test on, and says so where it cannot."""
    try:
        return read(what)
    except DatasetError as error:
        raise ValidationFileError.of(error) from error


def _num_cells(found: Table) -> int:
    return int(found.cells.size)


def _num_rows(found: PreparedData) -> int:
    return 5 * (len(found.dataset) + len(found.judged or ()))


_TABLES: BoundedCache[Hashable, Any] = BoundedCache(MAX_KEPT_CELLS, _num_cells)
_PREPARED: BoundedCache[Hashable, Any] = BoundedCache(MAX_KEPT_CELLS, _num_rows)
