"""From a table to labelled texts: what each row teaches, or why it cannot."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.class_names import by_value, class_names, known_names
from bertviz_core.finetune.columns import ColumnChoice, is_absent
from bertviz_core.finetune.examples import Examples
from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.finetune.numbers import parse_number
from bertviz_core.finetune.table import Table
from bertviz_core.trace import FrozenArrays

MAX_CLASSES = 200
# Two on each side of a split is the least that shows anything.
MIN_ROWS = 8
# Larger numbers, or their squares, are infinite in the arithmetic of a training.
MAX_NUMBER = 1e30


@dataclass(frozen=True)
class Dataset(FrozenArrays):
    """Labelled texts.

    Args:
        texts: R texts, without space around them.
        pairs: R second texts, or `None`.
        labels: int32 `[R]`, index of the class; or float32 `[R]`, a number.
        label_names: names of the C classes by index; empty for numbers.
        row_numbers: int `[R]`, of the file, from 1.
        notes: which rows of the table were left out, and why.
        label_column: name of the label's column.
    """

    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    labels: np.ndarray
    label_names: tuple[str, ...]
    row_numbers: np.ndarray
    notes: tuple[Note, ...] = ()
    label_column: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def is_regression(self) -> bool:
        """Whether labels are numbers to predict."""
        return not self.label_names

    @property
    def counts(self) -> np.ndarray:
        """Rows of each class, int `[C]`."""
        return np.bincount(self.labels, minlength=len(self.label_names))

    def select(self, indices: np.ndarray) -> Dataset:
        """Some rows, in this order.

        Args:
            indices: int `[S]`.
        """
        part = self.examples(indices)
        return dataclasses.replace(
            self,
            texts=part.texts,
            pairs=part.pairs,
            labels=part.targets,
            row_numbers=part.rows,
        )

    def examples(self, indices: np.ndarray) -> Examples:
        """Some rows, in this order, as training takes them."""
        whole = Examples(self.texts, self.pairs, self.labels, self.row_numbers)
        return whole.select(indices)


def make_dataset(
    table: Table, choice: ColumnChoice, label_names: Sequence[str] | None = None
) -> Dataset:
    """Takes texts and labels from the chosen columns.

    Rows without a text or a label are left out and reported. Classes are sorted,
    numbers by their value; "1" and "1.0" are one class where all are numbers.

    Args:
        table: see `read_table`.
        choice: see `guess_columns`; may be the user's own.
        label_names: of the training data, when this is a validation file; `()`
            for numbers.

    Raises:
        DatasetError: a column twice, no row that is whole, one class, too many
            classes, a class that training does not know, a label that should be
            a number and is none, or one too large.
    """
    _require_different(choice)
    texts = [cell.strip() for cell in table.column(choice.text)]
    labels = [cell.strip() for cell in table.column(choice.label)]
    pairs = None
    if choice.pair is not None:
        pairs = [cell.strip() for cell in table.column(choice.pair)]
    kept, notes = _whole_rows(texts, pairs, labels, table.row_numbers)
    if len(kept) == 0:
        raise DatasetError(
            "No row has both a text and a label. Received: {num_rows} rows in the "
            "columns {text} and {label}. Choose other columns, or fill them in.",
            num_rows=table.num_rows,
            text=choice.text,
            label=choice.label,
        )
    numbers = table.row_numbers[kept]
    found = [labels[index] for index in kept]
    names: tuple[str, ...] = ()
    if choice.is_regression:
        values = _numbers(found, numbers, is_training=label_names is None)
    else:
        values, names = _classes(found, numbers, choice, label_names)
    return Dataset(
        texts=tuple(texts[index] for index in kept),
        pairs=None if pairs is None else tuple(pairs[index] for index in kept),
        labels=values,
        label_names=names,
        row_numbers=numbers,
        notes=notes,
        label_column=choice.label,
    )


def _require_different(choice: ColumnChoice) -> None:
    chosen = [name for name in (choice.text, choice.pair, choice.label) if name]
    for name, count in Counter(chosen).items():
        if count > 1:
            raise DatasetError(
                "The same column is chosen twice. Received: {column}. Choose "
                "different columns for texts and label.",
                column=name,
            )


def _whole_rows(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    labels: Sequence[str],
    row_numbers: np.ndarray,
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Indices of rows with all they need, and what was left out."""
    has_text = np.array([not is_absent(text) for text in texts])
    if pairs is not None:
        has_text &= np.array([not is_absent(pair) for pair in pairs])
    has_label = np.array([not is_absent(label) for label in labels])
    notes: tuple[Note, ...] = ()
    without_text = row_numbers[~has_text]
    if len(without_text):
        notes += (
            note(
                "Rows without a text are left out: {rows} ({count} in all).",
                count=len(without_text),
                rows=list_rows(without_text),
            ),
        )
    without_label = row_numbers[has_text & ~has_label]
    if len(without_label):
        notes += (
            note(
                "Rows without a label are left out: {rows} ({count} in all).",
                count=len(without_label),
                rows=list_rows(without_label),
            ),
        )
    return np.flatnonzero(has_text & has_label), notes


