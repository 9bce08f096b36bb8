"""Tables as commands read them: by names of columns, and guesses for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.columns import guess_columns, profile_columns
from bertviz_core.finetune.table import Table, read_table
from bertviz_core.finetune.table_encoding import ENCODINGS
from bertviz_core.finetune.table_layout import SEPARATORS


def read_named_table(
    path: Path,
    names: Iterable[str | None],
    encoding: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
) -> Table:
    """Reads a table whose columns a user may have named.

    Args:
        path: of the file.
        names: of columns; `None` for those that were not named.
        encoding: of `table_encoding.ENCODINGS`; `None` guesses.
        separator: of `table_layout.SEPARATORS`, or "tab"; `None` guesses.
        has_header: `None` guesses.

    Raises:
        DatasetError: no such table, encoding or separator.
    """
    separator = {"tab": "\t", r"\t": "\t"}.get(separator or "", separator)
    _require_known("encoding", encoding, ENCODINGS)
    _require_known("separator", separator, SEPARATORS)
    table = read_table(
        path, encoding=encoding, separator=separator, has_header=has_header
    )
    asked = set(names) - {None}
    if has_header is not None or table.has_header or asked <= set(table.columns):
        return table
    # Who names columns has seen a header, also where it looks like data.
    return read_table(path, encoding=encoding, separator=separator, has_header=True)


def text_column(table: Table) -> str:
    """The column that holds the texts: a guess, for a table that needs no label."""
    try:
        return guess_columns(table).text
    except DatasetError:  # one column, or a single one with values
        return max(profile_columns(table), key=lambda one: one.mean_chars).name


def _require_known(name: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in known:
        raise DatasetError(
            "A table cannot be read like that. Received: {name}={value}. Choose one "
            "of: {known}.",
            name=name,
            value=value[:60],
            known=" ".join("tab" if one == "\t" else one for one in known),
        )
