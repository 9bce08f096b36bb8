"""Tables of visitors on the disk, by unguessable names; see `visitor_files`.

One may be mended by hand: other labels, rows left out. What comes of it is a table like
any other, so that it can be trained on, taken away and named by a recipe. Its rows keep
their numbers: empty rows stand where others were.
"""

import contextlib
import csv
import dataclasses
import io
import json
import os
import re
import shutil
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bertviz_core import visitor_files
from bertviz_core.errors import DatasetError, TrainingError, reason_of
from bertviz_core.tasks import task
from bertviz_core.training.finetune.checks import DataRow
from bertviz_core.training.finetune.columns import ColumnChoice, is_absent
from bertviz_core.training.finetune.labels import MAX_CLASSES
from bertviz_core.training.finetune.request import TableSource
from bertviz_core.training.finetune.table import DEFAULT_LIMITS, Table
from bertviz_core.training.finetune.table_encoding import refuse_other_formats
from bertviz_core.visitor_files import TABLES, place_of, visited_run

_SAMPLE_FOLDER = Path(__file__).resolve().parents[3] / "assets" / "datasets"
_SAMPLE = re.compile(r"sample:([a-z_]{1,40})")
_TABLE = re.compile(r"file:([0-9a-f]{32})")
_RUN_TABLE = re.compile(r"run:([0-9a-f]{32})/(table|validation)")
_TABLE_FILE = "table"
_CHUNK_BYTES = 1 << 20


def keep_table(file: BinaryIO | bytes, owner: str = "") -> str:
    """Stores a visitor's file, unread, and returns the handle for `TableSource.table`.

    An open file is read to its end in pieces. Its `owner`'s share of the room is taken.

    Raises:
        DatasetError: larger than the limit, no text at all, or no room on the disk.
        StorageError: see `visitor_files.require_room`.
    """
    folder = place_of(TABLES) / uuid.uuid4().hex
    try:
        folder.mkdir(mode=0o700)
        _store(file, folder / _TABLE_FILE)
        size = (folder / _TABLE_FILE).stat().st_size
        visitor_files.require_room(size, owner, but=folder)
        visitor_files.own(folder, owner)
    except OSError as error:
        visitor_files.remove(folder)
        raise DatasetError(
            "The table cannot be stored on the server. Received: {reason}. Its disk "
            "may be full; try a smaller file.",
            reason=reason_of(error),
        ) from error
    except BaseException:
        visitor_files.remove(folder)
        raise
    return f"file:{folder.name}"


def table_path(table: str) -> Path:
    """Where a table lies; asking for it renews its lease, see `visited_run`.

    A `table` is `sample:` and a name, what `keep_table` returned, or that of a run. One
    that is none, or was not asked for in a long time, is a `DatasetError`.
    """
    path = Path()
    if match := _SAMPLE.fullmatch(table):
        path = _SAMPLE_FOLDER / f"{match[1]}.csv"
    elif match := _TABLE.fullmatch(table):
        path = place_of(TABLES) / match[1] / _TABLE_FILE
        visitor_files.renew(path.parent)
    elif match := _RUN_TABLE.fullmatch(table):
        with contextlib.suppress(TrainingError):
            path = visited_run(match[1]) / match[2]
    if not path.is_file():
        raise DatasetError(
            "This table is no longer here: tables are removed when nobody has used "
            "them for a while. Upload it again."
        )
    return path


def forget_table(table: str, owner: str = "") -> None:
    """Removes a table that its owner wants no more, if it is theirs alone."""
    if match := _TABLE.fullmatch(table):
        visitor_files.disown(place_of(TABLES) / match[1], owner)


def lend_table(table: str, run: Path, name: str) -> str:
    """Gives a run a table of its own, which lives as long as the folder of the run.

    The copy is called "table" or "validation"; its handle is returned, for a sample the
    one that it has. An absent table is a `DatasetError`.
    """
    path = table_path(table)
    if path.parent == _SAMPLE_FOLDER:
        return table
    try:
        os.link(path, run / name)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, run / name)
    return f"run:{run.name}/{name}"


def _store(file: BinaryIO | bytes, path: Path) -> None:
    source = io.BytesIO(file) if isinstance(file, bytes) else file
    limit, size = DEFAULT_LIMITS.max_bytes, 0
    with path.open("xb") as target:
        while chunk := source.read(_CHUNK_BYTES):
            if not size:
                refuse_other_formats(chunk)
            size += len(chunk)
            if size > limit:
                raise DatasetError(
                    "The file is too large. The limit is {limit} bytes. Keep fewer "
                    "rows.",
                    limit=limit,
                )
            target.write(chunk)


PAGE_ROWS = 50
# Steps back: each is a file of its own.
MAX_UNDO = 10
_BEFORE = "before.json"


@dataclass(frozen=True)
class Mending:
    """What is to change."""

    labels: tuple[tuple[int, str], ...] = ()  # new labels, by the numbers of their rows
    dropped: tuple[int, ...] = ()  # numbers of rows to leave out
    # Labels and what to write in their place, in all rows.
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Wanted:
    """Which rows to show."""

    rows: tuple[int, ...] | None = None  # their numbers; `None` for all
    label: str | None = None  # those with this label alone; `None` for all
    is_left_out: bool = False  # those that lack a text or a label alone
    page: int = 0  # from 0, of `PAGE_ROWS` rows


@dataclass(frozen=True)
class RowPage:
    """Some rows of a table."""

    rows: tuple[DataRow, ...]  # at most `PAGE_ROWS`, as written, whole
    num_rows: int  # on all pages
    labels: tuple[str, ...]  # commonest first, at most `labels.MAX_CLASSES`


@task()
def rows_to_mend(table: Table, columns: ColumnChoice, wanted: Wanted) -> RowPage:
    """Finds rows, also those that cannot be trained on."""
    labels = np.array(table.stripped(columns.label), object)
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
    texts = table.column(columns.text)
    pairs = None if columns.pair is None else table.column(columns.pair)
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
    """Stores a mended table beside the one that it is made of, to go back to.

    No rows left are a `DatasetError`; for others see `keep_table`.
    """
    handle = keep_table(_written(table, column, mending), owner)
    before = json.dumps(dataclasses.asdict(source))
    table_path(handle).with_name(_BEFORE).write_text(before, encoding="utf-8")
    for old in tables_before(handle)[MAX_UNDO - 1 :]:
        table_path(old.table).with_name(_BEFORE).unlink(missing_ok=True)
    return TableSource(handle, "utf-8", ",", table.has_header)


def tables_before(handle: str) -> list[TableSource]:
    """What a table was before it was mended, if it was, the last step first."""
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
