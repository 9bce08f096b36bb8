"""How well groups of vectors stand apart, as the senses of one word.

M is the number of vectors, H their size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.geometry import cosine_matrix, unit_rows


@dataclass(frozen=True)
class Separation:
    """How far groups stand apart at one layer."""

    # Share of the vectors whose nearest centre is that of their own group, each vector
    # left out of the centre it is held against; `None` unless two groups have two
    # vectors or more.
    score: float | None
    num_scored: int  # vectors that the score is of: those whose group has another
    # What always naming the largest group would score, of the same vectors; `None` like
    # the score.
    largest_share: float | None
    # Mean over pairs of different vectors of one group; `None` without such a pair.
    within_cosine: float | None
    between_cosine: float | None  # mean over pairs of two groups; `None` with one group


def group_separation(points: np.ndarray, groups: Sequence[str]) -> Separation:
    """Holds each vector of `[M, H]` against the centre of each group, by cosine.

    A centre is the mean of the group's vectors at length 1. A tie counts as wrong. A
    vector alone in its group is not scored, but its group can be mistaken for
    another's. A vector without a group, "", is left out of everything: those that
    nobody named have nothing in common.

    Source: Tibshirani et al. 2002, "Diagnosis of multiple cancer types by shrunken
    centroids of gene expression", for the nearest centroid; Ethayarajh 2019
    (arXiv:1909.00512) for cosines of one word over layers.
    """
    if len(groups) != len(points):
        raise ValueError(
            f"`groups` must name each of {len(points)} points. Received: {len(groups)}."
        )
    named = np.array([bool(group) for group in groups])
    if not named.any():
        return Separation(None, 0, None, None, None)
    points = points[named]
    names, member = np.unique(np.asarray(groups, str)[named], return_inverse=True)
    sizes = np.bincount(member, minlength=len(names))
    scored = sizes[member] > 1
    score = share = None
    if (sizes > 1).sum() > 1:
        right = _is_nearest_own(points, member, sizes)
        score = float(right[scored].mean())
        share = float(sizes.max() / scored.sum())
    cosines = cosine_matrix(points)
    same = member[:, None] == member
    different_rows = ~np.eye(len(points), dtype=bool)
    return Separation(
        score=score,
        num_scored=int(scored.sum()) if score is not None else 0,
        largest_share=share,
        within_cosine=_mean_where(cosines, same & different_rows),
        between_cosine=_mean_where(cosines, ~same),
    )


def _is_nearest_own(
    points: np.ndarray, member: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    directions = unit_rows(points)
    sums = np.zeros((len(sizes), points.shape[1]))
    np.add.at(sums, member, directions)
    rows = np.arange(len(points))
    cosines = cosine_matrix(directions, sums)  # [M, G]
    left_out = unit_rows(sums[member] - directions)
    own = np.einsum("mh,mh->m", directions, left_out)
    cosines[rows, member] = -np.inf
    nearest: np.ndarray = own > cosines.max(axis=1)
    return nearest


def _mean_where(values: np.ndarray, chosen: np.ndarray) -> float | None:
    return float(values[chosen].mean()) if chosen.any() else None
