"""Rows to learn from: texts, their pairs, and what each is to become."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.trace import FrozenArrays

if TYPE_CHECKING:
    from bertviz_core.finetune.origin import DataOrigin


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
