"""Tables as commands read them: by names of columns, and guesses for the rest."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bertviz_core.errors import DatasetError
from bertviz_core.training.finetune.columns import (
    ColumnChoice,
    guess_columns,
    kind_of_column,
    profile_columns,
)
from bertviz_core.training.finetune.notes import Note, note
from bertviz_core.training.finetune.split import PreparedData, prepare
from bertviz_core.training.finetune.table import SEPARATORS, Table, read_table
from bertviz_core.training.finetune.table_encoding import ENCODINGS

_LAYOUT = ("encoding", "separator", "has_header")
# On a command line a tab is hard to write.
_SEPARATOR_NAMES = {"tab": "\t", r"\t": "\t"}


def training_rows(
    path: Path, validation: Path | None, options: dict[str, Any]
) -> PreparedData:
    """Reads the rows that the options choose, to test on from another table if given.

    Of the options, `text_column`, `pair_column`, `label_column`, `is_regression`,
    `encoding`, `separator`, `has_header`, and the last three with `validation_` before
    them for a table to test on, are guessed where they are `None`; the others are
    `validation_rate`, `test_rate` and `split_seed`. The notes also say what numbers
    were taken for, and what was left out of both tables.

    Raises:
        DatasetError: these cannot be trained on.
    """
    kinds = ("text", "pair", "label")
    names = [options[f"{kind}_column"] for kind in kinds]
    table = read_named_table(path, names, *(options[name] for name in _LAYOUT))
    choice, told = _choice(table, options)
    rates = options["validation_rate"], options["split_seed"], options["test_rate"]
    _require_shares(rates[0], rates[2], rates[1])
    other = None
    if validation is not None:
        layout = [options[f"validation_{name}"] for name in _LAYOUT]
        if layout[-1] is None:  # both files name their columns, or neither does
            layout[-1] = table.has_header
        other = read_named_table(validation, (), *layout)
    found = prepare(table, choice, other, *rates)
    notes = table.notes + told + found.notes + found.validation_notes
    return dataclasses.replace(found, notes=notes)


def read_named_table(
    path: Path,
    names: Iterable[str | None],
    encoding: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
) -> Table:
    """Reads a table whose columns a user may have named; `None` for those that are not.

    The rest is as in `read_table`, but that a separator may also be "tab". No such
    table, encoding or separator is a `DatasetError`.
    """
    separator = _SEPARATOR_NAMES.get(separator or "", separator)
    _require_known("encoding", encoding or None, ENCODINGS)
    _require_known("separator", separator or None, SEPARATORS)
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


def _choice(
    table: Table, options: dict[str, Any]
) -> tuple[ColumnChoice, tuple[Note, ...]]:
    """Which column is what, and what a column of numbers was taken for."""
    text, label = options["text_column"], options["label_column"]
    pair, is_regression = options["pair_column"], options["is_regression"]
    profiles = profile_columns(table)
    if text is None or label is None:
        guess = guess_columns(table, profiles)
        pair = pair or (guess.pair if text is None else None)
        text, label = text or guess.text, label or guess.label
    told: tuple[Note, ...] = ()
    if is_regression is None:
        kind = kind_of_column(profiles, label, table.num_rows)
        is_regression = kind is not None and kind.is_regression
        if kind is not None and kind.is_open:
            told = (kind.reason, _way_out(is_regression))
    return ColumnChoice(text, label, pair, is_regression), told


def _require_shares(validation: float, test: float, seed: int) -> None:
    if not (0 < validation < 1 and 0 < test < 1 and validation + test < 1):
        raise DatasetError(
            "The shares of validation and test rows must lie between 0 and 1, and "
            "leave rows to learn from. Received: {validation} and {test}. Take 0.1 and "
            "0.2.",
            validation=str(validation)[:20],
            test=str(test)[:20],
        )
    if seed < 0:
        raise DatasetError(
            "The number that draws rows cannot be negative. Received: {received}. Take "
            "any number from 0.",
            received=seed,
        )


def _way_out(is_regression: bool) -> Note:
    if is_regression:
        return note("If its numbers are names of classes, add --classes.")
    return note("If its numbers are amounts, add --regression.")


def _require_known(name: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in known:
        raise DatasetError(
            "A table cannot be read like that. Received: {name}={value}. Choose one "
            "of: {known}.",
            name=name,
            value=value[:60],
            known=" ".join("tab" if one == "\t" else one for one in known),
        )
