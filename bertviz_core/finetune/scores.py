"""Numbers that say how well predictions meet the truth.

Shapes: R rows, C classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.trace import FrozenArrays

# Two-sided 95 % of the standard normal distribution.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Calibration(FrozenArrays):
    """Whether rows that are called 80 % sure are right in 80 % of the cases.

    Args:
        counts: int `[K]`, rows in each of K bins of equal width over 0 to 1.
        confidence, accuracy: float `[K]`, means of the rows of a bin; NaN in an
            empty one.
        error: expected calibration error: the mean distance of the two over the
            rows.

    Source:
        Guo et al. 2017 (arXiv:1706.04599), section 2, equation 3.
    """

    counts: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    error: float


def macro_f1(targets: np.ndarray, predicted: np.ndarray) -> float:
    """Mean F1 of the classes that occur or were predicted."""
    from sklearn.metrics import f1_score

    return float(f1_score(targets, predicted, average="macro"))


def r_squared(targets: np.ndarray, predicted: np.ndarray) -> float:
    """1 - squared residuals / squared distances from the mean target.

    Where all targets are alike: 1 if all are met, else 0.
    """
    wide = np.asarray(targets, "float64")
    left = np.square(wide - predicted).sum()
    spread = np.square(wide - wide.mean()).sum()
    if spread == 0:
        return float(left == 0)
    return float(1 - left / spread)


def wilson_interval(right: Any, total: Any) -> np.ndarray:
    """Where a share lies with 95 % confidence, by what was counted.

    Args:
        right: counted, a number or `[C]`; of rows that are not independent, as many as
            their share makes of those that are, which scipy's own would not take.
        total: out of how many; 0 says nothing: 0 to 1.

    Returns:
        float `[..., 2]`, lower and upper end.

    Source:
        Wilson 1927, "Probable inference, the law of succession, and statistical
        inference"; it keeps its promise for a few rows, and near 0 and 1.
    """
    right, total = np.asarray(right, "float64"), np.asarray(total, "float64")
    count = np.maximum(total, 1.0)
    share = right / count
    middle = (share + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    spread = share * (1 - share) / count + _Z**2 / (4 * count**2)
    half = _Z / (1 + _Z**2 / count) * np.sqrt(spread)
    low = np.where(total > 0, np.clip(middle - half, 0.0, 1.0), 0.0)
    high = np.where(total > 0, np.clip(middle + half, 0.0, 1.0), 1.0)
    return np.stack([low, high], axis=-1)


def calibrate(
    confidence: np.ndarray, is_right: np.ndarray, num_bins: int
) -> Calibration:
    """Sorts rows into bins by how sure the model was.

    Args:
        confidence: float `[R]`, probability of the predicted class.
        is_right: bool `[R]`.
        num_bins: K, of equal width; the upper edge belongs to a bin.
    """
    bins = np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)
    counts = np.bincount(bins, minlength=num_bins)
    sure = ratio(np.bincount(bins, confidence, num_bins), counts)
    right = ratio(np.bincount(bins, is_right, num_bins), counts)
    error = np.nansum(np.abs(sure - right) * counts) / len(confidence)
    return Calibration(counts, sure, right, float(error))


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divides; NaN where there is nothing to divide by."""
    found = np.full(len(whole), math.nan)
    return np.divide(part, whole, out=found, where=whole > 0)
