"""One attention probability, step by step, in the numbers of the forward pass.

N heads, D head size, H hidden size (H = N * D), Q = K = T.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bertviz_core.analysis.sampling import softmax
from bertviz_core.experiments.attention_parts import (
    attend,
    head_parts,
    require_index,
)
from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.experiments.compiled_step import compiled_step
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Trace


def pair_arithmetic(
    explorer: Explorer,
    trace: Trace,
    layer: int,
    head: int,
    query_token: int,
    key_token: int,
) -> PairArithmetic:
    """Shows how one attention probability comes about, and what it lets through.

    Queries, keys and scores are those of the forward pass, in float32; the other steps
    are in float64. Of these scores the softmax is within 1e-6 of the exposed
    probability, however large they are. The running sum is not: float32 has steps of
    8e-6 at a score of 100, and the pass rounds at each of D products. So the result
    says what that rounding is, and which probability there would be without it.

    Args:
        explorer: the model of the trace.
        trace: with hidden states and attention.
        layer: from 0.
        head: from 0.
        query_token: index of the token that looks.
        key_token: index of the token that is looked at.

    Raises:
        ValueError: the trace lacks a part, or there is no such layer, head, token.

    Source:
        Vaswani et al. 2017 (arXiv:1706.03762), equation 1; for `norm` see
        `norm_weighted_attention`.
    """
    attended = attend(explorer, trace, layer)
    require_index("head", head, len(attended.probs))
    for token in (query_token, key_token):
        require_index("token", token, len(attended.x))
    if trace.attention_probs is None:
        raise ValueError("The trace must hold `attention_probs`.")
    queries, keys, all_scores = as_passed(explorer, trace, layer)
    query, key = queries[head, query_token], keys[head, key_token]
    products = query * key
    scores = all_scores[head, query_token]
    sums = keys[head] @ query / math.sqrt(len(query))  # [K]
    mask_terms = attended.mask_terms[query_token]
    probs, values = softmax(scores + mask_terms), attended.value[head]
    part = probs[key_token] * head_parts(attended)[head, key_token]  # [H]
    return PairArithmetic(
        layer=layer,
        head=head,
        query_token=query_token,
        key_token=key_token,
        query=query,
        key=key,
        products=products,
        running_sums=np.cumsum(products),
        scores=scores,
        mask_terms=mask_terms,
        probs=probs,
        unrounded_probs=softmax(sums + mask_terms),
        exposed_prob=float(trace.attention_probs[layer, head, query_token, key_token]),
        value=values[key_token],
        output=probs @ values,
        norm=float(np.linalg.norm(part)),
    )


def as_passed(
    explorer: Explorer, trace: Trace, layer: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A layer's queries, keys and scores, as the forward pass has rounded them.

    The layer runs once more, compiled as it was in the trace and from the same hidden
    state: outside of a compiled pass sums are added up in another order, and a score of
    100 comes out several steps of float32 away.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
        layer: from 0.

    Returns:
        Queries and keys `[N, T, D]` and scores before masking `[N, Q, K]`: float64
        arrays of numbers that the model has in float32.

    Raises:
        ValueError: the trace has no hidden states, or there is no such layer.
    """
    if trace.hidden_states is None:
        raise ValueError("The trace must hold `hidden_states`.")
    require_index("layer", layer, explorer.config.num_hidden_layers)
    signature = {"states": ("float32", 3)}
    step = compiled_step(explorer, "pair_arithmetic", signature, _scores_of, layer)
    found = step({"states": trace.hidden_states[layer][None]})
    wide = {name: array[0].astype(np.float64) for name, array in found.items()}
    num_heads = explorer.config.num_attention_heads
    queries, keys = (  # [T, H] to [N, T, D]
        wide[name].reshape(len(wide[name]), num_heads, -1).transpose(1, 0, 2)
        for name in ("queries", "keys")
    )
    return queries, keys, wide["scores"]


def _scores_of(model: Any) -> Any:
    from keras import ops

    block, dtype = model.blocks[0], model.compute_dtype

    def body(inputs: Any) -> dict[str, Any]:
        x = ops.cast(inputs["states"], dtype)
        if block.pre_norm:
            x = block.attention_norm(x)
        attention = block.attention
        return {
            "queries": attention.query(x),
            "keys": attention.key(x),
            "scores": attention(x).scores,
        }

    return body
