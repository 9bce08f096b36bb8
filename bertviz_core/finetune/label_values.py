"""Labels as written to what a training learns: classes or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.class_names import (
    by_value,
    class_names,
    known_names,
    tell_joined,
)
from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.numbers import (
    is_grouped,
    is_number,
    may_be_thousands,
    number_text,
    parse_number,
)

MAX_CLASSES = 200
# Of the name of a class, which stands in tables, figures, links and files.
MAX_NAME_CHARS = 200
# Two on each side of a split is the least that shows anything.
MIN_ROWS = 8
# Larger numbers, or their squares, are infinite in the arithmetic of a training.
MAX_NUMBER = 1e30


@dataclass(frozen=True)
class LeftOut:
    """Rows that lack something, which a refusal of the rest must not conceal.

    Args:
        rows: their numbers, ascending.
        unlabelled: those of them that lack the label alone.
        words: what stands there for no label, such as "NA"; none where it is blank.
    """

    rows: tuple[int, ...] = ()
    unlabelled: tuple[int, ...] = ()
    words: tuple[str, ...] = ()


def read_numbers(
    labels: Sequence[str], row_numbers: np.ndarray, left: LeftOut, is_training: bool
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Labels as numbers to predict.

    Args:
        labels: R cells.
        row_numbers: int `[R]`.
        left: what was left out before.
        is_training: the rows are to be learned from, not to judge by.

    Returns:
        float32 `[R]`, and a warning where decimals may be thousands.

    Raises:
        DatasetError: no number, one too large, or nothing to learn.
    """
    values = [parse_number(label) for label in labels]
    wrong = [index for index, value in enumerate(values) if value is None]
    _refuse_grouped(labels, row_numbers)
    if wrong:
        raise DatasetError(
            "A label should be a number and is none. Received: “{value}” in rows "
            "{rows}, {count} rows in all. Mend them, or treat the label as a class.",
            value=excerpt(labels[wrong[0]]),
            rows=list_rows(row_numbers[wrong]),
            count=len(wrong),
        )
    large = [i for i, value in enumerate(values) if abs(value or 0.0) > MAX_NUMBER]
    if large:
        raise DatasetError(
            "A label is too large a number to learn. Received: “{value}” in rows "
            "{rows}, {count} rows in all; the limit is {limit}. Mend them, or treat "
            "the label as a class.",
            value=excerpt(labels[large[0]]),
            rows=list_rows(row_numbers[large]),
            count=len(large),
            limit=f"{MAX_NUMBER:g}",
        )
    if is_training and len(set(values)) < 2:
        raise _same_number(labels, left)
    if is_training:
        _require_rows(len(values), left)
    return np.array(values, "float32"), _doubt_decimals(labels, row_numbers)


def read_classes(
    labels: Sequence[str],
    row_numbers: np.ndarray,
    left: LeftOut,
    column: str,
    known: Sequence[str] | None,
) -> tuple[np.ndarray, tuple[str, ...], tuple[Note, ...]]:
    """Labels as classes.

    Args:
        labels: R cells.
        row_numbers: int `[R]`.
        left: what was left out before.
        column: name of the label's column.
        known: classes of the training data, where these rows are to judge by.

    Returns:
        int32 `[R]`, the names of the classes by index, and what was joined.

    Raises:
        DatasetError: one class, too many, one that training does not know, or a
            name that is too long.
    """
    names = class_names(labels) if known is None else known_names(labels, known)
    if known is None:
        num_classes = len(set(names))
        if num_classes > MAX_CLASSES or num_classes == len(names) > 2:
            _refuse_grouped(labels, row_numbers)
        _require_classes(names, left, column)
        _require_short(names, row_numbers)
    order = tuple(sorted(set(names), key=by_value)) if known is None else tuple(known)
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
    joined = tell_joined(labels, names, row_numbers) if known is None else ()
    return np.array([ids[name] for name in names], "int32"), order, joined


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
        value=excerpt(labels[grouped[0]]),
        rows=list_rows(row_numbers[grouped]),
        count=len(grouped),
    )


def _doubt_decimals(labels: Sequence[str], row_numbers: np.ndarray) -> tuple[Note, ...]:
    doubtful = may_be_thousands(labels)
    if not doubtful:
        return ()
    first = labels[doubtful[0]]
    return (
        note(
            "Every decimal label has exactly three digits after its point, which may "
            "stand for thousands: “{value}” is read as {read}. Rows: {rows} "
            "({count} in all). If thousands are meant, write them without a mark.",
            value=excerpt(first),
            read=number_text(parse_number(first) or 0.0),
            rows=list_rows(row_numbers[doubtful]),
            count=len(doubtful),
        ),
    )


def _same_number(labels: Sequence[str], left: LeftOut) -> DatasetError:
    if left.rows:
        return DatasetError(
            "All labels are the same number, so there is nothing to learn. "
            "Received: {value} in all {count} rows; {left} more are left out, for "
            "they lack a text or a label: {rows}. Choose another label column.",
            value=labels[0],
            count=len(labels),
            left=len(left.rows),
            rows=list_rows(left.rows),
        )
    return DatasetError(
        "All labels are the same number, so there is nothing to learn. "
        "Received: {value} in all {count} rows. Choose another label column.",
        value=labels[0],
        count=len(labels),
    )


def _same_class(name: str, num_rows: int, left: LeftOut) -> DatasetError:
    if left.words:
        return DatasetError(
            "All rows that have a label have the same one, so there is nothing to "
            "learn. Received: “{value}” in {count} rows; {left} more are left out, "
            "as “{words}” stands for no label: {rows}. Choose another label column, "
            "or write these labels in another way.",
            value=excerpt(name),
            count=num_rows,
            left=len(left.unlabelled),
            words=excerpt(" / ".join(left.words)),
            rows=list_rows(left.unlabelled),
        )
    if left.rows:
        return DatasetError(
            "All rows that have a label have the same one, so there is nothing to "
            "learn. Received: “{value}” in {count} rows; {left} more are left out, "
            "for they lack a text or a label: {rows}. Choose another label column, "
            "or fill them in.",
            value=excerpt(name),
            count=num_rows,
            left=len(left.rows),
            rows=list_rows(left.rows),
        )
    return DatasetError(
        "All rows have the same label, so there is nothing to learn. Received: "
        "“{value}” in all {count} rows. Choose another label column.",
        value=excerpt(name),
        count=num_rows,
    )


def _require_classes(names: Sequence[str], left: LeftOut, column: str) -> None:
    num_classes, num_rows = len(set(names)), len(names)
    if num_classes == 1:
        raise _same_class(names[0], num_rows, left)
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
            value=excerpt(names[long[0]]),
            size=len(names[long[0]]),
            rows=list_rows(row_numbers[long]),
            count=len(long),
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
