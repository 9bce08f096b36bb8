"""The columns of a table: what each holds, which is the text and which the label.

Guesses come with their reasons. Classes or numbers: a guess, too.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.numbers import parse_number
from bertviz_core.tasks import task
from bertviz_core.training.finetune.labels import class_names
from bertviz_core.training.finetune.notes import Note, note
from bertviz_core.training.finetune.table import (
    FIRST_OF_PAIR_NAMES,
    LABEL_NAMES,
    OTHER_NAMES,
    PAIR_NAMES,
    TEXT_NAMES,
    Table,
)

PREVIEW_ROWS = 10
# A cell of the preview; the table itself keeps all.
PREVIEW_CHARS = 300
# What spreadsheets and pandas write where a value is absent.
_ABSENT = frozenset({"", "nan", "na", "n/a", "#n/a", "null", "<na>"})
# A label column of words: no more classes than this are guessed to be one.
_MAX_GUESSED_CLASSES = 50
_DIGITS = re.compile(r"\d+", re.ASCII)
# Status codes, area codes and the like; years have four, and are amounts.
_CODE_DIGITS = 3
# Numbers with more values than a rating has are an amount.
_MAX_RATING_VALUES = 20
# More values may be codes, where these come as often as classes must to be learned.
_MAX_CODES, _ROWS_PER_CODE = 50, 10


@dataclass(frozen=True)
class ColumnChoice:
    """Which column is what."""

    text: str  # name of the text column
    label: str  # name of the label column
    pair: str | None = None  # name of the column with second texts, or `None`
    is_regression: bool = False  # the label is a number to predict, not a class
    # Not part of what is chosen: equal choices give equal rows.
    # Why these columns, where this is a guess; of the kind of label `guess_kind` tells.
    reasons: tuple[Note, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds."""

    name: str  # of the column
    num_absent: int  # cells without a value
    num_distinct: int  # of the rest; equal numbers are one where all are numbers
    num_numbers: int  # cells that are a number
    num_fractions: int  # cells that are a number, and not a whole one
    num_uneven: int  # those of them that are not a half, either
    is_coded: bool  # all cells are digits alone, three of them or with a 0 before
    mean_chars: float  # of the cells with a value

    @property
    def is_text(self) -> bool:
        """Whether it may hold texts: half of it are no numbers."""
        return not self.num_numbers or self.num_numbers < 0.5 * self.num_distinct


@dataclass(frozen=True)
class KindGuess:
    """What a label is taken for."""

    is_regression: bool  # a number to predict, not a class
    is_open: bool  # all values are numbers, so that the other kind is possible, too
    reason: Note  # why


@dataclass(frozen=True)
class TableView:
    """What a page needs of a table, however large it is."""

    # columns, num_rows, encoding, separator, has_header, notes, warnings: of the
    # `Table`.
    columns: tuple[str, ...]
    profiles: tuple[ColumnProfile, ...]  # what each column holds
    # The first `PREVIEW_ROWS`, of cells as written, `PREVIEW_CHARS` of each at most.
    preview: tuple[tuple[str, ...], ...]
    preview_rows: tuple[int, ...]  # their numbers, as in a spreadsheet program
    num_rows: int
    encoding: str
    separator: str
    has_header: bool
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]
    guess: ColumnChoice | None  # `None` where none is possible, see `guess_problem`
    guess_problem: DatasetError | None  # why there is no guess


@task()
def view_table(table: Table) -> TableView:
    """Describes a table."""
    guess, problem = None, None
    profiles = profile_columns(table)
    try:
        guess = guess_columns(table, profiles)
    except DatasetError as error:
        problem = error
    cells, numbers = table.cells[:PREVIEW_ROWS], table.row_numbers[:PREVIEW_ROWS]
    return TableView(
        columns=table.columns,
        profiles=profiles,
        preview=tuple(tuple(cell[:PREVIEW_CHARS] for cell in row) for row in cells),
        preview_rows=tuple(numbers.tolist()),
        num_rows=table.num_rows,
        encoding=table.encoding,
        separator=table.separator,
        has_header=table.has_header,
        notes=table.notes,
        warnings=table.warnings,
        guess=guess,
        guess_problem=problem,
    )


def is_absent(cell: str) -> bool:
    """Whether a cell holds no value: empty, blank, "NaN", "N/A", "null"."""
    return cell.strip().lower() in _ABSENT


def profile_columns(table: Table) -> tuple[ColumnProfile, ...]:
    """Looks at every column of a table, in its order."""
    return tuple(_profile(name, table.column(name)) for name in table.columns)


