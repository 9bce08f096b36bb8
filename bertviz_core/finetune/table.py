"""A table of texts from a file of a user's: CSV in whatever form it comes.

Row numbers are those of a spreadsheet program: from 1, the header and empty rows
counted, a row with line breaks within quotes counted once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.notes import Note, excerpt, note
from bertviz_core.finetune.other_tables import SPREADSHEET, OtherTable, kind_of
from bertviz_core.finetune.table_encoding import (
    find_encoding,
    is_a_guess,
    refuse_control_characters,
)
from bertviz_core.finetune.table_layout import (
    MAX_SAMPLE_ROWS,
    SEPARATORS,
    guess_header,
    guess_separator,
    num_comments,
    without_comments,
)
from bertviz_core.finetune.table_limits import DEFAULT_LIMITS, Limits
from bertviz_core.finetune.table_rows import (
    Reading,
    bounded_lines,
    collect,
    name_columns,
    read_rows,
)
from bertviz_core.trace import FrozenArrays

_SAMPLE_CHARS = 400_000


@dataclass(frozen=True)
class Table(FrozenArrays):
    """What was read.

    Args:
        columns: names, no two alike, none empty.
        cells: str objects `[num_rows, num_columns]`, as written, unstripped.
        row_numbers: int `[num_rows]`, of the file, from 1.
        encoding: one that `read_table` takes; "" for `other_tables`.
        separator: between cells; "" for `other_tables`.
        has_header: whether the first row gave the names.
        num_skipped: rows that were left out; see `notes` for which and why.
            Empty rows are not counted, nor those beyond `max_rows`.
        notes: what was guessed and what was left out.
        warnings: those of `notes` that mean lost rows or garbled letters.
        sha256: of the file's bytes, in hexadecimal.
    """

    columns: tuple[str, ...]
    cells: np.ndarray
    row_numbers: np.ndarray
    encoding: str
    separator: str
    has_header: bool
    num_skipped: int
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]
    sha256: str

    @property
    def num_rows(self) -> int:
        """Rows of data."""
        return len(self.cells)

    @property
    def rows(self) -> tuple[np.ndarray, ...]:
        """One str object array `[num_columns]` a row."""
        return tuple(self.cells)

    def column(self, name: str) -> np.ndarray:
        """The cells under a name, str objects `[num_rows]`.

        Raises:
            DatasetError: there is no such column.
        """
        if name not in self.columns:
            raise DatasetError(
                "The table has no such column. Received: {name}. It has: {known}. "
                "Choose one of these.",
                name=name[:60],
                known=", ".join(self.columns)[:300],
            )
        return self.cells[:, self.columns.index(name)]


def read_table(
    source: bytes | Path,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Table:
    """Reads comma-, semicolon-, tab- or bar-separated text, or one of `other_tables`.

    Args:
        source: the bytes of the file, or where it lies.
        encoding: of `table_encoding.ENCODINGS`; `None` or "" guesses.
        separator: of `table_layout.SEPARATORS`; `None` or "" guesses.
        has_header: `None` guesses.
        limits: see there.

    Returns:
        At least one row of data. Rows with more or fewer cells than the first
        row are left out and reported.

    Raises:
        DatasetError: the file is no such table, is damaged, or is beyond the
            limits; the sentence says where.
        ValueError: an option that is not offered.

    Source:
        RFC 4180 for quotes; Excel's "sep=;" in the first line is understood.
    """
    encoding, separator = encoding or None, separator or None
    if separator is not None and separator not in SEPARATORS:
        raise ValueError(
            f"`separator` must be in {SEPARATORS}. Received: {separator!r}."
        )
    data = _bytes_of(source, limits)
    if kind := kind_of(data[:1000]):
        found = _read_other(data, kind, has_header, limits)
    else:
        found = _read_text(data, encoding, separator, has_header, limits)
    return dataclasses.replace(found, sha256=hashlib.sha256(data).hexdigest())


def _read_text(
    data: bytes,
    encoding: str | None,
    separator: str | None,
    has_header: bool | None,
    limits: Limits,
) -> Table:
    codec, notes = find_encoding(data, encoding, limits)
    sample = _decoded(data, codec).read(_SAMPLE_CHARS)
    refuse_control_characters(sample)
    declared = sample[4] if sample[:4].lower() == "sep=" and len(sample) > 4 else None
    if declared in SEPARATORS and separator is None:
        separator = declared
    if separator is None:
        separator = guess_separator(without_comments(sample))
    num_before = 1 if declared is not None else num_comments(sample, separator)

    def lines() -> Iterator[str]:
        return bounded_lines(_decoded(data, codec), separator, limits)

    reading = read_rows(lines, separator, num_before, limits)
    guessed = notes if is_a_guess(codec, encoding) else ()
    name = encoding or codec.removesuffix("-sig")
    return _table(reading, has_header, notes, guessed, name, separator)


def _read_other(
    data: bytes, kind: str, has_header: bool | None, limits: Limits
) -> Table:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        other = OtherTable(Path(file.name), kind)
        try:
            reading = collect(other.rows(), 0, limits)
        except ValueError:
            raise DatasetError(
                "The file cannot be read. Received: a file of the kind {kind}. It may "
                "be another kind of file, damaged, locked with a password or too "
                "large. Open it in a spreadsheet program and save it as CSV.",
                kind=kind,
            ) from None
        finally:
            other.close()
    if other.num_sheets > 1:
        reading.notes += (
            note(
                "The first of {count} sheets is read: “{sheet}”. Put another sheet "
                "first, or save it as CSV, to read that one.",
                count=other.num_sheets,
                sheet=excerpt(other.sheet),
            ),
        )
    # The others name their columns; those of a spreadsheet may be data.
    has_header = has_header if kind == SPREADSHEET else True
    return _table(reading, has_header, (), (), "", "")


def _table(
    reading: Reading,
    has_header: bool | None,
    notes: tuple[Note, ...],
    warnings: tuple[Note, ...],
    encoding: str,
    separator: str,
) -> Table:
    warnings += reading.notes
    notes += reading.notes
    if has_header is None:
        has_header, why = guess_header(reading.rows[:MAX_SAMPLE_ROWS])
        notes += (why,)
    first, rows, numbers = _without_header(reading, has_header, reading.most)
    cells = np.empty((len(rows), reading.width), dtype=object)
    cells[:] = rows
    return Table(
        columns=name_columns(first),
        cells=cells,
        row_numbers=np.array(numbers, "int64"),
        encoding=encoding,
        separator=separator,
        has_header=has_header,
        num_skipped=reading.num_misshapen,
        notes=notes,
        warnings=warnings,
        sha256="",
    )


def _without_header(
    reading: Reading, has_header: bool, max_rows: int
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows of data, their numbers."""
    rows, numbers, first = reading.rows, reading.numbers, [""] * reading.width
    if has_header:
        first, rows, numbers = rows[0], rows[1:], numbers[1:]
    if not rows:
        raise DatasetError(
            "The table has a header and no rows. Received: {columns}. Add a row for "
            "every text.",
            columns=", ".join(first)[:200],
        )
    return first, rows[:max_rows], numbers[:max_rows]


def _bytes_of(source: bytes | Path, limits: Limits) -> bytes:
    try:
        if isinstance(source, Path):
            size = source.stat().st_size
            data = b"" if size > limits.max_bytes else source.read_bytes()
        else:
            size, data = len(source), source
    except OSError as error:
        raise DatasetError(
            "The file {name} cannot be read. Received: {reason}. Check its name.",
            name=Path(str(source)).name,
            reason=error.strerror or type(error).__name__,
        ) from None
    if size > limits.max_bytes:
        raise DatasetError(
            "The file is too large. Received: {size} bytes; the limit is {limit}. "
            "Keep fewer rows.",
            size=size,
            limit=limits.max_bytes,
        )
    return data


def _decoded(data: bytes, codec: str) -> io.TextIOWrapper:
    # newline="": line breaks within quotes stay as they are.
    return io.TextIOWrapper(io.BytesIO(data), encoding=codec, newline="")
