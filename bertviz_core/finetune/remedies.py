"""Classes of unequal size: how unequal, and what to do about it.

`balance.class_weights` is one remedy; repeating rows is the other.
"""

from __future__ import annotations

import numpy as np

# Below this ratio of the largest to the smallest class, plain training does; above
# the second, weights alone make single rows of the smallest class too loud.
_MIN_UNEQUAL, _MAX_WEIGHTED = 3.0, 20.0
REMEDIES = ("none", "weights", "oversample")


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
    return "weights" if ratio <= _MAX_WEIGHTED else "oversample"


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
