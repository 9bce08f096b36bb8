"""How alike two heads are: the Jensen-Shannon distance of their rows.

L layers, N heads, Q = K = T tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.sampling import entropy_bits
from bertviz_core.trace import FrozenArrays

# Every pair of heads costs a logarithm an entry: 10 000 pairs for BERT-base.
MOST_ROWS = 64


@dataclass(frozen=True)
class DivergenceSums(FrozenArrays):
    """Divergences of all pairs of heads added up over rows."""

    totals: np.ndarray  # float64 [L, N, L, N], bits
    num_rows: int  # rows that were compared

    def __add__(self, other: DivergenceSums) -> DivergenceSums:
        return DivergenceSums(
            self.totals + other.totals, self.num_rows + other.num_rows
        )

    def distances(self) -> np.ndarray:
        """Square root of the mean divergence, float64 `[L, N, L, N]`.

        0 = the same attention in every row, 1 = no key in common in any row.
        """
        return np.sqrt(self.totals / self.num_rows)


@dataclass(frozen=True)
class NearHead:
    """A head like another."""

    layer: int  # from 0
    head: int  # from 0
    distance: float  # Jensen-Shannon distance in [0, 1]


def divergence_sums(
    attention: np.ndarray, most_rows: int = MOST_ROWS
) -> DivergenceSums:
    """Compares every head with every other on one text.

    The divergence of two rows is the entropy of their mean less the mean of their
    entropies, in bits. Each row counts alike.

    Args:
        attention: float `[L, N, Q, K]`, rows sum to 1.
        most_rows: of a longer text as many rows are compared, evenly spaced from
            the first to the last.

    Source: Lin 1991, "Divergence Measures Based on the Shannon Entropy"; Clark et al.
    2019 (arXiv:1906.04341), section 6, compare heads by its sum.
    """
    num_layers, num_heads, num_tokens = attention.shape[:3]
    num_rows = min(num_tokens, most_rows)
    rows = np.linspace(0, num_tokens - 1, num_rows).round().astype(np.int64)
    flat = attention[:, :, rows].reshape(num_layers * num_heads, -1)
    flat = flat.astype(np.float64)
    entropies = entropy_bits(flat)
    totals = np.zeros((len(flat), len(flat)))
    for head in range(len(flat)):
        # The head itself is left out: its distance is 0 without rounding.
        means = (flat[head] + flat[head + 1 :]) / 2
        between = entropy_bits(means) - (entropies[head] + entropies[head + 1 :]) / 2
        totals[head, head + 1 :] = np.maximum(between, 0)
    totals += totals.T
    return DivergenceSums(
        totals.reshape(num_layers, num_heads, num_layers, num_heads), num_rows
    )


def nearest_heads(
    distances: np.ndarray, layer: int, head: int, num_heads: int = 5
) -> tuple[NearHead, ...]:
    """The heads most like one, without itself, nearest first."""
    from_head = distances[layer, head]
    order = np.argsort(from_head, axis=None, kind="stable")
    places = zip(*np.unravel_index(order, from_head.shape), strict=True)
    others = [
        NearHead(int(at_layer), int(at_head), float(from_head[at_layer, at_head]))
        for at_layer, at_head in places
        if (at_layer, at_head) != (layer, head)
    ]
    return tuple(others[:num_heads])


def order_by_likeness(distances: np.ndarray) -> np.ndarray:
    """An order of all heads in which like heads lie side by side: layer * N + head.

    The two nearest groups become one until one is left, a head alone being the first
    kind of group; two groups are as far apart as their heads are on average. Each
    time the ends that are nearest to each other are put side by side.

    Source: Sokal and Michener 1958, "A Statistical Method for Evaluating Systematic
    Relationships": average linkage (UPGMA).
    """
    size = distances.shape[0] * distances.shape[1]
    between = distances.reshape(size, size).astype(np.float64)
    heads = between.copy()
    groups = {head: [head] for head in range(size)}
    np.fill_diagonal(between, np.inf)
    for _ in range(size - 1):
        one, other = divmod(int(between.argmin()), size)
        shares = np.array([len(groups[one]), len(groups[other])], np.float64)
        merged = (shares @ between[[one, other]]) / shares.sum()
        groups[one] = _joined(groups[one], groups.pop(other), heads)
        between[one], between[:, one] = merged, merged
        between[other], between[:, other] = np.inf, np.inf
        between[one, one] = np.inf
    (order,) = groups.values()
    return np.array(order, np.int64)


def _joined(one: list[int], other: list[int], heads: np.ndarray) -> list[int]:
    """Both orders in a row, turned so that the nearest ends meet."""
    ways = [
        (left, right) for left in (one, one[::-1]) for right in (other, other[::-1])
    ]
    left, right = min(ways, key=lambda way: float(heads[way[0][-1], way[1][0]]))
    return left + right
