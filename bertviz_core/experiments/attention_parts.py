"""Attention taken apart: from a trace and the weights, again, in float64.

Nothing here runs the network. A layer's input is a hidden state of the trace, so
the numbers are those of the text that was traced; the trace must come from a
forward pass without interventions.

N heads, D head size, H hidden size (H = N * D), I intermediate size, Q = K = T.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.experiments.attention_results import (
    NormWeightedAttention,
    ValueZeroing,
)
from bertviz_core.experiments.double_precision import dense, normed, wide
from bertviz_core.experiments.zeroing_room import require_room
from bertviz_core.explorer import Explorer
from bertviz_core.model.attention import MASKED_SCORE
from bertviz_core.model.layers import ACTIVATIONS
from bertviz_core.model.sparse import pattern_edges
from bertviz_core.trace import Trace

# Vectors of I numbers that are in memory at once: 50 MB in float64 at I = 3072.
_MOST_VECTORS = 2048


@dataclass(frozen=True)
class Attended:
    """One layer up to its probabilities, float64; `x` is the residual `[T, H]`."""

    block: Any
    x: np.ndarray
    query: np.ndarray  # [N, T, D]
    key: np.ndarray  # [N, T, D]
    value: np.ndarray  # [N, T, D]
    scores: np.ndarray  # [N, Q, K]
    mask_terms: np.ndarray  # [Q, K]
    probs: np.ndarray  # [N, Q, K]


def norm_weighted_attention(
    explorer: Explorer, trace: Trace, layer: int
) -> NormWeightedAttention:
    """Weighs each attention probability with the vector that it lets through.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
        layer: from 0.

    Raises:
        ValueError: the trace has no hidden states, or there is no such layer.

    Source:
        Kobayashi et al. 2020 (arXiv:2004.10102), equations 4 to 6: the output of
        attention is the sum of a f(x) with f(x) = (x W_V + b_V) W_O, plus the bias of
        W_O. Several heads: their vectors are added before the length is taken.
    """
    attended = attend(explorer, trace, layer)
    parts = head_parts(attended)  # [N, K, H]
    probs = attended.probs
    lengths = np.linalg.norm(parts, axis=-1)  # [N, K]
    # |sum of a_n f_n|^2 = sum of a_n a_m f_n . f_m: never [Q, K, H] in memory.
    keys_first = parts.transpose(1, 0, 2)  # [K, N, H]
    products = keys_first @ keys_first.transpose(0, 2, 1)  # [K, N, N]
    by_key = probs.transpose(2, 1, 0)  # [K, Q, N]
    squares = np.einsum("kqn,kqn->qk", by_key @ products, by_key)
    return NormWeightedAttention(
        layer=layer,
        norms=probs * lengths[:, None, :],
        combined=np.sqrt(np.maximum(squares, 0)),
        output=(probs @ parts).sum(axis=0) + wide(attended.block.attention_output.bias),
    )


def value_zeroing(
    explorer: Explorer,
    trace: Trace,
    layer: int,
    progress: Callable[[float, str], None] | None = None,
) -> ValueZeroing:
    """Takes away each token's value vector in turn and compares the block's outputs.

    All heads lose the vector; the probabilities stay. The output is that of the
    whole block, residual, norms and feed-forward network included; in a pre-norm
    model it is the residual, before the norm of the next block. The work grows with
    the square of the text: every token passes the feed-forward network T times. For
    the memory see `zeroing_room`.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
        layer: from 0.
        progress: told the fraction done; may raise to cancel.

    Raises:
        TextError: see `zeroing_room.require_room`.
        ValueError: the trace has no hidden states, or there is no such layer.

    Source:
        Mohebbi et al. 2023 (arXiv:2301.12971), section 3.
    """
    config = explorer.config
    num_tokens = trace.tokenized.num_tokens
    require_room(config, num_tokens, _MOST_VECTORS)
    attended = attend(explorer, trace, layer)
    finish = _finisher(attended.block, config)
    parts = head_parts(attended).transpose(1, 0, 2)  # [K, N, H]
    bias = wide(attended.block.attention_output.bias)
    updates = np.einsum("nqk,knh->qh", attended.probs, parts, optimize=True) + bias
    num_rows = max(1, _MOST_VECTORS // num_tokens)
    distances = np.empty((num_tokens, num_tokens))
    for start in range(0, num_tokens, num_rows):
        if progress is not None:
            progress(start / num_tokens, "value zeroing")
        rows = slice(start, start + num_rows)
        taken = attended.probs[:, rows].transpose(2, 1, 0) @ parts  # [K, Q', H]
        without = updates[rows, None] - taken.transpose(1, 0, 2)  # [Q', K, H]
        x = attended.x[rows]
        changed = finish(x[:, None], without)
        distances[rows] = _cosine_distance(finish(x, updates[rows])[:, None], changed)
    total = distances.sum(axis=-1, keepdims=True)
    scores = np.divide(distances, total, out=np.zeros_like(distances), where=total > 0)
    return ValueZeroing(layer, distances, scores)


def visible_edges(config: BertConfig, num_tokens: int) -> np.ndarray:
    """What each token may look at, bool `[T, T]`; all true without a pattern.

    Args:
        config: its `sparse_` fields.
        num_tokens: T.
    """
    edges = pattern_edges(config, np.arange(num_tokens, dtype="int32")[None])
    if edges is None:
        return np.ones((num_tokens, num_tokens), bool)
    return np.asarray(edges)[0].astype(bool)


def attend(explorer: Explorer, trace: Trace, layer: int) -> Attended:
    """One layer up to its probabilities, in float64.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
        layer: from 0.

    Raises:
        ValueError: the trace has no hidden states, or there is no such layer.
    """
    config = explorer.config
    if trace.hidden_states is None:
        raise ValueError("The trace must hold `hidden_states`.")
    require_index("layer", layer, config.num_hidden_layers)
    block = explorer.loaded.model.blocks[layer]
    x = trace.hidden_states[layer].astype(np.float64)  # [T, H]
    source = normed(block.attention_norm, x) if config.pre_norm else x

    def split(projection: Any) -> np.ndarray:
        """[T, H] to [N, T, D]."""
        projected = dense(projection, source)
        shape = (len(x), config.num_attention_heads, config.head_size)
        return projected.reshape(shape).transpose(1, 0, 2)

    query, key = split(block.attention.query), split(block.attention.key)
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(config.head_size)  # [N, Q, K]
    mask_terms = np.where(visible_edges(config, len(x)), 0.0, MASKED_SCORE)
    masked = scores + mask_terms
    powers = np.exp(masked - masked.max(axis=-1, keepdims=True))
    probs = powers / powers.sum(axis=-1, keepdims=True)
    value = split(block.attention.value)
    return Attended(block, x, query, key, value, scores, mask_terms, probs)


def head_parts(attended: Attended) -> np.ndarray:
    """Each head's value through its rows of the output projection, `[N, K, H]`."""
    num_heads, _, head_size = attended.value.shape
    kernel = wide(attended.block.attention_output.kernel)
    return attended.value @ kernel.reshape(num_heads, head_size, -1)


