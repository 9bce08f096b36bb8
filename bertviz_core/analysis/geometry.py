"""Clouds of vectors: axes, angles, lengths. NumPy in and out, float64 inside.

M is the number of vectors, H their size, k the number of axes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays

# Rows that are widened to float64 at once: 25 MB for vectors of 768 numbers.
_BLOCK = 4096
# Numbers that differ by less than this share of a vector's size differ by rounding.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Pca(FrozenArrays):
    """The axes along which a cloud is widest."""

    mean: np.ndarray  # float64 [H], the middle of the cloud
    # float64 [k, H], of length 1, widest first. The largest number of each is positive,
    # so that the same data gives the same picture.
    axes: np.ndarray
    variances: np.ndarray  # float64 [k], along each axis; divided by M, not M - 1
    # float64 [k], share of the whole variance; 0 in a cloud whose vectors are all
    # alike.
    explained: np.ndarray

    def project(self, points: np.ndarray) -> np.ndarray:
        """Coordinates on the axes, float64 `[M, k]`, of points `[M, H]`."""
        # In blocks: NumPy would widen a whole table of 30,522 words at once.
        blocks = [block @ self.axes.T for block in widened(points, self.mean)]
        return np.concatenate(blocks)


def fit_pca(points: np.ndarray, num_axes: int) -> Pca:
    """Principal components of points `[M, H]`, exact, without sampling.

    By the covariance where there are more vectors than numbers in one, else by the
    singular values of the centred vectors; at most as many axes as the smaller of both.

    Source: Pearson 1901, "On lines and planes of closest fit"; Jolliffe 2002,
    "Principal Component Analysis", chapter 3.
    """
    require_table(points)
    if not 1 <= num_axes <= min(points.shape):
        raise ValueError(
            f"`num_axes` must be from 1 to {min(points.shape)}. Received: {num_axes}."
        )
    mean = points.mean(axis=0, dtype=np.float64)
    if len(points) > points.shape[1]:
        covariance = sum(block.T @ block for block in widened(points, mean))
        variances, columns = np.linalg.eigh(covariance / len(points))
        variances, axes = variances[::-1], columns.T[::-1]
    else:
        _, singular, axes = np.linalg.svd(points - mean, full_matrices=False)
        variances = singular**2 / len(points)
    variances = np.maximum(variances, 0.0)  # rounding may leave -1e-18
    total = variances.sum()
    shares = variances / total if total > 0 else np.zeros_like(variances)
    return Pca(
        mean=mean,
        axes=_with_fixed_signs(axes[:num_axes]),
        variances=variances[:num_axes].copy(),
        explained=shares[:num_axes].copy(),
    )


def row_norms(points: np.ndarray) -> np.ndarray:
    """Euclidean length of each vector, float64 `[M]`."""
    require_table(points)
    squares = [np.einsum("mh,mh->m", block, block) for block in widened(points)]
    return np.sqrt(np.concatenate(squares))


def unit_rows(points: np.ndarray) -> np.ndarray:
    """Each vector divided by its length, float64 `[M, H]`; a zero stays a zero."""
    lengths = row_norms(points)[:, None]
    return divided(points, lengths)


def divided(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Quotients in float64, 0 where the divisor is."""
    return np.divide(values, by, out=np.zeros(values.shape), where=by > 0)


def are_alike(points: np.ndarray) -> bool:
    """Whether vectors `[M, H]` differ by rounding alone."""
    wide = points.astype(np.float64)
    return bool(is_rounding(wide, wide.std(axis=0)).all())


def is_rounding(points: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Which numbers of points `[M, H]`, so spread, do not really differ, bool `[H]`."""
    size = np.sqrt(np.square(points).mean())
    constant: np.ndarray = spread <= _ROUNDING * size
    return constant


def cosine_matrix(points: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """The cosine of each vector `[M, H]` with each, or with others `[O, H]`: `[M, O]`.

    float64, in [-1, 1]; 0 with a vector of length 0.
    """
    left = unit_rows(points)
    right = left if others is None else unit_rows(others)
    return np.clip(left @ right.T, -1.0, 1.0)


def mean_by_distance(points: np.ndarray) -> np.ndarray:
    """How alike points `[M, H]` are by their distance: mean of cos(p_i, p_{i + d})."""
    cosines = cosine_matrix(points)
    return np.array([cosines.diagonal(d).mean() for d in range(len(cosines))])


def project_on_axis(
    points: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Projects vectors `[M, H]` on the line through two of them, `[H]`.

    Returns:
        float64 `[M]` each: positions on the line, 0 at the first and 1 at the second;
        distances from the line.

    Raises:
        ValueError: the two are the same vector, so there is no line.

    Source: Bolukbasi et al. 2016 (arXiv:1607.06520), section 5, for the direction
    between two words.
    """
    start = np.asarray(first, np.float64)
    direction = np.asarray(second, np.float64) - start
    squared = direction @ direction
    if squared == 0:
        raise ValueError("`first` and `second` must differ: there is no axis.")
    offsets = np.asarray(points, np.float64) - start
    positions = offsets @ direction / squared
    beside = offsets - positions[:, None] * direction
    return positions, row_norms(beside)


def procrustes(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Turns, mirrors and moves a cloud `[M, k]` onto another, without stretching it.

    Both are of the same things in the same order.

    Source: Schönemann 1966, "A generalized solution of the orthogonal Procrustes
    problem".
    """
    require_table(points)
    if points.shape != reference.shape:
        raise ValueError(
            f"`points` must have the shape of `reference`, {reference.shape}. "
            f"Received: {points.shape}."
        )
    middle = reference.mean(axis=0, dtype=np.float64)
    centred = points - points.mean(axis=0, dtype=np.float64)
    left, _, right = np.linalg.svd(centred.T @ (reference - middle))
    turned: np.ndarray = centred @ (left @ right) + middle
    return turned


def widened(points: np.ndarray, mean: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """Blocks of rows `[M, H]` in float64, less a mean."""
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK].astype(np.float64)
        yield block if mean is None else block - mean


def _with_fixed_signs(axes: np.ndarray) -> np.ndarray:
    largest = np.argmax(np.abs(axes), axis=1)
    signs = np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)
    fixed: np.ndarray = axes * signs[:, None]
    return fixed


def require_table(points: np.ndarray, least: int = 1) -> None:
    """Refuses what is no table of vectors, or of too few, by a `ValueError`."""
    if points.ndim != 2 or not points.size or len(points) < least:
        raise ValueError(
            f"`points` must be [M, H] with M at least {least} and H > 0. "
            f"Received: shape={points.shape}."
        )
