"""The answers of a model before something was changed, and after. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class Answers(FrozenArrays):
    """The likeliest answers before and after a change, and the watched one.

    Args:
        ids: int `[M]`, the likeliest before first.
        values: float64 `[2, M]`, before and after: probabilities, or the number of a
            head that says one.
        ranks: int `[2, M]`, among all answers, 1 = likeliest.
    """

    ids: np.ndarray
    values: np.ndarray
    ranks: np.ndarray
