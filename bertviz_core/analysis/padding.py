"""Padding: what a mask leaves of a score in each precision, and what padding costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PRECISIONS = ("float32", "bfloat16", "float16")
HIDING = (-1e4, -1e9)
SCORES = (3.0, 4.0)  # of two hidden tokens, beside one in sight with a score of 0


@dataclass(frozen=True)
class MaskArithmetic:
    """A mask that is added to scores, in one precision."""

    precision: str  # of `PRECISIONS`
    hiding: float  # what is added to a hidden score
    stored: float  # what the precision makes of it; infinite where it is too large
    # Share of attention that the two hidden tokens of `SCORES` get beside one in sight
    # with a score of 0.
    leak: float
    # Shares of those two where nothing is in sight, as in a row of padding; NaN where
    # there are none. Without a mask the second gets 0.73.
    all_hidden: tuple[float, float]


def mask_arithmetic() -> tuple[MaskArithmetic, ...]:
    """Adds both masks in each precision, every step rounded to it."""
    return tuple(_added(name, hiding) for name in PRECISIONS for hiding in HIDING)


def _added(precision: str, hiding: float) -> MaskArithmetic:
    import ml_dtypes

    dtype = ml_dtypes.bfloat16 if precision == "bfloat16" else np.dtype(precision)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = np.array(hiding).astype(dtype)
        hidden = np.array(SCORES).astype(dtype) + stored
        row = np.append(hidden, np.zeros(1, dtype))
        return MaskArithmetic(
            precision,
            hiding,
            float(stored),
            float(_softmax(row)[:2].astype(np.float64).sum()),
            tuple(_softmax(hidden).astype(np.float64).tolist()),
        )


def _softmax(row: np.ndarray) -> np.ndarray:
    powers = np.exp(row - row.max())
    return powers / powers.sum()


@dataclass(frozen=True)
class PaddingCost:
    """What rows of one size cost beside the texts in them."""

    num_rows: int  # rows in all
    num_places: int  # tokens and padding
    padding_share: float  # of the places, in [0, 1]
    # Share of the products of attention (every place with every place of its row) that
    # no text needs, in [0, 1].
    pair_share: float


def padding_cost(
    batches: Sequence[Sequence[Sequence[int]]], width: int | None = None
) -> PaddingCost:
    """Counts what is computed for nothing.

    Args:
        batches: of rows, each the lengths of the texts that share it.
        width: of every row; `None` for the longest of its batch.
    """
    num_rows = places = pairs = 0
    for batch in batches:
        size = max(map(sum, batch)) if width is None else width
        num_rows += len(batch)
        places += size * len(batch)
        pairs += size**2 * len(batch)
    lengths = [length for batch in batches for row in batch for length in row]
    return PaddingCost(
        num_rows,
        places,
        1 - sum(lengths) / places,
        1 - sum(length**2 for length in lengths) / pairs,
    )


def in_batches(rows: Sequence[Sequence[int]], size: int) -> list[list[Sequence[int]]]:
    """Rows, so many at a time, in their order."""
    return [list(rows[start : start + size]) for start in range(0, len(rows), size)]
