"""Attention decomposed: what each head adds to a token, and from which tokens.

A layer's activations are those of the forward pass, in float32; what is made of them
here, in NumPy, is in float64.

N heads, D head size, H hidden size (H = N * D), I intermediate size, Q = K = T.
"""

import math

import numpy as np

from bertviz_core.analysis.attention import share_of_row
from bertviz_core.analysis.sampling import softmax
from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError, require_index
from bertviz_core.experiments.attention_results import (
    NormWeightedAttention,
    PairArithmetic,
)
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import Trace
from bertviz_core.weights import as_numpy

# Vectors that pass the feed-forward network at once: 25 MB of neurons at I = 3072.
_MOST_VECTORS = 2048
# Of value zeroing, whose work grows with the square of the text.
_MOST_TOKENS = 512
_MOST_BYTES = 2**30


def norm_weighted_attention(
    explorer: Explorer, trace: Trace, layer: int
) -> NormWeightedAttention:
    """Weighs each attention probability with the vector that it lets through.

    Source: Kobayashi et al. 2020 (arXiv:2004.10102), equations 4 to 6: the output of
    attention is the sum of a f(x) with f(x) = (x W_V + b_V) W_O, plus the bias of W_O.
    Several heads: their vectors are added before the length is taken. With the
    residual, Kobayashi et al. 2021 (arXiv:2109.07152), section 3, "AttnRes-N".
    """
    values = block_values(explorer, trace, layer)
    probs = values["attention.probs"].astype(np.float64)
    parts = _head_parts(explorer, layer, values["attention.value"])  # [N, K, H]
    lengths = np.linalg.norm(parts, axis=-1)  # [N, K]
    # |sum of a_n f_n|^2 = sum of a_n a_m f_n . f_m: never [Q, K, H] in memory.
    keys_first = parts.transpose(1, 0, 2)  # [K, N, H]
    products = keys_first @ keys_first.transpose(0, 2, 1)  # [K, N, N]
    by_key = probs.transpose(2, 1, 0)  # [K, Q, N]
    squares = np.einsum("kqn,kqn->qk", by_key @ products, by_key)
    combined = np.sqrt(np.maximum(squares, 0))
    own = np.einsum("nt,nth->th", np.einsum("ntt->nt", probs), parts)
    with_residual = combined.copy()
    np.fill_diagonal(with_residual, np.linalg.norm(own + values["input"], axis=-1))
    return NormWeightedAttention(
        norms=probs * lengths[:, None, :],
        combined=combined,
        with_residual=with_residual,
    )


