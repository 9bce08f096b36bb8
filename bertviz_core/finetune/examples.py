"""Rows to learn from: texts, what each is to become, and where they came from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertviz_core.trace import FrozenArrays
from bertviz_core.training.settings import build


@dataclass(frozen=True)
class Examples(FrozenArrays):
    """Some rows of a table.

    Args:
        texts: R texts.
        pairs: R second texts, or `None` where there is one text a row.
        targets: int32 `[R]`, index of the class; or float32 `[R]`, a number to
            predict.
        rows: int `[R]`, where each row stands in its file, for messages.

    Raises:
        ValueError: the lengths differ.
    """

    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    targets: np.ndarray
    rows: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        lengths = {len(self.texts), len(self.targets), len(self.rows)}
        if self.pairs is not None:
            lengths.add(len(self.pairs))
        if len(lengths) > 1:
            raise ValueError(f"All fields must have R entries. Received: {lengths}.")

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, indices: np.ndarray) -> Examples:
        """Some rows, in this order, any of them more than once.

        Args:
            indices: int `[S]`.
        """
        chosen = [int(index) for index in indices]
        pairs = self.pairs
        return Examples(
            texts=tuple(self.texts[index] for index in chosen),
            pairs=None if pairs is None else tuple(pairs[index] for index in chosen),
            targets=self.targets[chosen],
            rows=self.rows[chosen],
        )

    @property
    def joined(self) -> list[str]:
        """One string a row: the text, or both texts on lines of their own."""
        if self.pairs is None:
            return list(self.texts)
        both = zip(self.texts, self.pairs, strict=True)
        return [f"{text}\n{pair}" for text, pair in both]


@dataclass(frozen=True)
class TrainingData:
    """What a run learns from, chooses its epoch by, and is tested on.

    Args:
        train: rows to learn from.
        validation: rows that choose the best epoch; none where they would be too few
            to choose by, and all epochs run.
        test: rows that the report is of. `None` takes those of validation, as
            trainings did before there were three parts.
        labels: class names by index; for numbers, the one name of what is
            predicted.
        is_regression: whether targets are numbers.
        origin: the table that the rows came from, where they came from one.
    """

    train: Examples
    validation: Examples
    labels: tuple[str, ...]
    is_regression: bool = False
    test: Examples = None  # type: ignore[assignment]
    # Equal rows are equal wherever they lay.
    origin: DataOrigin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.test is None:
            object.__setattr__(self, "test", self.validation)

    @property
    def has_pairs(self) -> bool:
        """Whether each row has two texts."""
        return self.train.pairs is not None

    def fingerprint(self) -> str:
        """SHA-256 of all rows in their order, 64 hexadecimal digits."""
        digest = hashlib.sha256(json.dumps(self.labels).encode())
        both = (self.train, self.validation)
        for part in both if self.test is self.validation else (*both, self.test):
            digest.update(json.dumps([part.texts, part.pairs]).encode())
            kind = "float32" if self.is_regression else "int32"
            digest.update(np.asarray(part.targets, kind).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class DataOrigin:
    """A table, what was taken from it, and how its rows were divided.

    Args:
        table_sha256: of the file's bytes, in hexadecimal.
        encoding, separator: that it was read with.
        has_header: whether its first row names the columns.
        text_column, label_column: names.
        pair_column: name of the column with second texts, or `None`.
        is_regression: whether the label is a number to predict.
        validation_sha256: of a file to test on; `None` where rows of the table
            were set aside.
        validation_encoding, validation_separator, validation_has_header: as those
            of the table; `None` where there is no such file, or where a recipe does
            not say.
        validation_rate: share of the rows that chose the epoch.
        split_seed: of the draws.
        test_rate: share of the rows that were tested on; 0 in recipes of earlier
            versions, see `request.DataChoice`.
    """

    table_sha256: str
    encoding: str
    separator: str
    has_header: bool
    text_column: str
    label_column: str
    pair_column: str | None = None
    is_regression: bool = False
    validation_sha256: str | None = None
    validation_encoding: str | None = None
    validation_separator: str | None = None
    validation_has_header: bool | None = None
    validation_rate: float = 0.2
    split_seed: int = 1
    test_rate: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The origin as JSON holds it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> DataOrigin:
        """Takes what `to_dict` gave.

        Raises:
            TrainingError: an unknown or absent key, or a value of another kind.
        """
        return build(cls, raw, "data")
