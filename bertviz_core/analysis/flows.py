"""Where a vector at the top comes from, followed down through the layers.

L layers, T tokens. A share is how much of a token's next state comes from each token.
"""

from __future__ import annotations

import numpy as np


def follow_down(shares: np.ndarray, focus: int) -> np.ndarray:
    """How much of a token at the top comes from each token at each height.

    Each layer's shares are passed on as if a state were one indivisible thing; what
    the feed-forward network makes of it is left out.

    Args:
        shares: float `[L, T, T]`, rows are next states, each adds up to 1.
        focus: index of the token that is followed.

    Returns:
        float64 `[L + 1, T]`, the input first; each row adds up to 1.

    Source:
        Abnar and Zuidema 2020 (arXiv:2005.00928), section 3, for one token and from
        the top; there with attention in the place of these shares.
    """
    reached = [np.eye(shares.shape[-1])[focus]]
    for layer in shares[::-1]:
        reached.append(reached[-1] @ layer)
    return np.stack(reached[::-1])
