"""One encoder block: attention, then the feed-forward network, each added on."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.attention import AttentionOutput, SelfAttention
from bertviz_core.model.dropout import Dropout
from bertviz_core.model.layers import (
    ACTIVATIONS,
    Dense,
    LayerNorm,
    Tensor,
    first,
)


class FeedForward(keras.layers.Layer):
    """Two projections with an activation between them, the same at every token.

    Args:
        config: `hidden_size`, `intermediate_size`, `hidden_act`.

    Call arguments:
        hidden_states: float `[B, T, H]`.
        neuron_mask: float `[B or 1, I]` or `None`; multiplies each neuron
            after the activation: 1 leaves it, 0 silences it.

    Returns:
        float `[B, T, H]`.

    Source:
        Vaswani et al. 2017, section 3.3; google-research/bert, `modeling.py`,
        `transformer_model`, "intermediate" and "output".
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        hidden, inner = config.hidden_size, config.intermediate_size
        policy = self.dtype_policy
        self.activation = ACTIVATIONS[config.hidden_act]
        self.intermediate = Dense(
            hidden, inner, config, name="intermediate", dtype=policy
        )
        self.output_projection = Dense(
            inner, hidden, config, name="output", dtype=policy
        )

    def build(self, *_: Any) -> None:
        self.intermediate.build()
        self.output_projection.build()

    def call(self, hidden_states: Tensor, neuron_mask: Tensor | None = None) -> Tensor:
        neurons = self.activation(self.intermediate(hidden_states))  # [B, T, I]
        if neuron_mask is not None:
            neurons = neurons * ops.cast(neuron_mask, neurons.dtype)[:, None, :]
        return self.output_projection(neurons)


class EncoderBlock(keras.layers.Layer):
    """Attention and feed-forward with residuals and norms, in either order.

    Post-norm, as BERT was trained: x = norm(x + f(x)).
    Pre-norm: x = x + f(norm(x)); the model adds one norm after the last block.

    Args:
        config: reads all sizes and rates, and `pre_norm`.

    Call arguments:
        hidden_states, attention_mask, head_mask, edge_mask, num_queries, training:
            see `SelfAttention`.
        neuron_mask: see `FeedForward`.
        update_scale: a number or `None`; multiplies what either half adds.

    Returns:
        `(hidden_states, attention)`: float `[B, Q, H]` of the tokens that look, by
        default all, and `AttentionOutput`.

    Source:
        google-research/bert, `modeling.py`, `transformer_model`; for pre-norm
        Xiong et al. 2020 (arXiv:2002.04745), figure 1b.
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        size, policy = config.hidden_size, self.dtype_policy
        self.pre_norm = config.pre_norm
        self.attention = SelfAttention(config, name="attention", dtype=policy)
        self.attention_output = Dense(
            size, size, config, name="attention_output", dtype=policy
        )
        self.attention_norm = LayerNorm(config, name="attention_norm", dtype=policy)
        self.feed_forward = FeedForward(config, name="feed_forward", dtype=policy)
        self.output_norm = LayerNorm(config, name="output_norm", dtype=policy)
        self.dropout = Dropout(config.hidden_dropout_prob, dtype=policy)

    def build(self, *_: Any) -> None:
        for part in (
            self.attention,
            self.attention_output,
            self.attention_norm,
            self.feed_forward,
            self.output_norm,
        ):
            part.build()

    def call(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        head_mask: Tensor | None = None,
        edge_mask: Tensor | None = None,
        neuron_mask: Tensor | None = None,
        update_scale: Tensor | None = None,
        num_queries: int | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, AttentionOutput]:
        x = hidden_states
        attention = self.attention(
            self.attention_norm(x) if self.pre_norm else x,
            attention_mask,
            head_mask=head_mask,
            edge_mask=edge_mask,
            num_queries=num_queries,
            training=training,
        )
        update = _scaled(self.attention_output(attention.context), update_scale)
        x = first(x, num_queries, axis=1)
        x = x + self.dropout(update, training=training)
        if not self.pre_norm:
            x = self.attention_norm(x)

        update = self.feed_forward(
            self.output_norm(x) if self.pre_norm else x, neuron_mask
        )
        update = _scaled(update, update_scale)
        x = x + self.dropout(update, training=training)
        if not self.pre_norm:
            x = self.output_norm(x)
        return x, attention


def _scaled(update: Tensor, scale: Tensor | None) -> Tensor:
    return update if scale is None else update * ops.cast(scale, update.dtype)
