"""From a table to labelled texts: what each row teaches, or why it cannot."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.columns import ColumnChoice, is_absent
from bertviz_core.finetune.examples import Examples
from bertviz_core.finetune.labels import (
    LeftOut,
    read_classes,
    read_numbers,
    spelled_otherwise,
)
from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.finetune.table import Table
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class Dataset(FrozenArrays):
    """Labelled texts.

    Args:
        texts: R texts, without space around them.
        pairs: R second texts, or `None`.
        labels: int32 `[R]`, index of the class; or float32 `[R]`, a number.
        label_names: names of the C classes by index; empty for numbers.
        row_numbers: int `[R]`, of the file, from 1.
        notes: which rows of the table were left out and why, and what is in doubt.
        label_column: name of the label's column.
        warnings: those of `notes` that mean labels which may have been misread.
    """

    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    labels: np.ndarray
    label_names: tuple[str, ...]
    row_numbers: np.ndarray
    notes: tuple[Note, ...] = ()
    label_column: str = ""
    warnings: tuple[Note, ...] = ()

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
    numbers by their value; equal numbers are one class where all are numbers.

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
    texts, labels = _stripped(table, choice.text), _stripped(table, choice.label)
    pairs = None if choice.pair is None else _stripped(table, choice.pair)
    kept, left, notes = _whole_rows(texts, pairs, labels, table.row_numbers)
    if len(kept) == 0:
        raise DatasetError(
            "No row has both a text and a label. Received: {num_rows} rows in the "
            "columns {text} and {label}. Choose other columns, or fill them in.",
            num_rows=table.num_rows,
            text=choice.text,
            label=choice.label,
        )
    numbers, found = table.row_numbers[kept], [labels[index] for index in kept]
    names: tuple[str, ...] = ()
    warnings: tuple[Note, ...] = ()
    if choice.is_regression:
        is_training = label_names is None
        values, warnings = read_numbers(found, numbers, left, is_training)
    else:
        values, names, joined = read_classes(
            found, numbers, left, choice.label, label_names
        )
        notes += _spaces_around(table.column(choice.label)[kept], found, numbers)
        notes += joined
    return Dataset(
        texts=tuple(texts[index] for index in kept),
        pairs=None if pairs is None else tuple(pairs[index] for index in kept),
        labels=values,
        label_names=names,
        row_numbers=numbers,
        notes=notes + warnings,
        label_column=choice.label,
        warnings=warnings,
    )


def _stripped(table: Table, column: str) -> list[str]:
    return [cell.strip() for cell in table.column(column)]


def _spaces_around(
    written: Sequence[str], labels: Sequence[str], row_numbers: np.ndarray
) -> tuple[Note, ...]:
    """Says which labels are written with spaces around them and without."""
    spaced = spelled_otherwise(written, labels)
    if not spaced:
        return ()
    return (
        note(
            "Spaces around a label make no other class of it: {names}. Rows with such "
            "spaces: {rows} ({count} in all).",
            names=excerpt(", ".join(dict.fromkeys(labels[i] for i in spaced))),
            rows=list_rows(row_numbers[spaced]),
            count=len(spaced),
        ),
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
) -> tuple[np.ndarray, LeftOut, tuple[Note, ...]]:
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
    without_label = np.flatnonzero(has_text & ~has_label).tolist()
    # "NA" may be Namibia: who means a class by it must read that it was taken for none.
    words = {index: labels[index] for index in without_label if labels[index]}
    notes += _without_label(row_numbers, without_label, words)
    left = LeftOut(
        rows=tuple(row_numbers[~(has_text & has_label)].tolist()),
        unlabelled=tuple(row_numbers[without_label].tolist()),
        words=tuple(dict.fromkeys(words.values())),
    )
    return np.flatnonzero(has_text & has_label), left, notes


def _without_label(
    row_numbers: np.ndarray, without_label: list[int], words: dict[int, str]
) -> tuple[Note, ...]:
    notes: tuple[Note, ...] = ()
    blank = [index for index in without_label if index not in words]
    if blank:
        notes += (
            note(
                "Rows without a label are left out: {rows} ({count} in all).",
                count=len(blank),
                rows=list_rows(row_numbers[blank]),
            ),
        )
    if words:
        notes += (
            note(
                "Rows are left out because their label “{words}” stands for no "
                "label: {rows} ({count} in all). If it is a class, write it in "
                "another way.",
                count=len(words),
                rows=list_rows(row_numbers[list(words)]),
                words=excerpt(" / ".join(dict.fromkeys(words.values()))),
            ),
        )
    return notes
