"""How alike two maps order the same things. NumPy in and out."""

import numpy as np


def spearman(first: np.ndarray, second: np.ndarray) -> float | None:
    """Rank correlation: how far two lists of numbers have the same order.

    Returns:
        In [-1, 1]: 1 the same order, -1 the opposite. `None` where all numbers
        of a list are equal: it has no order.

    Raises:
        ValueError: the shapes, which may be any, differ, or a number is not finite.

    Source: Spearman 1904; with ties, the Pearson correlation of the mean ranks, as
    `scipy.stats.spearmanr` computes it.
    """
    first, second = np.asarray(first, "float64"), np.asarray(second, "float64")
    if first.shape != second.shape:
        raise ValueError(
            "Both lists must have the same shape. "
            f"Received: {first.shape} and {second.shape}."
        )
    x, y = (ranks(values) - (values.size + 1) / 2 for values in (first, second))
    size = float(np.sqrt((x * x).sum() * (y * y).sum()))
    if size == 0:
        return None
    return float(np.clip((x * y).sum() / size, -1.0, 1.0))


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, the smallest first, on one axis; equal numbers share the mean."""
    values = np.asarray(values, "float64").reshape(-1)
    if not np.isfinite(values).all():
        raise ValueError("All numbers must be finite.")
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)  # rank of the last of each group of equals
    return (last - (counts - 1) / 2)[group]
