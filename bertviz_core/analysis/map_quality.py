"""How far a flat map of vectors can be trusted. NumPy in and out.

M is the number of points, H the size of the vectors, k the number of neighbours.
"""

from dataclasses import dataclass

import numpy as np

MOST_NEIGHBOURS = 10  # of each point, that are looked for
# Distances held at once, in float64: 32 MB, and as much again for their order.
_VALUES_A_BLOCK = 4_000_000


@dataclass(frozen=True)
class MapQuality:
    """What a map keeps of who is near whom."""

    # 1 = all neighbours on the map are neighbours in full; about 0.5 for a map drawn at
    # random.
    trustworthiness: float
    # Share of the k nearest in full that are among the k nearest on the map; about k /
    # (M - 1) at random.
    neighbours_kept: float
    num_neighbours: int  # k
    num_points: int  # M
    # Points whose neighbours were compared; fewer than M only where a sample was asked
    # for.
    num_checked: int


def map_quality(
    points: np.ndarray,
    positions: np.ndarray,
    num_neighbours: int = MOST_NEIGHBOURS,
    rows: np.ndarray | None = None,
) -> MapQuality:
    """Compares nearest neighbours of points `[M, H]` with those on a map `[M, d]`.

    Args:
        num_neighbours: k; brought below M / 2, where the measure is defined.
        rows: int `[m]`, points to check, for a map that is large; `None` for all.
            Neighbours are looked for among all points either way.

    Source: Venna and Kaski 2001, "Neighborhood preservation in nonlinear projection
    methods", equation 1.
    """
    num_points = len(points)
    if len(positions) != num_points:
        raise ValueError(
            f"`positions` must have a row for each of {num_points} points. "
            f"Received: {len(positions)}."
        )
    if num_points < 3:
        raise ValueError(f"`points` must be 3 or more. Received: {num_points}.")
    k = min(num_neighbours, (num_points - 1) // 2)
    checked = np.arange(num_points) if rows is None else np.asarray(rows, int)
    full, flat = _Cloud(points), _Cloud(positions)
    penalty, kept = 0, 0
    size = max(1, _VALUES_A_BLOCK // num_points)
    for start in range(0, len(checked), size):
        block = checked[start : start + size]
        on_map = _nearest(flat.squared_distances(block), k)  # [m, k]
        found = _ranks(full.squared_distances(block), on_map)
        penalty += int(np.maximum(found - k, 0).sum())
        kept += int((found <= k).sum())
    num_checked = len(checked)
    worst = num_checked * k * (2 * num_points - 3 * k - 1) / 2
    return MapQuality(
        trustworthiness=1.0 - penalty / worst,
        neighbours_kept=kept / (num_checked * k),
        num_neighbours=k,
        num_points=num_points,
        num_checked=num_checked,
    )


class _Cloud:
    """Points in float64 around their middle, and the squares of their lengths."""

    def __init__(self, points: np.ndarray) -> None:
        self._points = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
        self._squares = np.einsum("mh,mh->m", self._points, self._points)

    def squared_distances(self, rows: np.ndarray) -> np.ndarray:
        """float64 `[m, M]`; the row itself comes first whatever lies on top of it."""
        squared: np.ndarray = self._points[rows] @ self._points.T
        squared *= -2.0
        squared += self._squares
        squared += self._squares[rows, None]
        squared[np.arange(len(rows)), rows] = -np.inf
        return squared


def _ranks(distances: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Which neighbour each wanted point `[m, k]` is to its row; 1 = nearest.

    Of equally near ones the lower index is nearer. Counted, not sorted: that takes
    k passes over the distances instead of ordering all of them.
    """
    values = np.take_along_axis(distances, wanted, axis=1)
    ranks = np.empty(wanted.shape, np.int64)
    for column in range(wanted.shape[1]):
        value = values[:, column, None]
        nearer = np.count_nonzero(distances < value, axis=1)
        rows, points = np.nonzero(distances == value)
        before = points < wanted[rows, column]
        ranks[:, column] = nearer + np.bincount(rows[before], minlength=len(nearer))
    return ranks


def _nearest(distances: np.ndarray, num_neighbours: int) -> np.ndarray:
    """The k nearest of each row, itself left out; equally near ones in their order."""
    furthest = np.partition(distances, num_neighbours, axis=1)[:, num_neighbours]
    nearest = np.empty((len(distances), num_neighbours), np.int64)
    for index, (row, limit) in enumerate(zip(distances, furthest, strict=True)):
        near = np.flatnonzero(row <= limit)
        order = np.argsort(row[near], kind="stable")
        nearest[index] = near[order[1 : num_neighbours + 1]]
    return nearest
