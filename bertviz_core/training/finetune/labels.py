"""Labels as written to what a training learns: names of classes, or numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.numbers import (
    is_grouped,
    is_number,
    may_be_thousands,
    number_text,
    parse_number,
)
from bertviz_core.training.finetune.notes import Note, excerpt, list_rows, row_note

MAX_CLASSES = 200
# Of the name of a class, which stands in tables, figures, links and files.
MAX_NAME_CHARS = 200
# Two on each side of a split is the least that shows anything.
MIN_ROWS = 8
# Larger numbers, or their squares, are infinite in the arithmetic of a training.
MAX_NUMBER = 1e30
# What pandas makes of a column of whole numbers with a gap in it.
_WHOLE_WITH_DECIMALS = re.compile(r"([+-]?\d+)\.0*", re.ASCII)
_WHOLE_PART = re.compile(r"[+-]?(\d*)", re.ASCII)
# A number, and its whole part where that is written like a code.
_Number = tuple[Decimal, str]


@dataclass(frozen=True)
class LeftOut:
    """Rows that lack something, which a refusal of the rest must not conceal."""

    rows: tuple[int, ...] = ()  # their numbers, ascending
    words: tuple[str, ...] = ()  # what stands for no label, such as "NA", or nothing


def read_numbers(
    labels: Sequence[str], row_numbers: np.ndarray, left: LeftOut, is_training: bool
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Labels as numbers to learn or to judge by, float32 `[R]`.

    Decimals that may be thousands bring a warning.

    Raises:
        DatasetError: no number, one too large, or nothing to learn.
    """
    values = [parse_number(label) for label in labels]
    _refuse_grouped(labels, row_numbers)
    wrong = [index for index, value in enumerate(values) if value is None]
    if wrong:
        raise DatasetError(
            "A label should be a number and is none. Received: “{value}” in rows "
            "{rows}, {count} rows in all. Mend them, or treat the label as a class.",
            **_told(labels, row_numbers, wrong),
        )
    large = [i for i, value in enumerate(values) if abs(value or 0.0) > MAX_NUMBER]
    if large:
        raise DatasetError(
            "A label is too large a number to learn. Received: “{value}” in rows "
            "{rows}, {count} rows in all; the limit is {limit}. Mend them, or treat "
            "the label as a class.",
            **_told(labels, row_numbers, large),
            limit=f"{MAX_NUMBER:g}",
        )
    if is_training:
        if len(set(values)) < 2:
            raise _same_label(labels[0], len(labels), left)
        _require_rows(len(values), left)
    return np.array(values, "float32"), _doubt_decimals(labels, row_numbers)


def read_classes(
    labels: Sequence[str],
    row_numbers: np.ndarray,
    left: LeftOut,
    column: str,
    known: Sequence[str] | None,
) -> tuple[np.ndarray, tuple[str, ...], tuple[Note, ...]]:
    """Labels as classes, `known` where these rows are to judge by.

    Returns:
        int32 `[R]`, the names of the classes by index, and what was joined.

    Raises:
        DatasetError: one class, too many, one that training does not know, or a name
            that is too long.
    """
    joined: tuple[Note, ...] = ()
    if known is None:
        names = class_names(labels)
        num_classes = len(set(names))
        if num_classes > MAX_CLASSES or num_classes == len(names) > 2:
            _refuse_grouped(labels, row_numbers)
        _require_classes(names, left, column)
        _require_short(names, row_numbers)
        joined = _tell_joined(labels, names, row_numbers)
        order = tuple(sorted(set(names), key=_by_value))
    else:
        names, order = _known_names(labels, known), tuple(known)
    ids = {name: index for index, name in enumerate(order)}
    wrong = [index for index, name in enumerate(names) if name not in ids]
    if wrong:
        raise DatasetError(
            "The test file has a class that the training data lacks. "
            "Received: “{value}” in rows {rows}. Known: {known}.",
            value=excerpt(names[wrong[0]]),
            rows=list_rows(row_numbers[wrong]),
            known=", ".join(order)[:200],
        )
    return np.array([ids[name] for name in names], "int32"), order, joined


