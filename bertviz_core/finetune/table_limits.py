"""What a table of a user's may hold."""

from __future__ import annotations

from dataclasses import dataclass

from bertviz_core.errors import DatasetError


@dataclass(frozen=True)
class Limits:
    """What a table may hold.

    Args:
        max_bytes: of the file; a larger one is refused before it is read.
        max_rows: of data; rows after that are left out, and the table says so.
        max_empty_rows: rows after that are left out, too. A spreadsheet has no more
            rows, and may save those below its table.
        max_columns: more are refused.
        max_cells: of all rows together; a wide table may have fewer rows.
        max_line_chars: a longer line is refused when that much of it is read.
        max_cell_chars: a longer cell is refused. At most 131,072, where Python's
            `csv` stops by itself.
    """

    max_bytes: int = 100_000_000
    max_rows: int = 200_000
    max_empty_rows: int = 1_048_576
    max_columns: int = 500
    max_cells: int = 10_000_000
    max_line_chars: int = 1_000_000
    max_cell_chars: int = 100_000

    def rows_of(self, width: int) -> int:
        """How many rows of so many cells are read."""
        return max(1, min(self.max_rows, self.max_cells // width))

    def long_line(self, line: int) -> DatasetError:
        """The error for a line of the file that is too long, counted from 1."""
        return DatasetError(
            "A line of the file is too long. Received: more than {limit} "
            "characters in line {line}. Look there for a missing line break.",
            limit=self.max_line_chars,
            line=line,
        )


DEFAULT_LIMITS = Limits()