def _finisher(
    block: Any, config: BertConfig
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The rest of a block: from the residual and attention's update to its output."""
    # In the framework, in double precision: NumPy has no error function, and its
    # threads and the framework's would wait for each other.
    from keras import ops

    inner, outer = block.feed_forward.intermediate, block.feed_forward.output_projection
    weights = (inner.kernel, inner.bias, outer.kernel, outer.bias)
    into, into_bias, out, out_bias = (
        ops.convert_to_tensor(wide(weight), dtype="float64") for weight in weights
    )

    def feed_forward(x: np.ndarray) -> np.ndarray:
        # One product of matrices: a stack of them took ten times as long.
        flat = ops.convert_to_tensor(x.reshape(-1, x.shape[-1]), dtype="float64")
        neurons = ACTIVATIONS[config.hidden_act](ops.matmul(flat, into) + into_bias)
        result = ops.convert_to_numpy(ops.matmul(neurons, out) + out_bias)
        return result.reshape(x.shape)

    def finish(x: np.ndarray, update: np.ndarray) -> np.ndarray:
        x = x + update
        if config.pre_norm:
            return x + feed_forward(normed(block.output_norm, x))
        x = normed(block.attention_norm, x)
        return normed(block.output_norm, x + feed_forward(x))

    return finish


def _cosine_distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Over the last axis, in [0, 2]."""
    # Half the squared distance of unit vectors: 1 - cos would lose small numbers.
    apart = _unit(x) - _unit(y)
    return np.einsum("...h,...h->...", apart, apart) / 2


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def require_index(name: str, index: int, size: int) -> None:
    """Refuses an index that is none.

    Args:
        name: of the argument.
        index: from 0.
        size: how many there are.

    Raises:
        ValueError: there are fewer.
    """
    if not 0 <= index < size:
        raise ValueError(
            f"`{name}` must be at least 0 and below {size}. Received: {index}."
        )
