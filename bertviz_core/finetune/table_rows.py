"""Lines to rows of cells: quotes, line breaks within them, rows out of shape."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.notes import Note, list_rows, note
from bertviz_core.finetune.table_encoding import nul_character
from bertviz_core.finetune.table_limits import Limits
from bertviz_core.finetune.table_quotes import has_line_break, warn_of_merged_rows

# More than one row in five out of shape: not a few slips, but the wrong separator
# or texts without quotes.
_MAX_MISSHAPEN_SHARE = 0.2


@dataclass
class Reading:
    """The rows of a file.

    Args:
        width: cells in the first row, and in every row that is kept.
        rows: with a cell that is not empty.
        numbers: row number of each, from 1.
        longer, shorter: numbers of rows with more or fewer cells.
        broken: number and cells of the rows with line breaks within quotes.
        most: rows of data that are read; one more, as the first may be a header.
        is_cut: there are more rows than that.
        most_empty: there are more empty rows than this; 0 where all were read.
        notes: what should be told.
    """

    width: int = 0
    rows: list[list[str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    longer: list[int] = field(default_factory=list)
    shorter: list[int] = field(default_factory=list)
    broken: list[tuple[int, list[str]]] = field(default_factory=list)
    most: int = 0
    is_cut: bool = False
    most_empty: int = 0
    notes: tuple[Note, ...] = ()

    @property
    def num_misshapen(self) -> int:
        """Rows that were left out for their number of cells."""
        return len(self.longer) + len(self.shorter)


class _QuoteError(Exception):
    """Quotation marks that do not come in pairs, with the sentence for the user."""

    def __init__(self, row: int, sentence: DatasetError) -> None:
        super().__init__()
        self.row = row
        self.sentence = sentence


def read_rows(
    lines: Callable[[], Iterator[str]],
    separator: str,
    num_before: int,
    limits: Limits,
) -> Reading:
    """Reads all rows.

    A tab-separated file whose quotation marks do not come in pairs is read once
    more as one that knows no quoting, which is how many programs write it.

    Args:
        lines: starts at the first line at every call.
        separator: between cells.
        num_before: rows that come before the table.
        limits: see there.

    Raises:
        DatasetError: quotation marks, a cell, a row or the number of columns is
            out of bounds, or the rows have no shape in common.
    """
    try:
        rows = _rows_with_quotes(lines(), separator, limits)
        reading = collect(rows, num_before, limits)
        reading.notes += warn_of_merged_rows(
            reading.broken, reading.rows, separator, reading.width
        )
        return reading
    except _QuoteError as error:
        if separator != "\t":
            raise error.sentence from None
        row = error.row
    plain = (
        (number, line.rstrip("\r\n").split(separator))
        for number, line in enumerate(lines(), start=1)
    )
    reading = collect(plain, num_before, limits)
    reading.notes += (
        note(
            "Quotation marks are read as part of the texts: in row {row} they do not "
            "come in pairs.",
            row=row,
        ),
    )
    return reading


def bounded_lines(
    stream: io.TextIOWrapper, separator: str, limits: Limits
) -> Iterator[str]:
    """The lines of a file with their ends, never more of one than the limit.

    Raises:
        DatasetError: a line is too long or holds a NUL.
    """
    number = 0
    while line := stream.readline(limits.max_line_chars + 1):
        number += 1
        if len(line) > limits.max_line_chars:
            num_cells = line.count(separator) + 1
            if '"' not in line and num_cells > limits.max_columns:
                raise _too_many_columns(num_cells, limits)
            raise limits.long_line(number)
        if "\x00" in line:
            raise nul_character(number)
        yield line


def name_columns(first: Sequence[str]) -> tuple[str, ...]:
    """Names for columns: what the header says, made whole and told apart.

    Args:
        first: cells of the header; "" where there is none.
    """
    names: list[str] = []
    for index, cell in enumerate(first, start=1):
        name = base = " ".join(cell.split())[:200] or f"#{index}"
        number = 2
        while name in names:
            name = f"{base} ({number})"
            number += 1
        names.append(name)
    return tuple(names)


def _rows_with_quotes(
    lines: Iterator[str], separator: str, limits: Limits
) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    number = 0
    while True:
        number, line = number + 1, reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if str(error).startswith("field larger"):
                size, limit = csv.field_size_limit(), limits.max_cell_chars
                sentence = _cell_too_long(number, size, limit)
            else:
                sentence = _loose_quotes(number, line)
            raise _QuoteError(number, sentence) from None
        yield number, row


def collect(
    rows: Iterator[tuple[int, list[str]]], num_before: int, limits: Limits
) -> Reading:
    """Takes rows as far as the limits go, and tells what was left out.

    Args:
        rows: row number and cells of each.
        num_before: rows that come before the table.
        limits: see there.

    Raises:
        DatasetError: see `read_rows`.
    """
    reading, num_empty = Reading(), 0
    for number, row in rows:
        if 0 < number <= num_before:
            continue
        if not any(map(str.strip, row)):
            num_empty += 1
            if num_empty > limits.max_empty_rows:
                reading.most_empty = limits.max_empty_rows
                break
            continue
        if len(reading.rows) + reading.num_misshapen > reading.most:
            reading.is_cut = True
            break
        _require_bounds(number, row, limits)
        if not reading.width:
            reading.width = len(row)
            reading.most = limits.rows_of(len(row))
        while len(row) > reading.width and not row[-1].strip():
            row.pop()
        if has_line_break(row):
            reading.broken.append((number, row))
        if len(row) == reading.width:
            reading.rows.append(row)
            reading.numbers.append(number)
        else:
            misshapen = reading.longer if len(row) > reading.width else reading.shorter
            misshapen.append(number)
    _report(reading)
    return reading


def _require_bounds(number: int, row: list[str], limits: Limits) -> None:
    if len(row) > limits.max_columns:
        raise _too_many_columns(len(row), limits)
    longest = max(map(len, row))
    if longest > limits.max_cell_chars:
        raise _cell_too_long(number, longest, limits.max_cell_chars)


def _cell_too_long(row: int, size: int, limit: int) -> DatasetError:
    return DatasetError(
        "A cell of the table is too long. Received: at least {size} characters in "
        "row {row}; the limit is {limit}. Cut the text there, or look for a "
        "quotation mark that never closes.",
        size=size,
        row=row,
        limit=limit,
    )


def _loose_quotes(row: int, line: int) -> DatasetError:
    return DatasetError(
        "Quotation marks do not come in pairs. Received: a cell of row {row}, "
        "line {line} of the file, that opens or closes out of place. Write every "
        'quotation mark within a quoted cell twice, as "".',
        row=row,
        line=line,
    )


def _too_many_columns(count: int, limits: Limits) -> DatasetError:
    return DatasetError(
        "The table has too many columns. Received: at least {count}; the limit is "
        "{limit}. Keep the columns with texts and labels.",
        count=count,
        limit=limits.max_columns,
    )


def _report(reading: Reading) -> None:
    """Tells what was left out; refuses where that is most of the table."""
    if not reading.rows:
        raise DatasetError("Every row of the table is empty. Add a row for every text.")
    misshapen = sorted(reading.longer + reading.shorter)
    num_rows = len(reading.rows) + len(misshapen)
    if len(misshapen) > _MAX_MISSHAPEN_SHARE * num_rows:
        raise DatasetError(
            "The rows do not have the same number of cells. Received: {width} in the "
            "first row and another number in {count} of {num_rows} rows: {rows}. "
            "Choose another separator, or put texts that hold it in quotation marks.",
            width=reading.width,
            count=len(misshapen),
            num_rows=num_rows,
            rows=list_rows(misshapen),
        )
    reading.notes += _left_out(reading)


def _left_out(reading: Reading) -> tuple[Note, ...]:
    notes: tuple[Note, ...] = ()
    last = max(reading.numbers + reading.longer + reading.shorter)
    if reading.longer:
        notes += (
            note(
                "Rows with more cells than the first row are left out: {rows} "
                "({count} in all).",
                count=len(reading.longer),
                rows=list_rows(reading.longer),
            ),
        )
    if reading.shorter:
        notes += (
            note(
                "Rows with fewer cells than the first row are left out: {rows} "
                "({count} in all).",
                count=len(reading.shorter),
                rows=list_rows(reading.shorter),
            ),
        )
    if reading.is_cut:
        notes += (
            note(
                "The table is longer than the limit of {limit} rows; what comes "
                "after row {row} is left out. If it is sorted by label, shuffle it "
                "first.",
                limit=reading.most,
                row=last,
            ),
        )
    if reading.most_empty:
        notes += (
            note(
                "The table has more than {limit} empty rows; what comes after row "
                "{row} is left out. Remove the empty rows.",
                limit=reading.most_empty,
                row=last,
            ),
        )
    return notes
