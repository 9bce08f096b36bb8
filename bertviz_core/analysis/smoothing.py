"""Noisy curves made readable: a running mean, and fewer points.

S is the number of steps, P the number of points that are drawn.
"""

import numpy as np

# The weight of what came before, in a running mean.
_OLDER = 0.9


def running_mean(values: np.ndarray) -> np.ndarray:
    """Averages each value with those before it, older ones counting less.

    The first values are not drawn towards 0: what is missing before the first step
    is divided out.

    Source: Kingma and Ba 2015 (arXiv:1412.6980), section 3, for the correction.
    """
    smoothed = np.empty(len(values), "float64")
    mean = 0.0
    for index, value in enumerate(values):
        mean = _OLDER * mean + (1 - _OLDER) * float(value)
        smoothed[index] = mean / (1 - _OLDER ** (index + 1))
    return smoothed


def spread_out(num_values: int, max_points: int) -> np.ndarray:
    """Chooses up to P of S values for a picture, evenly, first and last included."""
    if num_values <= max_points:
        return np.arange(num_values)
    return np.linspace(0, num_values - 1, max_points).round().astype("int64")
