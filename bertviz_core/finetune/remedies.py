"""Classes of unequal size: how unequal, and what to do about it.

`balance.class_weights` is one remedy; repeating rows is the other.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.finetune.examples import TrainingData

# Below this ratio of the largest to the smallest class, plain training does; above
# the second, weights alone make single rows of the smallest class too loud.
_MIN_UNEQUAL, _MAX_WEIGHTED = 3.0, 20.0
REMEDIES = ("none", "weights", "oversample")
# Repeating a few rows very often teaches them by heart and takes for ever.
MAX_OVERSAMPLED = 500_000


def imbalance(counts: np.ndarray) -> float:
    """Rows of the largest class for each row of the smallest.

    Args:
        counts: int `[C]`, rows of each class; classes without rows are passed over.
    """
    filled = counts[counts > 0]
    return float(filled.max() / filled.min())


def propose_remedy(counts: np.ndarray) -> str:
    """One of `REMEDIES`, by how unequal the classes are.

    Args:
        counts: int `[C]`, rows of each class.
    """
    ratio = imbalance(counts)
    if ratio < _MIN_UNEQUAL:
        return "none"
    # More copies than these would be refused, so they are not proposed.
    is_too_much = num_oversampled(counts) > MAX_OVERSAMPLED
    return "weights" if ratio <= _MAX_WEIGHTED or is_too_much else "oversample"


def oversample(labels: np.ndarray, seed: int) -> np.ndarray:
    """Repeats rows until every class is as large as the largest.

    Whole copies of a class first, then a draw without repeats. Only for training
    rows: a copy on both sides of a split would be seen twice.

    Args:
        labels: int `[R]`, class of each row.
        seed: of the draw.

    Returns:
        int `[S]`, indices of rows, S ≥ R, every row at least once, ascending.
    """
    rng = np.random.default_rng(seed)
    classes, counts = np.unique(labels, return_counts=True)
    chosen: list[np.ndarray] = []
    for label in classes:
        rows = np.flatnonzero(labels == label)
        copies, rest = divmod(int(counts.max()), len(rows))
        chosen += [rows] * copies + [rng.choice(rows, rest, replace=False)]
    return np.sort(np.concatenate(chosen))


def num_oversampled(counts: np.ndarray) -> int:
    """Training rows after `oversample`.

    Args:
        counts: int `[C]`, rows of each class.
    """
    return int(counts.max() * np.count_nonzero(counts))


def num_rows_seen(data: TrainingData, oversample: bool) -> int:
    """Training rows of an epoch, repeated ones included."""
    if data.is_regression or not oversample:
        return len(data.train)
    return num_oversampled(np.bincount(data.train.targets))


def oversampled(data: TrainingData, seed: int) -> TrainingData:
    """The same data with training rows repeated; numbers stay as they are.

    Args:
        data: rows to learn from and to judge by, of which the latter stay.
        seed: of the draw.

    Raises:
        TrainingError: there would be far too many rows.
    """
    if data.is_regression:
        return data
    counts = np.bincount(data.train.targets)
    wanted = num_oversampled(counts)
    if wanted > MAX_OVERSAMPLED:
        raise TrainingError(
            "Repeating rows of rare classes would make too many. Received: {rows} "
            "rows, which would become {wanted}; the limit is {limit}. Choose class "
            "weights.",
            rows=len(data.train),
            wanted=wanted,
            limit=MAX_OVERSAMPLED,
        )
    train = data.train.select(oversample(data.train.targets, seed))
    return dataclasses.replace(data, train=train)
