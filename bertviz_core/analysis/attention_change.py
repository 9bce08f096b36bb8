"""How much of each head's attention went elsewhere: two models, one text."""

from __future__ import annotations

import numpy as np


def head_change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Total variation between two attentions, mean over the tokens that look.

    Args:
        before: float `[L, N, Q, K]`, rows sum to 1.
        after: the same of the other model.

    Returns:
        float64 `[L, N]`: 0 for the same attention, 1 for nothing in common.

    Raises:
        ValueError: the shapes differ.
    """
    if before.shape != after.shape or before.ndim != 4:
        raise ValueError(
            "Both must be [L, N, Q, K] and alike. "
            f"Received: {before.shape}, {after.shape}."
        )
    change = np.abs(after.astype(np.float64) - before.astype(np.float64))
    distances: np.ndarray = change.sum(axis=-1).mean(axis=-1) / 2
    return distances
