"""Self-attention with its scores and probabilities in the open."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.dropout import Dropout
from bertviz_core.model.layers import Dense, Tensor, first, gradient_rule

# google-research/bert adds this to a masked score instead of -inf, so a row
# with nothing left to look at gives no NaN.
MASKED_SCORE = -10000.0


class AttentionOutput(NamedTuple):
    """What one attention layer computed.

    `context` float `[B, T, H]`, heads merged, before the output projection;
    `scores` float `[B, N, Q, K]`, q . k / sqrt(D) with masking added;
    `probs` float `[B, N, Q, K]`, rows over K sum to 1, before dropout and
    before heads are switched off.
    """

    context: Tensor
    scores: Tensor
    probs: Tensor


class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention; rows look, columns are looked at.

    The output projection, the residual and the norm belong to `EncoderBlock`.

    Args:
        config: sizes, `attention_probs_dropout_prob`, `initializer_range`.

    Call arguments:
        hidden_states: float `[B, T, H]`.
        attention_mask: int `[B, T]`; 1 marks a token, 0 marks padding. Or
            `[B, Q, K]`: 1 where a row may look. `None`: all tokens, and no
            pass over the scores.
        head_mask: float `[B or 1, N]` or `None`; multiplies what a head passes
            on: 1 leaves it, 0 switches it off.
        edge_mask: int `[B or 1, N or 1, Q, K]` or `None`; 0 cuts the edge
            before the softmax, so that the rest of its row shares the weight.
        num_queries: only the first so many tokens look, Q of them; `None`: all.
            Masks with an axis Q keep all their T rows.
        training: turns dropout on.

    Returns:
        `AttentionOutput`, of the tokens that look.

    Source:
        Vaswani et al. 2017 (arXiv:1706.03762), section 3.2;
        google-research/bert, `modeling.py`, `attention_layer`.
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = config
        self.query = self._projection("query")
        self.key = self._projection("key")
        self.value = self._projection("value")
        self.dropout = Dropout(
            config.attention_probs_dropout_prob, dtype=self.dtype_policy
        )

    def build(self, *_: Any) -> None:
        for projection in (self.query, self.key, self.value):
            projection.build()

    def call(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        head_mask: Tensor | None = None,
        edge_mask: Tensor | None = None,
        num_queries: int | None = None,
        training: bool | None = None,
    ) -> AttentionOutput:
        looking = first(hidden_states, num_queries, axis=1)
        query = self._split_heads(self.query(looking))  # [B, N, Q, D]
        key = self._split_heads(self.key(hidden_states))  # [B, N, K, D]
        value = self._split_heads(self.value(hidden_states))  # [B, N, K, D]

        # Scaled before the product: there are fewer queries than scores.
        query = query / math.sqrt(self.config.head_size)
        scores = ops.matmul(query, ops.swapaxes(key, -1, -2))  # [B, N, Q, K]
        if attention_mask is not None:
            keep = first(_per_head(attention_mask), num_queries, axis=2)
            scores = scores + _penalty(keep, scores.dtype)
        if edge_mask is not None:
            keep = first(edge_mask, num_queries, axis=2)
            scores = scores + _penalty(keep, scores.dtype)
        probs = ops.softmax(scores, axis=-1)  # [B, N, Q, K]

        context = ops.matmul(probs, value)
        if training:  # the same with dropout, in its place
            context = self._trained_context(scores, value)
        if head_mask is not None:
            context = context * ops.cast(head_mask, context.dtype)[:, :, None, None]
        return AttentionOutput(self._merge_heads(context), scores, probs)

    def _trained_context(self, scores: Tensor, value: Tensor) -> Tensor:
        """`softmax(scores) @ value` with dropout, `[B, N, Q, D]`.

        The plain product is then read by nobody, so that no graph computes it.
        """
        if self.dropout.rate == 0:
            return _weighted_sum(scores, value, None)
        # The values are scaled up for the weights: there are fewer of them.
        kept = self.dropout.kept(scores)
        return _weighted_sum(scores, value * self.dropout.scale, kept)

    def _projection(self, name: str) -> Dense:
        size = self.config.hidden_size
        return Dense(size, size, self.config, name=name, dtype=self.dtype_policy)

    def _split_heads(self, x: Tensor) -> Tensor:
        batch, tokens = ops.shape(x)[:2]
        heads, size = self.config.num_attention_heads, self.config.head_size
        x = ops.reshape(x, (batch, tokens, heads, size))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, N, T, D]

    def _merge_heads(self, x: Tensor) -> Tensor:
        x = ops.transpose(x, (0, 2, 1, 3))  # [B, T, N, D]
        batch, tokens = ops.shape(x)[:2]
        return ops.reshape(x, (batch, tokens, self.config.hidden_size))


def _weighted_sum(scores: Tensor, value: Tensor, kept: Tensor | None) -> Tensor:
    """`(softmax(scores) * kept) @ value`, with a gradient that passes less often.

    The gradient of a softmax subtracts from that of each probability the mean of its
    row, weighted by the probabilities. That mean is context times its gradient, summed
    over the head, which is far shorter than a row.

    Source: Dao et al. 2022 (arXiv:2205.14135), appendix B.2.
    """

    def drop(x: Tensor) -> Tensor:
        return x if kept is None else x * kept

    @ops.custom_gradient
    def weighted_sum(
        scores: Tensor, value: Tensor
    ) -> tuple[Tensor, Callable[..., tuple[Tensor, Tensor]]]:
        probs = ops.softmax(scores, axis=-1)
        used = drop(probs)
        context = ops.matmul(used, value)

        @gradient_rule
        def gradient(given: Tensor) -> tuple[Tensor, Tensor]:
            to_probs = drop(ops.matmul(given, ops.swapaxes(value, -1, -2)))
            mean = ops.sum(given * context, axis=-1, keepdims=True)
            to_value = ops.matmul(ops.swapaxes(used, -1, -2), given)
            return probs * (to_probs - mean), to_value

        return context, gradient

    return weighted_sum(scores, value)


def _per_head(attention_mask: Tensor) -> Tensor:
    """`[B, T]` to `[B, 1, 1, K]`, or `[B, Q, K]` to `[B, 1, Q, K]`."""
    if len(attention_mask.shape) == 2:
        return attention_mask[:, None, None, :]
    return attention_mask[:, None, :, :]


def _penalty(keep: Tensor, dtype: Any) -> Tensor:
    """0 where `keep` is 1, the masked score where it is 0."""
    return (1.0 - ops.cast(keep, dtype)) * MASKED_SCORE
