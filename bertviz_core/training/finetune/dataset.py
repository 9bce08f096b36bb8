"""Rows to learn from: texts, what each is to become, and where they came from.

A table becomes a dataset: what each of its rows teaches, or why it cannot.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.trace import FrozenArrays
from bertviz_core.training.finetune.columns import ColumnChoice, is_absent
from bertviz_core.training.finetune.labels import (
    LeftOut,
    read_classes,
    read_numbers,
    spelled_otherwise,
)
from bertviz_core.training.finetune.notes import Note, excerpt, row_note
from bertviz_core.training.finetune.table import Table


@dataclass(frozen=True)
class Examples(FrozenArrays):
    """Some rows of a table."""

    texts: tuple[str, ...]  # R texts
    pairs: tuple[str, ...] | None  # R second texts; `None` for one text a row
    targets: np.ndarray  # int32 [R], index of the class; or float32 [R], numbers
    rows: np.ndarray  # int [R], where each row stands in its file, for messages

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, indices: np.ndarray) -> Self:
        """Some rows, in this order, any of them more than once; int `[S]`."""
        chosen = [int(index) for index in indices]
        pairs = self.pairs
        return dataclasses.replace(
            self,
            texts=tuple(self.texts[index] for index in chosen),
            pairs=None if pairs is None else tuple(pairs[index] for index in chosen),
            targets=self.targets[chosen],
            rows=self.rows[chosen],
        )

    def spread(self, count: int) -> Self:
        """At most so many rows, from all of them: the first may be unlike the rest."""
        most = min(len(self), count)
        return self.select(np.linspace(0, len(self) - 1, most).astype("int64"))

    @property
    def joined(self) -> list[str]:
        """One string a row: the text, or both texts on lines of their own."""
        if self.pairs is None:
            return list(self.texts)
        both = zip(self.texts, self.pairs, strict=True)
        return [f"{text}\n{pair}" for text, pair in both]


@dataclass(frozen=True)
class Dataset(Examples):
    """The labelled texts of a table."""

    label_names: tuple[str, ...]  # names of the C classes by index; empty for numbers
    notes: tuple[Note, ...] = ()  # what was left out and why, and what is in doubt
    label_column: str = ""  # name of the label's column
    warnings: tuple[Note, ...] = ()  # those of `notes` on labels perhaps misread

    @property
    def is_regression(self) -> bool:
        return not self.label_names

    @property
    def counts(self) -> np.ndarray:
        """Rows of each class, int `[C]`."""
        return np.bincount(self.targets, minlength=len(self.label_names))


@dataclass(frozen=True)
class TrainingData:
    """What a run learns from, chooses its epoch by, and is tested on."""

    train: Examples  # rows to learn from
    # To choose the best epoch; none where they would be too few, and all epochs run.
    validation: Examples
    test: Examples  # rows that the report is of
    labels: tuple[str, ...]  # class names; for numbers the one of what is predicted
    is_regression: bool = False  # whether targets are numbers
    # Equal rows are equal wherever they lay.
    # The table that the rows came from, where they came from one.
    origin: DataOrigin | None = field(default=None, compare=False)

    @property
    def has_pairs(self) -> bool:
        return self.train.pairs is not None

    def fingerprint(self) -> str:
        """SHA-256 of all rows in their order, 64 hexadecimal digits."""
        digest = hashlib.sha256(json.dumps(self.labels).encode())
        for part in (self.train, self.validation, self.test):
            digest.update(json.dumps([part.texts, part.pairs]).encode())
            kind = "float32" if self.is_regression else "int32"
            digest.update(np.asarray(part.targets, kind).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class DataOrigin:
    """A table, what was taken from it, and how its rows were divided."""

    table_sha256: str  # of the file's bytes, in hexadecimal
    encoding: str  # that it was read with
    separator: str  # likewise
    has_header: bool  # whether its first row names the columns
    text_column: str
    label_column: str
    pair_column: str | None = None  # name of the column with second texts, or `None`
    is_regression: bool = False  # whether the label is a number to predict
    validation_sha256: str | None = None  # of the file to test on, if there is one
    # As of the table; `None` without such a file, or where a recipe does not say.
    validation_encoding: str | None = None
    validation_separator: str | None = None
    validation_has_header: bool | None = None
    validation_rate: float = 0.2  # share of the rows that chose the epoch
    split_seed: int = 1  # of the draws
    test_rate: float = 0.2  # share of the rows that were tested on


def make_dataset(
    table: Table, choice: ColumnChoice, label_names: Sequence[str] | None = None
) -> Dataset:
    """Takes texts and labels from the chosen columns, which a user may have chosen.

    Rows without a text or a label are left out and reported. Classes are sorted,
    numbers by their value; equal numbers are one class where all are numbers. A table
    to test on has the `label_names` of the training data; `()` for numbers.

    Raises:
        DatasetError: a column twice, no row that is whole, one class, too many classes,
            a class that training does not know, a label that should be a number and is
            none, or one too large.
    """
    _require_different(choice)
    texts, labels = table.stripped(choice.text), table.stripped(choice.label)
    pairs = None if choice.pair is None else table.stripped(choice.pair)
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
        targets=values,
        rows=numbers,
        label_names=names,
        notes=notes + warnings,
        label_column=choice.label,
        warnings=warnings,
    )


def _spaces_around(
    written: Sequence[str], labels: Sequence[str], row_numbers: np.ndarray
) -> tuple[Note, ...]:
    """Says which labels are written with spaces around them and without."""
    spaced = spelled_otherwise(written, labels)
    return row_note(
        "Spaces around a label make no other class of it: {names}. Rows with such "
        "spaces: {rows} ({count} in all).",
        row_numbers[spaced],
        names=excerpt(", ".join(dict.fromkeys(labels[i] for i in spaced))),
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
    without_label = np.flatnonzero(has_text & ~has_label).tolist()
    # "NA" may be Namibia: who means a class by it must read that it was taken for none.
    words = {index: labels[index] for index in without_label if labels[index]}
    told = tuple(dict.fromkeys(words.values()))
    notes = (
        *row_note(
            "Rows without a text are left out: {rows} ({count} in all).",
            row_numbers[~has_text],
        ),
        *row_note(
            "Rows without a label are left out: {rows} ({count} in all).",
            row_numbers[[index for index in without_label if index not in words]],
        ),
        *row_note(
            "Rows are left out because their label “{words}” stands for no label: "
            "{rows} ({count} in all). If it is a class, write it in another way.",
            row_numbers[list(words)],
            words=excerpt(" / ".join(told)),
        ),
    )
    left = LeftOut(tuple(row_numbers[~(has_text & has_label)].tolist()), told)
    return np.flatnonzero(has_text & has_label), left, notes
