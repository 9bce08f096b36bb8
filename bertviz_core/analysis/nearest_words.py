"""Which vectors of a large table are nearest, exactly, and how far down one is.

V is the number of rows, H the size.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.geometry import divided, row_norms, widened
from bertviz_core.trace import FrozenArrays

METRICS = ("cosine", "euclidean")
# A row, or several whose mean is meant: a word of several pieces.
Rows = int | tuple[int, ...]


@dataclass(frozen=True)
class Neighbours(FrozenArrays):
    """The nearest rows to a vector."""

    ids: np.ndarray  # int [k], nearest first; of equally near ones the lower row first
    scores: np.ndarray  # float64 [k], cosine in [-1, 1], or Euclidean distance
    words: tuple[str, ...] = ()  # the entry of each row, where rows are words


class WordTable:
    """A table of vectors `[V, H]`, not copied, that is asked about again and again.

    Holds the lengths of the rows, so that a question reads the table once.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = np.asarray(vectors)
        self.norms = row_norms(self.vectors)

    def scores(self, query: np.ndarray, metric: str = "cosine") -> np.ndarray:
        """How near each row is to a vector `[H]`: equal rows have equal scores.

        Returns:
            float64 `[V]`, cosines in [-1, 1], 0 with a vector of length 0; or Euclidean
            distances.
        """
        size, target = self.vectors.shape[1], np.asarray(query, np.float64)
        if metric not in METRICS:
            raise ValueError(f"`metric` must be among {METRICS}. Received: {metric}.")
        if target.shape != (size,):
            raise ValueError(
                f"`query` must be [{size}]. Received: shape={target.shape}."
            )
        blocks = widened(self.vectors)
        # Not by `@`, which may add up equal rows in another order.
        if metric == "euclidean":
            apart = (block - target for block in blocks)
            squares = [np.einsum("vh,vh->v", block, block) for block in apart]
            return np.sqrt(np.concatenate(squares))
        products = [np.einsum("vh,h->v", block, target) for block in blocks]
        lengths = self.norms * np.linalg.norm(target)
        return np.clip(divided(np.concatenate(products), lengths), -1.0, 1.0)

    def nearest(
        self,
        query: np.ndarray,
        num_neighbours: int,
        metric: str = "cosine",
        allowed: np.ndarray | None = None,
    ) -> Neighbours:
        """Finds the rows nearest to a vector; see `scores` and `best_of`."""
        return best_of(self.scores(query, metric), num_neighbours, metric, allowed)

    def mean(self, rows: Rows) -> np.ndarray:
        """A row, or the mean of several, float64 `[H]`."""
        chosen = list(rows) if isinstance(rows, tuple) else [rows]
        mean: np.ndarray = self.vectors[chosen].astype(np.float64).mean(axis=0)
        return mean


def best_of(
    scores: np.ndarray,
    num_neighbours: int,
    metric: str = "cosine",
    allowed: np.ndarray | None = None,
) -> Neighbours:
    """The rows with the best scores `[V]` of a metric, fewer where few are allowed."""
    if num_neighbours < 1:
        raise ValueError(
            f"`num_neighbours` must be at least 1. Received: {num_neighbours}."
        )
    rows = np.arange(len(scores)) if allowed is None else np.flatnonzero(allowed)
    signed = -scores[rows] if metric == "cosine" else scores[rows]
    rows = rows[np.argsort(signed, kind="stable")[:num_neighbours]]
    return Neighbours(rows, scores[rows])


def rank_among(scores: np.ndarray, score: float, metric: str) -> int:
    """How many scores `[V]` are better than one, plus 1; equal ones do not count."""
    return 1 + int((scores > score if metric == "cosine" else scores < score).sum())
