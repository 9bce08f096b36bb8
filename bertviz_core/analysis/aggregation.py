"""Many heads as one matrix: mean, maximum, attention rollout.

L layers, N heads, Q = K = T tokens; rows look, columns are looked at.
"""

from __future__ import annotations

import numpy as np


def mean_of_heads(
    attention: np.ndarray, chosen: np.ndarray | None = None
) -> np.ndarray:
    """Averages heads; rows that sum to 1 in each head still do.

    Args:
        attention: float `[L, N, Q, K]`.
        chosen: bool `[L, N]`, the heads that count; `None` for all.

    Returns:
        float64 `[Q, K]`.

    Raises:
        ValueError: no head is chosen, or `chosen` has another shape.
    """
    weights = _chosen(attention, chosen).astype(np.float64)
    # A layer at a time: all heads of a long text are 300 MB in float64.
    total = sum(
        np.tensordot(of_layer, layer, axes=1)
        for of_layer, layer in zip(weights, attention, strict=True)
        if of_layer.any()
    )
    return np.asarray(total) / weights.sum()


def max_of_heads(attention: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """The largest weight that any head gives; rows may sum to more than 1.

    Args:
        attention: float `[L, N, Q, K]`.
        chosen: bool `[L, N]`, the heads that count; `None` for all.

    Returns:
        float64 `[Q, K]`.

    Raises:
        ValueError: no head is chosen, or `chosen` has another shape.
    """
    of_layers = [
        layer[of_layer].max(axis=0)
        for of_layer, layer in zip(_chosen(attention, chosen), attention, strict=True)
        if of_layer.any()
    ]
    return np.max(of_layers, axis=0).astype(np.float64)


def rollout(attention: np.ndarray, residual: float = 0.5) -> np.ndarray:
    """Follows attention through the layers, with the residual as a look at oneself.

    Each layer's heads are averaged to A; A' = residual * I + (1 - residual) * A; the
    rollout of a layer is A' times the rollout of the layer below. It treats
    attention as if it carried tokens along, which it does not quite: values, norms
    and feed-forward networks are left out.

    Args:
        attention: float `[L, N, T, T]`, rows sum to 1.
        residual: share of the identity, in [0, 1]. One half is the paper's.

    Returns:
        float64 `[L, T, T]`: at `[l]` from a token after layer l to the tokens of the
        input; rows sum to 1.

    Raises:
        ValueError: `residual` outside [0, 1].

    Source:
        Abnar and Zuidema 2020 (arXiv:2005.00928), section 3, "attention rollout".
    """
    if not 0 <= residual <= 1:
        raise ValueError(
            f"`residual` must be in [0, 1]. Received: residual={residual}."
        )
    identity = np.eye(attention.shape[-1])
    reached, of_layers = identity, []
    for layer in attention:
        mean = layer.mean(axis=0, dtype=np.float64)
        # The model's float32 rows miss 1 by a little, layer upon layer.
        mean /= mean.sum(axis=-1, keepdims=True)
        reached = (residual * identity + (1 - residual) * mean) @ reached
        of_layers.append(reached)
    return np.stack(of_layers)


def _chosen(attention: np.ndarray, chosen: np.ndarray | None) -> np.ndarray:
    """The heads that count, bool `[L, N]`."""
    if chosen is None:
        return np.ones(attention.shape[:2], bool)
    chosen = np.asarray(chosen, bool)
    if chosen.shape != attention.shape[:2] or not chosen.any():
        raise ValueError(
            f"`chosen` must mark at least one of the heads {attention.shape[:2]}. "
            f"Received: shape={chosen.shape}, marked={int(chosen.sum())}."
        )
    return chosen