def class_names(labels: Sequence[str]) -> list[str]:
    """The labels; equal numbers are one class where all are numbers.

    Its name is the shorter spelling, "1" for "1.0" and ".5" for "0.50", and "1" for
    "1.0" also alone where all are whole. "007" is a code, and not "7".
    """
    spellings: dict[str, _Number] = {}
    for label in set(labels):
        number = _number(label)
        if number is None:
            return list(labels)
        spellings[label] = number
    shortest = _shortest(spellings)
    names = {label: shortest[number] for label, number in spellings.items()}
    if all(value == value.to_integral_value() for value, _ in spellings.values()):
        for label, name in names.items():
            if match := _WHOLE_WITH_DECIMALS.fullmatch(name):
                names[label] = match[1]
    return [names[label] for label in labels]


def _known_names(labels: Sequence[str], known: Sequence[str]) -> list[str]:
    """The labels, each as training spelled it where it is the same number."""
    numbers = {name: _number(name) for name in known}
    spelled = _shortest({name: number for name, number in numbers.items() if number})
    names = {name: name for name in known}
    for label in set(labels).difference(known):
        number = _number(label)
        names[label] = label if number is None else spelled.get(number, label)
    return [names[label] for label in labels]


def spelled_otherwise(labels: Sequence[str], names: Sequence[str]) -> list[int]:
    """Where a label is not its name, which another row spells another way."""
    spellings: dict[str, set[str]] = {}
    for label, name in zip(labels, names, strict=True):
        spellings.setdefault(name, set()).add(label)
    return [
        index
        for index, (label, name) in enumerate(zip(labels, names, strict=True))
        if label != name and len(spellings[name]) > 1
    ]


def _tell_joined(
    labels: Sequence[str], names: Sequence[str], row_numbers: np.ndarray
) -> tuple[Note, ...]:
    """Says which spellings have become one class; nothing where none have."""
    others = spelled_otherwise(labels, names)
    pairs = dict.fromkeys(f"{labels[index]} = {names[index]}" for index in others)
    return row_note(
        "Labels that are the same number are one class, named by the shorter spelling: "
        "{pairs}. Rows with another spelling: {rows} ({count} in all). If they are "
        "different classes, write them as words.",
        row_numbers[others],
        pairs=excerpt("; ".join(pairs)),
    )


def _by_value(name: str) -> tuple[float, str]:
    """Sorts numbers by their value, and names after them."""
    value = parse_number(name)
    return (float("inf") if value is None else value, name)


def _number(label: str) -> _Number | None:
    """Exact: two codes of 16 digits may be one float."""
    if parse_number(label) is None:
        return None
    text = label.strip().replace(",", ".")
    whole = _WHOLE_PART.match(text)
    digits = whole[1] if whole else ""
    is_code = len(digits) > 1 and digits.startswith("0")
    return Decimal(text), digits if is_code else ""


def _shortest(spellings: dict[str, _Number]) -> dict[_Number, str]:
    """The shortest spelling of each number, one without an exponent if there is."""

    def plainest(text: str) -> tuple[bool, int, str]:
        return "e" in text.lower(), len(text), text

    found: dict[_Number, str] = {}
    for label in sorted(spellings, key=plainest):
        found.setdefault(spellings[label], label)
    return found


def _told(
    labels: Sequence[str], row_numbers: np.ndarray, indices: list[int]
) -> dict[str, str | int]:
    """What a message says of some labels: the first one, their rows, how many."""
    return {
        "value": excerpt(labels[indices[0]]),
        "rows": list_rows(row_numbers[indices]),
        "count": len(indices),
    }


