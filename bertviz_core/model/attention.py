"""Self-attention with its scores and probabilities in the open."""

import math
from typing import Any

from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.layers import Part
from bertviz_core.model.taps import Tap, Tensor, untouched

# google-research/bert adds this to a masked score instead of -inf, so a row
# with nothing left to look at gives no NaN.
MASKED_SCORE = -10000.0


class SelfAttention(Part):
    """Multi-head self-attention; rows look, columns are looked at.

    The output projection, the residual and the norm belong to `EncoderBlock`.

    Returns:
        `(context, probs)`: float `[B, T, H]`, heads joined; float `[B, N, Q, K]`, rows
        over K sum to 1, before dropout.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2; google-research/bert,
    `modeling.py`, `attention_layer`.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        self.query, self.key, self.value = (
            self._dense(name, config.hidden_size, config.hidden_size)
            for name in ("query", "key", "value")
        )
        self.dropout = self._dropout(config.attention_probs_dropout_prob)

    def call(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        query = tap("query", self._split_heads(self.query(hidden_states)))
        key = tap("key", self._split_heads(self.key(hidden_states)))
        value = tap("value", self._split_heads(self.value(hidden_states)))

        products = ops.matmul(query, ops.swapaxes(key, -1, -2))  # [B, N, Q, K]
        scores = tap("scores", products / math.sqrt(self.config.head_size))
        scores = tap("masked_scores", masked(scores, attention_mask))
        probs = tap("probs", ops.softmax(scores, axis=-1))

        used = self.dropout(probs, training=training)
        head_context = tap("head_context", ops.matmul(used, value))  # [B, N, Q, D]
        context = tap("context", self._join_heads(head_context))  # [B, Q, H]
        return context, probs

    def _split_heads(self, x: Tensor) -> Tensor:
        batch, tokens = ops.shape(x)[:2]
        heads, size = self.config.num_attention_heads, self.config.head_size
        x = ops.reshape(x, (batch, tokens, heads, size))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, N, T, D]

    def _join_heads(self, x: Tensor) -> Tensor:
        x = ops.transpose(x, (0, 2, 1, 3))  # [B, T, N, D]
        batch, tokens = ops.shape(x)[:2]
        return ops.reshape(x, (batch, tokens, self.config.hidden_size))


def masked(scores: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Adds 0 where the mask is 1 and the masked score where it is 0."""
    if attention_mask is None:
        return scores
    if len(attention_mask.shape) == 2:
        attention_mask = attention_mask[:, None, None, :]  # [B, 1, 1, K]
    elif len(attention_mask.shape) == 3:
        attention_mask = attention_mask[:, None, :, :]  # [B, 1, Q, K]
    hidden = 1.0 - ops.cast(attention_mask, scores.dtype)
    return scores + hidden * MASKED_SCORE
