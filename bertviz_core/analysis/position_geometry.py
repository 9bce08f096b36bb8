"""How a model lays its positions out, and which of them stand apart from the rest.

P is the number of positions, H the size of a vector.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bertviz_core.analysis.geometry import (
    cosine_matrix,
    fit_pca,
    mean_by_distance,
    require_table,
    row_norms,
)
from bertviz_core.analysis.map_quality import MapQuality, map_quality
from bertviz_core.trace import FrozenArrays

NUM_AXES = 3
# Median absolute deviations from the median, scaled to a normal's standard
# deviation, beyond which a value is an outlier.
# Source: Iglewicz and Hoaglin 1993, "How to Detect and Handle Outliers".
OUTLIER_SCORE = 3.5
_NORMAL_QUARTILE = 0.6745


@dataclass(frozen=True)
class PositionGeometry(FrozenArrays):
    """Position embeddings, measured."""

    cosines: np.ndarray  # float32 [P, P], of each position with each
    # float64 [P, k], on the k widest axes, `NUM_AXES` if there are as many.
    coordinates: np.ndarray
    explained: np.ndarray  # float64 [k], share of the variance along each axis
    # What a flat map on two of the axes keeps, for each pair in the order of
    # `itertools.combinations`; `None` where there are too few positions to measure it.
    qualities: tuple[MapQuality | None, ...]
    norms: np.ndarray  # float64 [P], lengths
    by_distance: np.ndarray  # float64 [P], mean of cos(p_i, p_{i + d}) over i, by d
    # float64 [P], mean cosine with the positions beside: one for the first and the
    # last.
    near_cosines: np.ndarray
    # float64 [P], robust deviation of each length from the median.
    norm_scores: np.ndarray
    near_scores: np.ndarray  # float64 [P], likewise of `near_cosines`

    @property
    def standing_apart(self) -> np.ndarray:
        """Positions with a score of either kind beyond `OUTLIER_SCORE`, int `[D]`."""
        scores = np.maximum(np.abs(self.norm_scores), np.abs(self.near_scores))
        return np.flatnonzero(scores > OUTLIER_SCORE)


def position_geometry(table: np.ndarray) -> PositionGeometry:
    """Measures a table of position embeddings `[P, H]`, P at least 2.

    Source: Wang and Chen 2020 (arXiv:2010.04903) for cosines between positions.
    """
    require_table(table, least=2)
    cosines = cosine_matrix(table)
    pca = fit_pca(table, min(NUM_AXES, *table.shape))
    coordinates = pca.project(table)
    norms = row_norms(table)
    steps = cosines.diagonal(1)
    sums = np.zeros(len(table))
    sums[:-1] += steps
    sums[1:] += steps
    counts = np.full(len(table), 2)
    counts[[0, -1]] = 1
    near = sums / counts
    return PositionGeometry(
        cosines=cosines.astype(np.float32),
        coordinates=coordinates,
        explained=pca.explained,
        qualities=tuple(
            map_quality(table, coordinates[:, axes]) if len(table) > 2 else None
            for axes in combinations(range(coordinates.shape[1]), 2)
        ),
        norms=norms,
        by_distance=mean_by_distance(table),
        near_cosines=near,
        norm_scores=robust_scores(norms),
        near_scores=robust_scores(near),
    )


def robust_scores(values: np.ndarray) -> np.ndarray:
    """Deviations of `[P]` from the median that a few outliers cannot hide.

    0.6745 (x - median) / (median absolute deviation); all 0 where more than half of the
    values are alike, as there is no scale then.

    Source: Iglewicz and Hoaglin 1993, "How to Detect and Handle Outliers", page 11.
    """
    offsets = np.asarray(values, np.float64) - np.median(values)
    spread = float(np.median(np.abs(offsets)))
    if spread == 0:
        return np.zeros_like(offsets)
    scores: np.ndarray = _NORMAL_QUARTILE * offsets / spread
    return scores
