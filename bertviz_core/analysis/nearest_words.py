"""Which vectors of a large table are nearest, exactly, and how far down one is.

One pass in float32, whose rounding is bounded; every row that the rounding could
misplace is then computed again in float64. V is the number of rows, H the size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.geometry import row_norms
from bertviz_core.trace import FrozenArrays

METRICS = ("cosine", "euclidean")
# A row, or several whose mean is meant: a word of several pieces.
Rows = int | tuple[int, ...]


@dataclass(frozen=True)
class Neighbours(FrozenArrays):
    """The nearest rows to a vector.

    Args:
        ids: int `[k]`, nearest first; of equally near ones the lower row first.
        scores: float64 `[k]`, cosine in [-1, 1], or Euclidean distance.
        metric: of `METRICS`.
    """

    ids: np.ndarray
    scores: np.ndarray
    metric: str


@dataclass(frozen=True)
class Analogy(FrozenArrays):
    """The nearest rows to a - b + c, with and without the three themselves.

    Args:
        neighbours: among all allowed rows, the three included.
        neighbours_without_inputs: without them, as most tutorials show it.
        rank: of the expected one among all allowed rows, 1 = nearest; `None`
            where nothing was expected.
        rank_without_inputs: the same with a, b and c left out; `None` also where
            the expected one is one of them.
    """

    neighbours: Neighbours
    neighbours_without_inputs: Neighbours
    rank: int | None
    rank_without_inputs: int | None


class WordTable:
    """A table of vectors that is asked about again and again.

    Holds the lengths of the rows, so that a question reads the table once.

    Args:
        vectors: float `[V, H]`; kept as it is, not copied if float32.

    Raises:
        ValueError: no rows.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        self.norms = row_norms(self.vectors)

    def nearest(
        self,
        query: np.ndarray,
        num_neighbours: int,
        metric: str = "cosine",
        allowed: np.ndarray | None = None,
    ) -> Neighbours:
        """Finds the rows nearest to a vector.

        Args:
            query: float `[H]`.
            num_neighbours: k at most; fewer where fewer rows are allowed.
            metric: of `METRICS`; the cosine with a vector of length 0 is 0.
            allowed: bool `[V]`; `None` for all rows.

        Raises:
            ValueError: an unknown metric, k below 1, or a query of another size.
        """
        if num_neighbours < 1:
            raise ValueError(
                f"`num_neighbours` must be at least 1. Received: {num_neighbours}."
            )
        closeness, slack = self._closeness(query, metric)
        rows = np.arange(len(closeness)) if allowed is None else np.flatnonzero(allowed)
        k = min(num_neighbours, len(rows))
        if k:
            least = np.partition(closeness[rows], len(rows) - k)[len(rows) - k]
            # The true k-th is at least least - slack, what can reach it is kept.
            rows = rows[closeness[rows] >= least - 2 * slack]
        scores = self._exact(query, metric, rows)
        order = np.argsort(-scores if metric == "cosine" else scores, kind="stable")[:k]
        return Neighbours(rows[order], scores[order], metric)

    def rank(
        self,
        query: np.ndarray,
        row: int,
        metric: str = "cosine",
        allowed: np.ndarray | None = None,
    ) -> int:
        """How many allowed rows are nearer than this one, plus 1.

        Rows exactly as near do not count.

        Raises:
            ValueError: see `nearest`.
        """
        wanted = float(self._exact(query, metric, np.array([row]))[0])
        return self._num_nearer(query, wanted, metric, allowed, row) + 1

    def rank_of(
        self,
        query: np.ndarray,
        vector: np.ndarray,
        metric: str = "cosine",
        allowed: np.ndarray | None = None,
    ) -> int:
        """The rank of a vector that is no row, see `rank`.

        Args:
            query: float `[H]`.
            vector: float `[H]`, as the mean of some rows.
            metric: of `METRICS`.
            allowed: bool `[V]`; `None` for all rows.

        Raises:
            ValueError: see `nearest`.
        """
        wanted = self.score_of(query, vector, metric)
        return self._num_nearer(query, wanted, metric, allowed) + 1

    def score_of(
        self, query: np.ndarray, vector: np.ndarray, metric: str = "cosine"
    ) -> float:
        """Cosine or distance of two vectors, float `[H]` each."""
        one, other = np.asarray(vector, np.float64), np.asarray(query, np.float64)
        if metric == "euclidean":
            return float(np.linalg.norm(one - other))
        lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
        return float(one @ other) / lengths if lengths else 0.0

    def mean(self, rows: Rows) -> np.ndarray:
        """A row, or the mean of several, float64 `[H]`."""
        chosen = list(rows) if isinstance(rows, tuple) else [rows]
        mean: np.ndarray = self.vectors[chosen].astype(np.float64).mean(axis=0)
        return mean

    def _num_nearer(
        self,
        query: np.ndarray,
        wanted: float,
        metric: str,
        allowed: np.ndarray | None,
        row: int | None = None,
    ) -> int:
        """How many allowed rows are nearer than a score."""
        closeness, slack = self._closeness(query, metric)
        may_count = np.ones(len(closeness), bool) if allowed is None else allowed
        if row is not None:
            own = float(closeness[row])
        else:
            length = float(np.linalg.norm(np.asarray(query, np.float64)))
            # As `_closeness` counts it; a distance d is |x - q|.
            is_cosine = metric == "cosine"
            own = wanted * length if is_cosine else (length**2 - wanted**2) / 2
        surely = closeness > own + 2 * slack
        unsure = ~surely & (closeness >= own - 2 * slack) & may_count
        scores = self._exact(query, metric, np.flatnonzero(unsure))
        nearer = scores > wanted if metric == "cosine" else scores < wanted
        return int((surely & may_count).sum()) + int(nearer.sum())

    def analogy(
        self,
        inputs: tuple[Rows, Rows, Rows],
        expected: Rows | None = None,
        num_neighbours: int = 10,
        metric: str = "cosine",
        allowed: np.ndarray | None = None,
    ) -> Analogy:
        """What lies at a - b + c, king - man + woman.

        Args:
            inputs: the rows a, b, c, as king, man, woman. Several rows stand for
                their mean; only one that stands alone is left out as an answer.
            expected: what is hoped for, as queen.
            num_neighbours: how many to name.
            metric: of `METRICS`.
            allowed: bool `[V]`, rows that may be an answer; `None` for all.

        Raises:
            ValueError: see `nearest`.

        Source:
            Mikolov et al. 2013 (N13-1090), section 4; Linzen 2016 (W16-2503) for
            what leaving the inputs out hides.
        """
        rows = [row for row in inputs if isinstance(row, int)]
        parts = np.stack([self.mean(row) for row in inputs])
        query = parts[0] - parts[1] + parts[2]
        everything = np.ones(len(self.vectors), bool) if allowed is None else allowed
        others = everything.copy()
        others[rows] = False
        rank = without = None
        if isinstance(expected, tuple):
            hoped = self.mean(expected)
            rank = self.rank_of(query, hoped, metric, everything)
            without = self.rank_of(query, hoped, metric, others)
        elif expected is not None:
            rank = self.rank(query, expected, metric, everything)
            if expected not in rows:
                without = self.rank(query, expected, metric, others)
        return Analogy(
            neighbours=self.nearest(query, num_neighbours, metric, everything),
            neighbours_without_inputs=self.nearest(
                query, num_neighbours, metric, others
            ),
            rank=rank,
            rank_without_inputs=without,
        )

    def _closeness(self, query: np.ndarray, metric: str) -> tuple[np.ndarray, float]:
        """A number that grows with nearness `[V]`, and how wrong it may be.

        Cosine times the query's length, or minus half the squared distance with
        the query's own square left out.
        """
        if metric not in METRICS:
            raise ValueError(f"`metric` must be among {METRICS}. Received: {metric}.")
        size = self.vectors.shape[1]
        if np.shape(query) != (size,):
            raise ValueError(
                f"`query` must be [{size}]. Received: shape={np.shape(query)}."
            )
        products = (self.vectors @ np.asarray(query, np.float32)).astype(np.float64)
        length = float(np.linalg.norm(np.asarray(query, np.float64)))
        # |error of a product of H pairs| <= H u |x| |q|, u = half the spacing of
        # floats (Higham 2002, "Accuracy and Stability", section 3.1); one more u
        # for the query's own rounding, and as much again to be safe.
        relative = 2 * (size + 2) * float(np.finfo(np.float32).eps) / 2
        if metric == "cosine":
            nonzero = self.norms > 0
            closeness = np.divide(
                products, self.norms, out=np.zeros_like(products), where=nonzero
            )
            return closeness, relative * length
        longest = float(self.norms.max())
        return products - self.norms**2 / 2, relative * longest * length

    def _exact(self, query: np.ndarray, metric: str, rows: np.ndarray) -> np.ndarray:
        """Cosines or distances of some rows in float64."""
        vectors = self.vectors[rows].astype(np.float64)
        target = np.asarray(query, np.float64)
        if metric == "euclidean":
            distances: np.ndarray = np.sqrt(((vectors - target) ** 2).sum(axis=1))
            return distances
        lengths = self.norms[rows] * np.linalg.norm(target)
        products = (vectors * target).sum(axis=1)
        cosines = np.divide(
            products, lengths, out=np.zeros_like(products), where=lengths > 0
        )
        return np.clip(cosines, -1.0, 1.0)