def _numbers(
    labels: Sequence[str], row_numbers: np.ndarray, is_training: bool
) -> np.ndarray:
    values = [parse_number(label) for label in labels]
    wrong = [index for index, value in enumerate(values) if value is None]
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
        raise DatasetError(
            "All labels are the same number, so there is nothing to learn. "
            "Received: {value} in all {count} rows. Choose another label column.",
            value=labels[0],
            count=len(labels),
        )
    if is_training:
        _require_rows(len(values))
    return np.array(values, "float32")


def _classes(
    labels: Sequence[str],
    row_numbers: np.ndarray,
    choice: ColumnChoice,
    known: Sequence[str] | None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    names = class_names(labels) if known is None else known_names(labels, known)
    if known is None:
        _require_classes(names, len(labels), choice)
    order = tuple(sorted(set(names), key=by_value)) if known is None else tuple(known)
    ids = {name: index for index, name in enumerate(order)}
    wrong = [index for index, name in enumerate(names) if name not in ids]
    if wrong:
        raise DatasetError(
            "The validation file has a class that the training data lacks. "
            "Received: “{value}” in rows {rows}. Known: {known}.",
            value=excerpt(names[wrong[0]]),
            rows=list_rows(row_numbers[wrong]),
            known=", ".join(order)[:200],
        )
    return np.array([ids[name] for name in names], "int32"), order


def _require_classes(names: Sequence[str], num_rows: int, choice: ColumnChoice) -> None:
    num_classes = len(set(names))
    if num_classes == 1:
        raise DatasetError(
            "All rows have the same label, so there is nothing to learn. Received: "
            "“{value}” in all {count} rows. Choose another label column.",
            value=excerpt(names[0]),
            count=num_rows,
        )
    if num_classes == num_rows and num_rows > 2:
        raise DatasetError(
            "Every row has a label of its own, so no class can be learned. "
            "Received: {count} values in the column {column}. Choose another column; "
            "if the values are numbers, predict the number.",
            count=num_classes,
            column=choice.label,
        )
    if num_classes > MAX_CLASSES:
        raise DatasetError(
            "The label has too many classes. Received: {count} in the column "
            "{column}; the limit is {limit}. Choose another column; if the values "
            "are numbers, predict the number.",
            count=num_classes,
            column=choice.label,
            limit=MAX_CLASSES,
        )
    _require_rows(num_rows)


def _require_rows(num_rows: int) -> None:
    if num_rows < MIN_ROWS:
        raise DatasetError(
            "There are too few rows to train and to check. Received: {count}; at "
            "least {least} are needed. Add rows.",
            count=num_rows,
            least=MIN_ROWS,
        )
