"""Whether one method is better than another on the same rows, or by chance.

Shapes: R rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Beyond, the exact sum takes long and the bell curve is as good.
_MOST_EXACT = 2000


@dataclass(frozen=True)
class PairedCounts:
    """Rows on which two methods differ.

    Args:
        only_first: rows that the first alone got right.
        only_second: rows that the second alone got right.
        p_value: how often a difference at least as large, either way, would come
            about if both were equally good; 1 where they never differ.
    """

    only_first: int
    only_second: int
    p_value: float


def paired_counts(
    targets: np.ndarray, first: np.ndarray, second: np.ndarray
) -> PairedCounts:
    """Counts rows that one of two methods got right and the other did not.

    Args:
        targets: int `[R]`.
        first: int `[R]`, classes that the first method named.
        second: int `[R]`, those of the second.

    Source:
        McNemar 1947, "Note on the sampling error of the difference between
        correlated proportions or percentages"; in its exact form, a sign test.
    """
    is_first, is_second = first == targets, second == targets
    alone = int((is_first & ~is_second).sum())
    other = int((is_second & ~is_first).sum())
    return PairedCounts(alone, other, _sign_test(alone, other))


def _sign_test(first: int, second: int) -> float:
    total, least = first + second, min(first, second)
    if total > _MOST_EXACT:
        distance = (abs(first - second) - 1) / math.sqrt(total)
        return min(1.0, math.erfc(distance / math.sqrt(2)))
    tail = sum(math.comb(total, count) for count in range(least + 1))
    return min(1.0, float(2 * tail / 2**total))
