"""One attention probability, step by step, in the numbers of the forward pass.

N heads, D head size, H hidden size (H = N * D), Q = K = T.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bertviz_core.analysis.sampling import softmax
from bertviz_core.experiments.attention_parts import (
    attend,
    head_parts,
    require_index,
)
from bertviz_core.experiments.attention_results import PairArithmetic
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

    Query, keys and scores are those of the forward pass, in float32; from there on the
    steps are in float64. Computed in float64 from the layer's input the probability
    would differ from the exposed one by more than 1e-6 where scores are large.

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
    queries, keys, all_scores = _as_passed(explorer, trace, layer)
    query, key = queries[head, query_token], keys[head, key_token]
    products = query * key
    scores = all_scores[head, query_token]
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
        exposed_prob=float(trace.attention_probs[layer, head, query_token, key_token]),
        value=values[key_token],
        output=probs @ values,
        norm=float(np.linalg.norm(part)),
    )


def _as_passed(
    explorer: Explorer, trace: Trace, layer: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries and keys `[N, T, D]` and scores before masking `[N, Q, K]`.

    Float64 that hold what the model's own layers give in float32.
    """
    from keras import ops

    block = explorer.loaded.model.blocks[layer]
    if trace.hidden_states is None:
        raise ValueError("The trace must hold `hidden_states`.")
    x = ops.convert_to_tensor(trace.hidden_states[layer][None], dtype="float32")
    if explorer.config.pre_norm:
        x = block.attention_norm(x)
    attention, num_heads = block.attention, explorer.config.num_attention_heads

    def of_heads(projected: Any) -> np.ndarray:
        rows = ops.convert_to_numpy(projected)[0].astype(np.float64)  # [T, H]
        return rows.reshape(len(rows), num_heads, -1).transpose(1, 0, 2)

    scores = ops.convert_to_numpy(attention(x).scores)[0].astype(np.float64)
    return of_heads(attention.query(x)), of_heads(attention.key(x)), scores
