"""A table mended by hand: other labels, rows left out. What comes of it is a table.

A mended table is a file like any other, so that it can be trained on, taken away and
named by a recipe. Its rows keep their numbers: empty rows stand where others were.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections import Counter
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.checks import DataRow
from bertviz_core.finetune.columns import ColumnChoice, is_absent
from bertviz_core.finetune.labels import MAX_CLASSES
from bertviz_core.finetune.request import TableSource
from bertviz_core.finetune.table import Table
from bertviz_core.finetune.visitor_tables import keep_table, table_path

PAGE_ROWS = 50
# Steps back: each is a file of its own.
MAX_UNDO = 10
_BEFORE = "before.json"


@dataclass(frozen=True)
class Mending:
    """What is to change.

    Args:
        labels: new labels, by the numbers of their rows.
        dropped: numbers of rows to leave out.
        renamed: labels and what to write in their place, in all rows.
    """

    labels: tuple[tuple[int, str], ...] = ()
    dropped: tuple[int, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Wanted:
    """Which rows to show.

    Args:
        rows: their numbers; `None` for all.
        label: those with this label alone; `None` for all.
        is_left_out: those that lack a text or a label alone.
        page: from 0, of `PAGE_ROWS` rows.
    """

    rows: tuple[int, ...] | None = None
    label: str | None = None
    is_left_out: bool = False
    page: int = 0


@dataclass(frozen=True)
class RowPage:
    """Some rows of a table.

    Args:
        rows: at most `PAGE_ROWS`, as written, whole.
        num_rows: on all pages.
        labels: what stands in the label column, commonest first, at most
            `labels.MAX_CLASSES`.
    """

    rows: tuple[DataRow, ...]
    num_rows: int
    labels: tuple[str, ...]


def rows_to_mend(table: Table, columns: ColumnChoice, wanted: Wanted) -> RowPage:
    """Finds rows, also those that cannot be trained on.

    Args:
        table: of which some rows are wanted.
        columns: which column is what.
        wanted: which rows.
    """
    labels = np.array([cell.strip() for cell in table.column(columns.label)], object)
    is_wanted = np.ones(table.num_rows, bool)
    if wanted.rows is not None:
        is_wanted = np.isin(table.row_numbers, wanted.rows)
    if wanted.label is not None:
        is_wanted &= labels == wanted.label
    if wanted.is_left_out:
        needed = filter(None, (columns.text, columns.pair, columns.label))
        absent = [list(map(is_absent, table.column(name))) for name in needed]
        is_wanted &= np.any(absent, axis=0)
    found = np.flatnonzero(is_wanted)
    first = wanted.page * PAGE_ROWS
    texts, pairs = table.column(columns.text), None
    if columns.pair is not None:
        pairs = table.column(columns.pair)
    return RowPage(
        rows=tuple(
            DataRow(
                row=int(table.row_numbers[index]),
                text=texts[index],
                pair=None if pairs is None else pairs[index],
                label=labels[index],
            )
            for index in found[first : first + PAGE_ROWS]
        ),
        num_rows=len(found),
        labels=tuple(name for name, _ in Counter(labels).most_common(MAX_CLASSES)),
    )


def mend_table(
    table: Table, source: TableSource, column: str, mending: Mending, owner: str
) -> TableSource:
    """Stores a mended table beside the one that it is made of.

    Args:
        table: what `source` says.
        source: the table before, to go back to.
        column: name of the label's column.
        mending: what is to change.
        owner: see `keep_table`.

    Raises:
        DatasetError: no row would be left, or see `keep_table`.
    """
    handle = keep_table(_written(table, column, mending), owner)
    before = json.dumps(dataclasses.asdict(source))
    table_path(handle).with_name(_BEFORE).write_text(before, encoding="utf-8")
    for old in tables_before(handle)[MAX_UNDO - 1 :]:
        table_path(old.table).with_name(_BEFORE).unlink(missing_ok=True)
    return TableSource(handle, "utf-8", ",", table.has_header)


def tables_before(handle: str) -> list[TableSource]:
    """What a table was before it was mended, the last step first.

    Args:
        handle: of any table; one that was never mended has none before it.
    """
    found: list[TableSource] = []
    try:
        # Samples share a folder, and runs have a copy of the table alone.
        while handle.startswith("file:"):
            path = table_path(handle).with_name(_BEFORE)
            found.append(TableSource(**json.loads(path.read_text(encoding="utf-8"))))
            handle = found[-1].table
    except (DatasetError, OSError):
        pass
    return found


def _written(table: Table, column: str, mending: Mending) -> bytes:
    """The mended table as CSV."""
    renamed, labels = dict(mending.renamed), dict(mending.labels)
    place, dropped = table.columns.index(column), set(mending.dropped)
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    line = 1
    if table.has_header:
        writer.writerow(table.columns)
        line = 2
    # Names of Parquet and JSON are no row of them.
    shift = max(0, line - int(table.row_numbers[0]))
    is_left = False
    for number, cells in zip(table.row_numbers.tolist(), table.cells, strict=True):
        if number in dropped:
            continue
        row = list(cells)
        row[place] = renamed.get(row[place].strip(), row[place])
        row[place] = labels.get(number, row[place])
        stream.write("\n" * (number + shift - line))
        writer.writerow(row)
        line, is_left = number + shift + 1, True
    if not is_left:
        raise DatasetError(
            "No row would be left. Received: {count} rows to leave out. Keep some.",
            count=len(dropped),
        )
    return stream.getvalue().encode("utf-8-sig")
