"""Which column is the text and which the label: a guess with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.notes import Note, note
from bertviz_core.finetune.numbers import parse_number
from bertviz_core.finetune.table import Table
from bertviz_core.finetune.table_layout import (
    FIRST_OF_PAIR_NAMES,
    LABEL_NAMES,
    OTHER_NAMES,
    PAIR_NAMES,
    TEXT_NAMES,
)

# A label column of words: no more classes than this are guessed to be one.
_MAX_GUESSED_CLASSES = 50
# Whole numbers with more values than a rating has are an amount.
_MAX_RATING_VALUES = 20
# What spreadsheets and pandas write where a value is absent.
_ABSENT = frozenset({"", "nan", "na", "n/a", "#n/a", "null", "<na>"})


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds.

    Args:
        name: of the column.
        num_absent: cells without a value.
        num_distinct: different values among the rest.
        num_numbers: cells that are a number.
        num_fractions: cells that are a number, and not a whole one.
        mean_chars: of the cells with a value.
        examples: the first three different values.
    """

    name: str
    num_absent: int
    num_distinct: int
    num_numbers: int
    num_fractions: int
    mean_chars: float
    examples: tuple[str, ...]


@dataclass(frozen=True)
class ColumnChoice:
    """Which column is what.

    Args:
        text: name of the text column.
        label: name of the label column.
        pair: name of the column with second texts, or `None`.
        is_regression: the label is a number to predict, not a class.
        reasons: why, where this is a guess.
    """

    text: str
    label: str
    pair: str | None = None
    is_regression: bool = False
    # Not part of what is chosen: equal choices give equal rows.
    reasons: tuple[Note, ...] = field(default=(), compare=False)


def is_absent(cell: str) -> bool:
    """Whether a cell holds no value: empty, blank, "NaN", "N/A", "null"."""
    return cell.strip().lower() in _ABSENT


def profile_columns(table: Table) -> tuple[ColumnProfile, ...]:
    """Looks at every column of a table, in its order."""
    return tuple(_profile(name, table.column(name)) for name in table.columns)


def guess_columns(table: Table) -> ColumnChoice:
    """Guesses text, second text and label from names and values.

    Raises:
        DatasetError: the table has one column, or no column with texts.
    """
    if len(table.columns) < 2:
        raise DatasetError(
            "The table has one column, and training needs a text and a label. "
            "Received: {column}. Choose another separator, or add a column.",
            column=table.columns[0],
        )
    profiles = [p for p in profile_columns(table) if p.num_distinct]
    if len(profiles) < 2:
        raise DatasetError(
            "No two columns of the table have values. Received: {columns}. Fill in "
            "a text and a label in every row.",
            columns=", ".join(table.columns)[:200],
        )
    text, text_reason = _guess_text(profiles)
    others = [profile for profile in profiles if profile is not text]
    label, label_reason = _guess_label(others, table.num_rows)
    others = [profile for profile in others if profile is not label]
    pair, pair_reasons = _guess_pair(text, others, table.num_rows)
    is_regression, kind_reason = _guess_kind(label, table.num_rows)
    return ColumnChoice(
        text=text.name,
        label=label.name,
        pair=pair.name if pair else None,
        is_regression=is_regression,
        reasons=(text_reason, *pair_reasons, label_reason, kind_reason),
    )


def _profile(name: str, column: np.ndarray) -> ColumnProfile:
    counts = Counter(cell.strip() for cell in column)
    values = {cell: count for cell, count in counts.items() if not is_absent(cell)}
    total = sum(values.values())
    num_chars = sum(len(cell) * count for cell, count in values.items())
    parsed = {cell: parse_number(cell) for cell in values}
    numbers = {cell: value for cell, value in parsed.items() if value is not None}
    return ColumnProfile(
        name=name,
        num_absent=len(column) - total,
        num_distinct=len(values),
        num_numbers=sum(values[cell] for cell in numbers),
        num_fractions=sum(
            values[cell] for cell, value in numbers.items() if value % 1 != 0
        ),
        mean_chars=num_chars / total if total else 0.0,
        examples=tuple(list(values)[:3]),
    )


