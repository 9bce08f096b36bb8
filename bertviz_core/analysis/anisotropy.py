"""Do vectors fill space, or lie in a narrow cone, and which numbers make it so?

M is the number of vectors, H their size.
"""

import numpy as np

from bertviz_core.analysis.geometry import require_table, unit_rows, widened


def mean_cosine(points: np.ndarray) -> float:
    """The mean cosine of all pairs of different rows `[M, H]`: exact, no pair is drawn.

    0 for directions without preference, 1 for a single direction. The sum over
    all pairs is the squared length of the sum of unit vectors, less its diagonal.

    Source: Ethayarajh 2019 (arXiv:1909.00512), section 3.3, "self-similarity" of random
    words, there estimated from a sample.
    """
    return float(cosine_contributions(points).sum())


def cosine_contributions(points: np.ndarray) -> np.ndarray:
    """The part of each dimension in `mean_cosine`, which is their sum, float64 `[H]`.

    Source: Timkey and van Schijndel 2021 (arXiv:2109.04404), section 3.1.
    """
    require_table(points, least=2)
    num_points, size = points.shape
    sums = np.zeros((2, size))
    for block in widened(points):
        directions = unit_rows(block)
        sums += directions.sum(axis=0), (directions**2).sum(axis=0)
    all_pairs = sums[0] ** 2 - sums[1]
    parts: np.ndarray = all_pairs / (num_points * (num_points - 1))
    return parts


def random_pair_cosines(points: np.ndarray, num_pairs: int, seed: int) -> np.ndarray:
    """Cosines of pairs drawn with replacement, to show how widely they spread.

    The two of a pair are different rows; the same seed draws the same pairs.
    """
    require_table(points, least=2)
    if num_pairs < 1:
        raise ValueError(f"`num_pairs` must be at least 1. Received: {num_pairs}.")
    rng, num_points = np.random.default_rng(seed), len(points)
    first = rng.integers(num_points, size=num_pairs)
    second = (first + rng.integers(1, num_points, size=num_pairs)) % num_points
    left, right = unit_rows(points[first]), unit_rows(points[second])
    return np.einsum("ph,ph->p", left, right)


def outlier_dimensions(
    points: np.ndarray, num_deviations: float = 3.0
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the dimensions of vectors `[M, H]` whose mean stands far out.

    The rule: average every dimension over the vectors; a dimension stands out
    where its average is more than `num_deviations` standard deviations (over the
    H averages, divided by H) from their mean.

    Returns:
        The dimensions, int `[D]`, furthest out first, of which there may be none; how
        many standard deviations each one's mean is out, float64 `[H]`.

    Source: Kovaleva et al. 2021 (arXiv:2105.06990), section 3, with its three standard
    deviations, there of layer norm weights; Timkey and van Schijndel 2021
    (arXiv:2109.04404) for the effect on cosines.
    """
    require_table(points, least=2)
    if not num_deviations > 0:
        raise ValueError(f"`num_deviations` must be > 0. Received: {num_deviations}.")
    averages = points.mean(axis=0, dtype=np.float64)
    spread = averages.std()
    centred = averages - averages.mean()
    scores = centred / spread if spread > 0 else np.zeros_like(centred)
    out = np.flatnonzero(np.abs(scores) > num_deviations)
    if len(out) == len(scores):
        raise ValueError(f"`num_deviations` leaves none. Received: {num_deviations}.")
    return out[np.argsort(-np.abs(scores[out]), kind="stable")], scores


def without_dimensions(points: np.ndarray, dimensions: np.ndarray) -> np.ndarray:
    """The vectors `[M, H]` without some numbers, `[M, H - D]`."""
    return np.delete(points, np.asarray(dimensions, int), axis=1)
