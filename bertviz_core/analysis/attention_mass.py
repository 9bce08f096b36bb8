"""How much a head looks at the words of a text. NumPy in and out."""

from __future__ import annotations

import numpy as np


def attention_mass(
    attention_probs: np.ndarray, is_special: np.ndarray, position: int
) -> np.ndarray:
    """Share of its attention that a token puts on tokens of the text.

    What is left lies on [CLS] and [SEP], which heads look at when they have
    nothing to do.

    Args:
        attention_probs: float `[L, N, Q, K]`, rows sum to 1.
        is_special: bool `[K]`, true for [CLS] and [SEP].
        position: index of the token that looks.

    Returns:
        float `[L, N]`, in [0, 1].

    Raises:
        ValueError: `is_special` does not fit, or there is no such token.

    Source:
        Clark et al. 2019 (arXiv:1906.04341), section 3.2, on [SEP] as a place to
        look at without effect.
    """
    num_rows, num_columns = attention_probs.shape[2:]
    if is_special.shape != (num_columns,):
        raise ValueError(
            f"`is_special` must be [{num_columns}]. Received: {is_special.shape}."
        )
    if not 0 <= position < num_rows:
        raise ValueError(f"`position` must be below {num_rows}. Received: {position}.")
    return attention_probs[:, :, position][..., ~is_special].sum(axis=-1)