def _refuse_grouped(labels: Sequence[str], row_numbers: np.ndarray) -> None:
    """Refuses numbers whose mark may stand for thousands, where all are numbers."""
    grouped = [index for index, label in enumerate(labels) if is_grouped(label)]
    num_numbers = sum(map(is_number, labels))
    if not grouped or len(grouped) + num_numbers < len(labels):
        return
    raise DatasetError(
        "The labels are numbers with a mark that may stand for thousands or for "
        "decimals. Received: “{value}” in rows {rows}, {count} rows in all. Write "
        "thousands without a mark, as 1000, and decimals with a point, as 1.5.",
        **_told(labels, row_numbers, grouped),
    )


def _doubt_decimals(labels: Sequence[str], row_numbers: np.ndarray) -> tuple[Note, ...]:
    doubtful = may_be_thousands(labels)
    if not doubtful:
        return ()
    first = labels[doubtful[0]]
    return row_note(
        "Every decimal label has exactly three digits after its point, which may stand "
        "for thousands: “{value}” is read as {read}. Rows: {rows} ({count} in all). If "
        "thousands are meant, write them without a mark.",
        row_numbers[doubtful],
        value=excerpt(first),
        read=number_text(parse_number(first) or 0.0),
    )


def _same_label(label: str, num_rows: int, left: LeftOut) -> DatasetError:
    if left.rows:
        return DatasetError(
            "All rows that have a label have the same one, so there is nothing to "
            "learn. Received: “{value}” in {count} rows; {left} more are left out, for "
            "they lack a text or have “{words}” for a label, which stands for none: "
            "{rows}. Choose another label column, or write other labels there.",
            value=excerpt(label),
            count=num_rows,
            left=len(left.rows),
            words=excerpt(" / ".join(left.words)),
            rows=list_rows(left.rows),
        )
    return DatasetError(
        "All rows have the same label, so there is nothing to learn. Received: "
        "“{value}” in all {count} rows. Choose another label column.",
        value=excerpt(label),
        count=num_rows,
    )


def _require_classes(names: Sequence[str], left: LeftOut, column: str) -> None:
    num_classes, num_rows = len(set(names)), len(names)
    if num_classes == 1:
        raise _same_label(names[0], num_rows, left)
    if num_classes == num_rows and num_rows > 2:
        raise DatasetError(
            "Every row has a label of its own, so no class can be learned. "
            "Received: {count} values in the column {column}. Choose another column; "
            "if the values are numbers, predict the number.",
            count=num_classes,
            column=column,
        )
    if num_classes > MAX_CLASSES:
        raise DatasetError(
            "The label has too many classes. Received: {count} in the column "
            "{column}; the limit is {limit}. Choose another column; if the values "
            "are numbers, predict the number.",
            count=num_classes,
            column=column,
            limit=MAX_CLASSES,
        )
    _require_rows(num_rows, left)


def _require_short(names: Sequence[str], row_numbers: np.ndarray) -> None:
    long = [i for i, name in enumerate(names) if len(name) > MAX_NAME_CHARS]
    if long:
        raise DatasetError(
            "A label is too long for the name of a class. Received: “{value}”, {size} "
            "characters; rows with such labels: {rows}, {count} in all; the limit is "
            "{limit} characters. Choose another label column, or shorten these labels.",
            **_told(names, row_numbers, long),
            size=len(names[long[0]]),
            limit=MAX_NAME_CHARS,
        )


def _require_rows(num_rows: int, left: LeftOut) -> None:
    if num_rows >= MIN_ROWS:
        return
    if left.rows:
        raise DatasetError(
            "There are too few rows to train and to check. Received: {count}, for "
            "{left} more are left out that lack a text or a label: {rows}; at least "
            "{least} are needed. Fill them in, or add rows.",
            count=num_rows,
            left=len(left.rows),
            rows=list_rows(left.rows),
            least=MIN_ROWS,
        )
    raise DatasetError(
        "There are too few rows to train and to check. Received: {count}; at "
        "least {least} are needed. Add rows.",
        count=num_rows,
        least=MIN_ROWS,
    )