def _profile(name: str, column: np.ndarray) -> ColumnProfile:
    counts = Counter(cell.strip() for cell in column)
    values = {cell: count for cell, count in counts.items() if not is_absent(cell)}
    total = sum(values.values())
    num_chars = sum(len(cell) * count for cell, count in values.items())
    parsed = ((parse_number(cell), count) for cell, count in values.items())
    numbers = [(value, count) for value, count in parsed if value is not None]

    def num_off(step: float) -> int:
        return sum(count for value, count in numbers if value % step)

    return ColumnProfile(
        name=name,
        num_absent=len(column) - total,
        num_distinct=len(set(class_names(list(values)))),
        num_numbers=sum(count for _, count in numbers),
        num_fractions=num_off(1),
        num_uneven=num_off(0.5),
        is_coded=_is_coded(values),
        mean_chars=num_chars / total if total else 0.0,
    )


def _is_coded(cells: Collection[str]) -> bool:
    """Whether numbers are written as codes are: 404, or 0815."""
    if not all(map(_DIGITS.fullmatch, cells)):
        return False
    has_zero = any(len(cell) > 1 and cell.startswith("0") for cell in cells)
    return has_zero or all(len(cell) == _CODE_DIGITS for cell in cells)


def guess_columns(table: Table, profiles: Sequence[ColumnProfile] = ()) -> ColumnChoice:
    """Guesses text, second text and label; `DatasetError` without a text or a label."""
    if len(table.columns) < 2:
        raise DatasetError(
            "The table has one column, and training needs a text and a label. "
            "Received: {column}. Choose another separator, or add a column.",
            column=table.columns[0],
        )
    profiles = [p for p in profiles or profile_columns(table) if p.num_distinct]
    if len(profiles) < 2:
        raise DatasetError(
            "No two columns of the table have values. Received: {columns}. Fill in "
            "a text and a label in every row.",
            columns=", ".join(table.columns)[:200],
        )
    text, text_reason = _guess_text(profiles)
    others = [profile for profile in profiles if profile is not text]
    label, label_reason = _guess_label(others, table.num_rows)
    pair = _guess_pair(text, [p for p in others if p is not label and p.is_text])
    reasons = [text_reason, label_reason]
    if pair is not None:
        said = note(
            "“{column}” is the second text: its name says so.", column=pair.name
        )
        reasons.insert(1, said)
    return ColumnChoice(
        text=text.name,
        label=label.name,
        pair=pair.name if pair else None,
        is_regression=guess_kind(label, table.num_rows).is_regression,
        reasons=tuple(reasons),
    )


def _named(
    profiles: Sequence[ColumnProfile], names: Sequence[str]
) -> ColumnProfile | None:
    """The first column called by one of the names; earlier names count more."""
    by_name = {profile.name.lower(): profile for profile in reversed(profiles)}
    return next((by_name[name] for name in names if name in by_name), None)


def _guess_text(profiles: Sequence[ColumnProfile]) -> tuple[ColumnProfile, Note]:
    texts = [profile for profile in profiles if profile.is_text]
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
    text: ColumnProfile, others: Sequence[ColumnProfile]
) -> ColumnProfile | None:
    # Where the first column is called sentence1, a column of any such name is
    # second; "answer" and "context" alone may be anything.
    certain = [name for name in PAIR_NAMES if name not in ("answer", "context")]
    is_first = text.name.lower() in FIRST_OF_PAIR_NAMES
    return _named(others, PAIR_NAMES if is_first else certain)


def guess_kind(label: ColumnProfile, num_rows: int) -> KindGuess:
    """Guesses the kind of a label where nobody said it.

    Decimals are an amount, and so are numbers with more values than a rating has.
    Ratings, also by half stars, and codes are classes.
    """
    num_values, count = num_rows - label.num_absent, label.num_distinct
    if label.num_numbers < max(num_values, 1):
        reason = note("The label is a class: not all of its values are numbers.")
        return KindGuess(False, False, reason)
    has_many = count > _MAX_RATING_VALUES
    is_repeated = count <= _MAX_CODES and num_values >= _ROWS_PER_CODE * count
    if label.num_uneven:
        reason = note(
            "The label is a number to predict: {count} of its values have decimals "
            "other than .5.",
            count=label.num_uneven,
        )
        return KindGuess(True, True, reason)
    if has_many and label.is_coded and is_repeated:
        reason = note(
            "The label is a class: its {count} different numbers are written like "
            "codes, and come again and again.",
            count=count,
        )
        return KindGuess(False, True, reason)
    if has_many:
        reason = note(
            "The label is a number to predict: it has {count} different values.",
            count=count,
        )
    elif label.num_fractions:
        reason = note(
            "The label is a class: it has {count} different values in steps of a "
            "half, as ratings have.",
            count=count,
        )
    else:
        reason = note(
            "The label is a class: it has {count} whole numbers and no decimals.",
            count=count,
        )
    return KindGuess(has_many, True, reason)


def kind_of_column(
    profiles: Sequence[ColumnProfile], name: str, num_rows: int
) -> KindGuess | None:
    """`guess_kind` of a label by its name; `None` where there is no such column."""
    found = (guess_kind(one, num_rows) for one in profiles if one.name == name)
    return next(found, None)
