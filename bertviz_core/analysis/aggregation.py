"""Many heads as one matrix: mean, maximum, rollout, flow; many layers as one way down.

L layers, N heads, Q = K = T tokens, W words; rows look, columns are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.tasks import untold

if TYPE_CHECKING:
    from collections.abc import Callable

# What a weight of 1 is among the capacities of `attention_flow`, which are int32.
_WHOLE = 10**9


def mean_of_heads(
    attention: np.ndarray, chosen: np.ndarray | None = None
) -> np.ndarray:
    """Averages heads `[L, N, Q, K]`, or chosen ones `[L, N]`, to float64 `[Q, K]`.

    Rows that sum to 1 in each head still do.
    """
    weights = _chosen(attention, chosen).astype(np.float64)
    # A layer at a time: all heads of a long text are 300 MB in float64.
    total = sum(
        np.tensordot(of_layer, layer, axes=1)
        for of_layer, layer in zip(weights, attention, strict=True)
        if of_layer.any()
    )
    return np.asarray(total) / weights.sum()


def max_of_heads(attention: np.ndarray) -> np.ndarray:
    """The largest weight that any head `[L, N, Q, K]` gives, float64 `[Q, K]`.

    Rows may sum to more than 1.
    """
    return attention.max(axis=(0, 1)).astype(np.float64)


def rollout(attention: np.ndarray) -> np.ndarray:
    """Follows attention through the layers, with the residual as half of each weight.

    Each layer's heads are averaged to A; A' = I / 2 + A / 2; the rollout of a layer is
    A' times the rollout of the layer below. It treats attention `[L, N, T, T]` as if it
    carried tokens along, which it does not quite: values, norms and feed-forward
    networks are left out.

    Returns:
        float64 `[L, T, T]`: at `[l]` from a token after layer l to the tokens of the
        input; rows sum to 1.

    Source: Abnar and Zuidema 2020 (arXiv:2005.00928), section 3, "attention rollout".
    """
    reached, of_layers = np.eye(attention.shape[-1]), []
    for layer in _with_residual(attention):
        reached = layer @ reached
        of_layers.append(reached)
    return np.stack(of_layers)


def attention_flow(
    attention: np.ndarray,
    groups: np.ndarray | None = None,
    tell: Callable[[float, str], object] = untold,
) -> np.ndarray:
    """How much can flow from a token at the top to one of the input, at most.

    Each weight of A', see `rollout`, is a pipe of that width between two layers; from
    one token to one other, all pipes are free. So rows add up to more than 1. Where
    there are many layers, what the first of them gives to a token is mostly all that
    limits it: nearly the same number for each token at the top.

    Args:
        attention: float `[L, N, T, T]`, rows sum to 1.
        groups: int `[T]`, which word a token is of, from 0; each token for itself by
            default. The pieces of a word share a source, whose flow is divided by
            their number, and a sink.

    Returns:
        float64 `[T, T]` or `[W, W]`, in [0, 1], from the last layer to the input. Too
        large or too small by less than L T² pieces of a word / 2e9, as the library
        counts in integers: 6e-6 for 12 layers and 32 tokens.

    Source: Abnar and Zuidema 2020 (arXiv:2005.00928), section 3, "attention flow"; the
    algorithm: Dinic 1970, by `scipy.sparse.csgraph.maximum_flow`.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    layers = _with_residual(attention)
    depth, tokens = layers.shape[:2]
    groups = np.arange(tokens) if groups is None else groups
    sizes = np.bincount(groups)
    nodes = np.arange((depth + 1) * tokens).reshape(depth + 1, tokens)  # input first
    sources, sinks = nodes.size + np.arange(2 * len(sizes)).reshape(2, -1)
    pipes = [
        (np.repeat(nodes[1:], tokens), np.repeat(nodes[:-1], tokens, axis=0).ravel()),
        (sources[groups], nodes[-1]),
        (nodes[0], sinks[groups]),
    ]
    widths = np.full(layers.size + 2 * tokens, _WHOLE, "int32")
    # All that a word may send at once must be an int32, too.
    widths[: layers.size] = np.rint(layers.ravel() * (_WHOLE // sizes.max()))
    ends = tuple(map(np.concatenate, zip(*pipes, strict=True)))
    graph = csr_array((widths, ends), shape=[nodes.size + 2 * len(sizes)] * 2)
    flows = np.empty((len(sizes), len(sizes)))
    for index, source in enumerate(sources):
        tell(index / len(sizes), "attention flow")
        flows[index] = [maximum_flow(graph, source, sink).flow_value for sink in sinks]
    return np.minimum(flows / (_WHOLE // sizes.max()) / sizes[:, None], 1.0)


def _with_residual(attention: np.ndarray) -> np.ndarray:
    """A' of each layer, float64 `[L, T, T]`; rows sum to 1."""
    means = np.stack([layer.mean(axis=0, dtype=np.float64) for layer in attention])
    # The model's float32 rows miss 1 by a little, layer upon layer.
    means /= means.sum(axis=-1, keepdims=True)
    return (np.eye(attention.shape[-1]) + means) / 2


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


def follow_down(shares: np.ndarray, focus: int) -> np.ndarray:
    """How much of a token at the top comes from each token at each height.

    Each layer's shares are passed on as if a state were one indivisible thing; what
    the feed-forward network makes of it is left out.

    Args:
        shares: float `[L, T, T]`, rows are next states, each adds up to 1.
        focus: index of the token that is followed.

    Returns:
        float64 `[L + 1, T]`, the input first; each row adds up to 1.

    Source: Abnar and Zuidema 2020, see `rollout`, for one token and from the top; there
    with attention in the place of these shares.
    """
    reached = [np.eye(shares.shape[-1])[focus]]
    for layer in shares[::-1]:
        reached.append(reached[-1] @ layer)
    return np.stack(reached[::-1])