def _named(
    profiles: Sequence[ColumnProfile], names: Sequence[str]
) -> ColumnProfile | None:
    """The first column called by one of the names; earlier names count more."""
    by_name = {profile.name.lower(): profile for profile in reversed(profiles)}
    return next((by_name[name] for name in names if name in by_name), None)


def _is_text(profile: ColumnProfile) -> bool:
    num_values = profile.num_distinct
    return profile.num_numbers == 0 or profile.num_numbers < 0.5 * num_values


def _guess_text(profiles: Sequence[ColumnProfile]) -> tuple[ColumnProfile, Note]:
    texts = [profile for profile in profiles if _is_text(profile)]
    named = _named(texts, (*FIRST_OF_PAIR_NAMES, *TEXT_NAMES))
    if named is not None:
        return named, note(
            "“{column}” is the text: its name says so.", column=named.name
        )
    if not texts:
        raise DatasetError(
            "No column of the table has texts: all is numbers. Received: {columns}. "
            "Add a column with texts.",
            columns=", ".join(profile.name for profile in profiles)[:200],
        )
    longest = max(texts, key=lambda profile: profile.mean_chars)
    return longest, note(
        "“{column}” is the text: its cells are the longest, {chars} characters "
        "on average.",
        column=longest.name,
        chars=round(longest.mean_chars),
    )


def _guess_label(
    others: Sequence[ColumnProfile], num_rows: int
) -> tuple[ColumnProfile, Note]:
    named = _named(others, LABEL_NAMES)
    if named is not None:
        return named, note(
            "“{column}” is the label: its name says so.", column=named.name
        )
    most = min(_MAX_GUESSED_CLASSES, max(2, num_rows // 4))
    unnamed = [other for other in others if other.name.lower() not in OTHER_NAMES]
    repeating = [other for other in unnamed if 2 <= other.num_distinct <= most]
    if repeating:
        fewest = min(repeating, key=lambda profile: profile.num_distinct)
        return fewest, note(
            "“{column}” is the label: it has only {count} different values.",
            column=fewest.name,
            count=fewest.num_distinct,
        )
    last = (unnamed or others)[-1]
    return last, note(
        "“{column}” is taken as the label: it is the last column that is left. "
        "Nothing else points to it.",
        column=last.name,
    )


def _guess_pair(
    text: ColumnProfile, others: Sequence[ColumnProfile], num_rows: int
) -> tuple[ColumnProfile | None, tuple[Note, ...]]:
    texts = [profile for profile in others if _is_text(profile)]
    # Where the first column is called sentence1, a column of any such name is
    # second; "answer" and "context" alone may be anything.
    certain = [name for name in PAIR_NAMES if name not in ("answer", "context")]
    is_first = text.name.lower() in FIRST_OF_PAIR_NAMES
    named = _named(texts, PAIR_NAMES if is_first else certain)
    if named is None:
        return None, ()
    return named, (
        note("“{column}” is the second text: its name says so.", column=named.name),
    )


def is_number_to_predict(profile: ColumnProfile, num_rows: int) -> bool:
    """Whether a label is a number to predict, where nobody said so: a guess.

    Decimals, and whole numbers with more values than a rating has, are an amount;
    all else is a class.

    Args:
        profile: of the label's column.
        num_rows: of the table.
    """
    if profile.num_numbers < num_rows - profile.num_absent:
        return False
    return bool(profile.num_fractions) or profile.num_distinct > _MAX_RATING_VALUES


def _guess_kind(label: ColumnProfile, num_rows: int) -> tuple[bool, Note]:
    if is_number_to_predict(label, num_rows):
        if label.num_fractions:
            return True, note(
                "The label is a number to predict: {count} of its values have "
                "decimals.",
                count=label.num_fractions,
            )
        return True, note(
            "The label is a number to predict: it has {count} different values.",
            count=label.num_distinct,
        )
    if label.num_numbers < num_rows - label.num_absent:
        return False, note(
            "The label is a class: not all of its values are numbers.",
        )
    return False, note(
        "The label is a class: it has {count} whole numbers and no decimals.",
        count=label.num_distinct,
    )
