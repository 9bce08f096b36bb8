"""Noisy curves made readable: a running mean, and fewer points.

S is the number of steps, P the number of points that are drawn.
"""

from __future__ import annotations

import numpy as np


def running_mean(values: np.ndarray, weight: float = 0.9) -> np.ndarray:
    """Averages each value with those before it, older ones counting less.

    The first values are not drawn towards 0: what is missing before the first step
    is divided out.

    Args:
        values: float `[S]`.
        weight: of what came before, in [0, 1); 0 changes nothing.

    Returns:
        float64 `[S]`.

    Raises:
        ValueError: `weight` is out of bounds.

    Source:
        Kingma and Ba 2015 (arXiv:1412.6980), section 3, for the correction.
    """
    if not 0 <= weight < 1:
        raise ValueError(f"`weight` must be in [0, 1). Received: {weight}.")
    smoothed = np.empty(len(values), "float64")
    mean = 0.0
    for index, value in enumerate(values):
        mean = weight * mean + (1 - weight) * float(value)
        smoothed[index] = mean / (1 - weight ** (index + 1))
    return smoothed


def spread_out(num_values: int, max_points: int) -> np.ndarray:
    """Chooses values for a picture, evenly, the first and the last included.

    Args:
        num_values: S, of which to choose.
        max_points: at most so many, at least 2.

    Returns:
        int64 `[P]`, ascending, no two alike.
    """
    if num_values <= max_points:
        return np.arange(num_values)
    return np.linspace(0, num_values - 1, max_points).round().astype("int64")
