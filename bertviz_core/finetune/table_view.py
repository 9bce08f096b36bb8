"""A table as a page shows it before it is used."""

from __future__ import annotations

from dataclasses import dataclass

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.column_profile import ColumnProfile, profile_columns
from bertviz_core.finetune.columns import guess_columns
from bertviz_core.finetune.notes import Note
from bertviz_core.finetune.table import Table

PREVIEW_ROWS = 10
# A cell of the preview; the table itself keeps all.
PREVIEW_CHARS = 300


@dataclass(frozen=True)
class TableView:
    """What a page needs of a table, however large it is.

    Args:
        columns: names, in their order.
        profiles: what each column holds.
        preview: the first rows, at most `PREVIEW_ROWS`, of cells as written, at
            most `PREVIEW_CHARS` of each.
        preview_rows: row number of each, from 1, as in a spreadsheet program.
        num_rows: rows of data that can be used.
        num_skipped: rows out of shape, which are left out; `notes` say why.
        encoding, separator, has_header: as guessed, or as asked for.
        notes: what was guessed and why, and what was left out.
        warnings: those of `notes` that mean lost rows or garbled letters.
        guess: text, second text and label with reasons; `None` where no guess is
            possible, see `guess_problem`.
        guess_problem: why there is no guess.
        sha256: of the file, in hexadecimal.
    """

    columns: tuple[str, ...]
    profiles: tuple[ColumnProfile, ...]
    preview: tuple[tuple[str, ...], ...]
    preview_rows: tuple[int, ...]
    num_rows: int
    num_skipped: int
    encoding: str
    separator: str
    has_header: bool
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]
    guess: ColumnChoice | None
    guess_problem: DatasetError | None
    sha256: str


def view_table(table: Table) -> TableView:
    """Describes a table."""
    guess, problem = None, None
    try:
        guess = guess_columns(table)
    except DatasetError as error:
        problem = error
    return TableView(
        columns=table.columns,
        profiles=profile_columns(table),
        preview=tuple(
            tuple(cell[:PREVIEW_CHARS] for cell in row)
            for row in table.cells[:PREVIEW_ROWS]
        ),
        preview_rows=tuple(map(int, table.row_numbers[:PREVIEW_ROWS])),
        num_rows=table.num_rows,
        num_skipped=table.num_skipped,
        encoding=table.encoding,
        separator=table.separator,
        has_header=table.has_header,
        notes=table.notes,
        warnings=table.warnings,
        guess=guess,
        guess_problem=problem,
        sha256=table.sha256,
    )
