"""Tables as commands read them: by names of columns, and guesses for the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.column_profile import profile_columns
from bertviz_core.finetune.columns import guess_columns
from bertviz_core.finetune.dataset import Dataset, make_dataset
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.label_kind import kind_of_column
from bertviz_core.finetune.notes import Note, note
from bertviz_core.finetune.origin import DataOrigin, origin_of
from bertviz_core.finetune.split import split_beside_test, split_dataset
from bertviz_core.finetune.table import Table, read_table
from bertviz_core.finetune.table_encoding import ENCODINGS
from bertviz_core.finetune.table_layout import SEPARATORS

_LAYOUT = ("encoding", "separator", "has_header")
# On a command line a tab is hard to write.
_SEPARATOR_NAMES = {"tab": "\t", r"\t": "\t"}


@dataclass(frozen=True)
class CommandRows:
    """The rows that a command trains on.

    Args:
        dataset: all rows of the table that are whole.
        data: to learn from, to choose the epoch by, and to test on.
        notes: what numbers were taken for, what was left out, and what could not
            be split.
    """

    dataset: Dataset
    data: TrainingData
    notes: tuple[Note, ...]


def options_of(origin: DataOrigin) -> dict[str, Any]:
    """The options of `fine-tune` that choose the same rows again.

    Args:
        origin: of the rows.
    """
    options = origin.to_dict()
    for name in ("table_sha256", "validation_sha256"):
        del options[name]
    return options


def training_rows(
    path: Path, validation: Path | None, options: dict[str, Any]
) -> CommandRows:
    """Reads the rows that the options choose.

    Args:
        path: of the table.
        validation: path of a table to test on; `None` sets rows aside.
        options: `text_column`, `pair_column`, `label_column`, `is_regression`,
            `encoding`, `separator`, `has_header`, and the same three of the table to
            test on, with `validation_` before them, of which `None` guesses;
            `validation_rate`, `test_rate` and `split_seed`.

    Raises:
        DatasetError: these cannot be trained on.
    """
    kinds = ("text", "pair", "label")
    names = [options[f"{kind}_column"] for kind in kinds]
    table = read_named_table(path, names, *(options[name] for name in _LAYOUT))
    choice, told = _choice(table, options)
    dataset = make_dataset(table, choice)
    notes, other = table.notes + told + dataset.notes, None
    rates = options["validation_rate"], options["test_rate"]
    _require_shares(*rates, options["split_seed"])
    if validation is None:
        split = split_dataset(dataset, rates[0], options["split_seed"], rates[1])
        data, found = split.training_data(dataset), split.notes
    else:
        layout = [options[f"validation_{name}"] for name in _LAYOUT]
        if layout[-1] is None:  # both files name their columns, or neither does
            layout[-1] = table.has_header
        other = read_named_table(validation, (), *layout)
        judged = make_dataset(other, choice, dataset.label_names)
        # Before there were three parts, that table also chose the epoch.
        rate = rates[0] if rates[1] else 0.0
        split, warnings = split_beside_test(
            dataset, judged, rate, options["split_seed"]
        )
        data, found = split.training_data(dataset, judged), split.notes + warnings
        notes += judged.notes
    origin = origin_of(table, choice, other, rates[0], options["split_seed"], rates[1])
    data = dataclasses.replace(data, origin=origin)
    return CommandRows(dataset, data, notes + found)


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
    if text is None or label is None:
        guess = guess_columns(table)
        pair = pair or (guess.pair if text is None else None)
        text, label = text or guess.text, label or guess.label
    told: tuple[Note, ...] = ()
    if is_regression is None:
        kind = kind_of_column(profile_columns(table), label, table.num_rows)
        is_regression = kind is not None and kind.is_regression
        if kind is not None and kind.is_open:
            told = (kind.reason, _way_out(is_regression))
    return ColumnChoice(text, label, pair, is_regression), told


def _require_shares(validation: float, test: float, seed: int) -> None:
    """Refuses shares that leave nothing to learn from; 0 to test on is of old recipes.

    Raises:
        DatasetError: see there.
    """
    if not (0 < validation < 1 and 0 <= test < 1 and validation + test < 1):
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