def value_zeroing(
    explorer: Explorer, trace: Trace, layer: int, progress: Progress = untold
) -> np.ndarray:
    """Takes away each token's value vector in turn and compares the block's outputs.

    All heads lose the vector; the probabilities stay. The output is that of the
    whole block, residual, norms and feed-forward network included; in a pre-norm
    model it is the residual, before the norm of the next block. The work grows with
    the square of the text: every token passes the feed-forward network T times.

    Returns:
        float64 `[Q, K]`, cosine distance of the block's output at a row's token, with
        and without the value vector of the column's token; rows sum to 1, but for
        one in which nothing changed, which is 0.

    Raises:
        TextError: see `require_room`.

    Source: Mohebbi et al. 2023 (arXiv:2301.12971), section 3.
    """
    num_tokens = trace.tokenized.num_tokens
    require_room(explorer.config, num_tokens)
    values = block_values(explorer, trace, layer)
    x, update = values["input"], values["attention.output"]  # [T, H]
    parts = _head_parts(explorer, layer, values["attention.value"])
    parts = parts.transpose(1, 0, 2).astype(np.float32)  # [K, N, H]
    num_rows = max(1, _MOST_VECTORS // num_tokens)
    distances = np.empty((num_tokens, num_tokens))
    for start in range(0, num_tokens, num_rows):
        progress(start / num_tokens, "value zeroing")
        rows = slice(start, start + num_rows)
        probs = values["attention.probs"][:, rows]  # [N, Q', K]
        without = update[rows] - probs.transpose(2, 1, 0) @ parts  # [K, Q', H]
        # The whole update stands first: both outputs are computed in one product.
        updates = np.concatenate([update[None, rows], without])  # [1 + K, Q', H]
        outputs = explorer.forward.block(
            layer,
            x[None, rows],
            keep=("output",),
            replace={"attention.output": updates},
        )["output"]
        distances[rows] = _cosine_distance(outputs[:1], outputs[1:]).T
    return share_of_row(distances)


def require_room(config: BertConfig, num_tokens: int) -> None:
    """Refuses a value zeroing that would take too long, or not fit into memory.

    Raises:
        TextError: more than 512 tokens, or than 1 GB to hold at once beside the model
            and the trace.
    """
    heads, hidden = config.num_attention_heads, config.hidden_size
    needed = 4 * (
        6 * heads * num_tokens**2  # scores, masked, probabilities, twice
        + 4 * heads * num_tokens * hidden  # what each head brings from each token
        + max(_MOST_VECTORS, num_tokens) * (2 * config.intermediate_size + 14 * hidden)
    )
    if num_tokens > _MOST_TOKENS or needed > _MOST_BYTES:
        raise TextError(
            "Removing every token's value is too much work for this text and model. "
            "Received: {tokens} tokens and {megabytes} MB at once; the limits are "
            "{most_tokens} tokens and {most_megabytes} MB. Shorten the text.",
            tokens=num_tokens,
            megabytes=needed // 2**20,
            most_tokens=_MOST_TOKENS,
            most_megabytes=_MOST_BYTES // 2**20,
        )


@task()
def pair_arithmetic(
    explorer: Explorer,
    trace: Trace,
    layer: int,
    head: int,
    query_token: int,
    key_token: int,
) -> PairArithmetic:
    """Shows how one attention probability comes about, and what it lets through.

    Queries, keys, values and scores are those of the forward pass, in float32; the
    other steps are in float64. Of these scores the softmax is within 1e-6 of the
    exposed probability, however large they are. The running sum is not: float32 has
    steps of 8e-6 at a score of 100, and the pass rounds at each of D products. So the
    result says what that rounding is, and which probability there would be without it.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), equation 1; for `norm` see
    `norm_weighted_attention`.
    """
    from bertviz_core.model.attention import MASKED_SCORE

    num_tokens = trace.tokenized.num_tokens
    require_index("head", head, explorer.config.num_attention_heads)
    for token in (query_token, key_token):
        require_index("token", token, num_tokens)
    if trace.attention_probs is None:
        raise ValueError("The trace must hold `attention_probs`.")
    found = block_values(explorer, trace, layer)
    queries, keys, values, all_scores = (
        found[f"attention.{name}"][head].astype(np.float64)
        for name in ("query", "key", "value", "scores")
    )
    query, scores = queries[query_token], all_scores[query_token]
    products = query * keys[key_token]
    is_seen = explorer.forward.visible(num_tokens)[query_token]  # [K]
    mask_terms = np.where(is_seen, 0.0, MASKED_SCORE)
    probs = softmax(scores + mask_terms)
    brought = _head_parts(explorer, layer, found["attention.value"])[head, key_token]
    return PairArithmetic(
        key_token=key_token,
        query=query,
        key=keys[key_token],
        products=products,
        running_sums=np.cumsum(products),
        scores=scores,
        mask_terms=mask_terms,
        probs=probs,
        unrounded_probs=softmax(keys @ query / math.sqrt(len(query)) + mask_terms),
        exposed_prob=float(trace.attention_probs[layer, head, query_token, key_token]),
        value=values[key_token],
        output=probs @ values,
        norm=float(np.linalg.norm(probs[key_token] * brought)),
    )


def _head_parts(explorer: Explorer, layer: int, value: np.ndarray) -> np.ndarray:
    """Each head's value through its rows of the output projection, `[N, K, H]`."""
    num_heads, _, head_size = value.shape
    kernel = as_numpy(explorer.loaded.model.blocks[layer].attention_output.kernel)
    rows = kernel.reshape(num_heads, head_size, -1)
    # Both: NumPy takes a hundred times as long for a stack of products of two kinds.
    return value.astype(np.float64) @ rows.astype(np.float64)


def _cosine_distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Over the last axis, in [0, 2]."""
    # Half the squared distance of unit vectors: 1 - cos would lose small numbers.
    apart = _unit(x) - _unit(y)
    return np.einsum("...h,...h->...", apart, apart) / 2


def _unit(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)
