"""Stray quotation marks: a quoted cell that has swallowed the rows below it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bertviz_core.finetune.notes import Note, list_rows, note
from bertviz_core.numbers import is_number

_LINE_END = re.compile(r"\r\n|\r|\n")


def has_line_break(row: Sequence[str]) -> bool:
    """Whether a cell goes over several lines."""
    return any("\n" in cell or "\r" in cell for cell in row)


def warn_of_merged_rows(
    broken: Sequence[tuple[int, list[str]]],
    rows: Sequence[list[str]],
    separator: str,
    width: int,
) -> tuple[Note, ...]:
    """Tells which rows may be several that a quotation mark has joined.

    Such a row has lines that would each be a whole row, and in a line that the
    quotation marks hide stands what other rows have in the same column. The second
    sign spares letters such as "Dear Sir,": a comma in each line proves little.

    Args:
        broken: number and cells of the rows with line breaks.
        rows: all rows that have the right number of cells.
        separator: between cells.
        width: cells of a row.

    Returns:
        One warning, or none.
    """
    suspects = [
        (number, row, lines)
        for number, row in broken
        if (lines := _lines_as_rows(row, separator, width))
    ]
    if not suspects:
        return ()
    values = _values(rows, width)
    found = [(n, lines) for n, row, lines in suspects if _is_merged(row, lines, values)]
    if not found:
        return ()
    return (
        note(
            "Several rows may have been read as one: {rows} ({count} in all). There "
            "a quoted cell goes over {lines} lines, each of which looks like a row "
            "of its own. Look for a quotation mark that should not be there.",
            rows=list_rows(number for number, _ in found),
            count=len(found),
            lines=list_rows(len(lines) for _, lines in found),
        ),
    )


def _lines_as_rows(row: list[str], separator: str, width: int) -> list[list[str]]:
    """The cells of each line; nothing unless every line has as many as a row."""
    lines = [line.split(separator) for line in _LINE_END.split(separator.join(row))]
    return lines if all(len(cells) == width for cells in lines) else []


def _values(rows: Sequence[list[str]], width: int) -> list[set[str]]:
    """What the columns hold, without rows that go over several lines."""
    values: list[set[str]] = [set() for _ in range(width)]
    for row in rows:
        if not has_line_break(row):
            for known, cell in zip(values, row, strict=True):
                known.add(cell.strip())
    for known in values:
        known.discard("")
    return values


def _is_merged(
    row: list[str], lines: list[list[str]], values: Sequence[set[str]]
) -> bool:
    broken = next(index for index, cell in enumerate(row) if has_line_break([cell]))
    for index, known in enumerate(values):
        if index == broken:
            continue
        # The first or the last of these cells is the row's own, outside the quotes.
        hidden = lines[1:] if index < broken else lines[:-1]
        cells = [line[index].strip() for line in hidden]
        if any(cell in known for cell in cells):
            return True
        if known and all(map(is_number, known)) and any(map(is_number, cells)):
            return True
    return False
