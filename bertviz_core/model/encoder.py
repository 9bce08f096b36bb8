"""One encoder block: attention, then the feed-forward network, each added on."""

from __future__ import annotations

from typing import Any

import keras

from bertviz_core.config import BertConfig
from bertviz_core.model.attention import SelfAttention
from bertviz_core.model.layers import ACTIVATIONS, Dense, LayerNorm, start_values
from bertviz_core.model.taps import Tap, Tensor, untouched, within


class FeedForward(keras.layers.Layer):
    """Two projections with an activation between them, the same at every token.

    Args:
        config: `hidden_size`, `intermediate_size`, `hidden_act`.
        kernel_initializer: see `start_values`.

    Call arguments:
        hidden_states: float `[B, T, H]`.
        tap: see `taps`.

    Returns:
        float `[B, T, H]`.

    Source:
        Vaswani et al. 2017, section 3.3; google-research/bert, `modeling.py`,
        `transformer_model`, "intermediate" and "output".
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        hidden, inner = config.hidden_size, config.intermediate_size
        policy = self.dtype_policy
        self.activation = ACTIVATIONS[config.hidden_act]
        start = start_values(config, kernel_initializer)
        self.intermediate = Dense(
            hidden, inner, start, name="intermediate", dtype=policy
        )
        start = start_values(config, kernel_initializer)
        self.output_projection = Dense(
            inner, hidden, start, name="output", dtype=policy
        )

    def build(self, *_: Any) -> None:
        self.intermediate.build()
        self.output_projection.build()

    def call(self, hidden_states: Tensor, tap: Tap = untouched) -> Tensor:
        intermediate = tap("pre", self.intermediate(hidden_states))  # [B, T, I]
        neurons = tap("post", self.activation(intermediate))
        return tap("output", self.output_projection(neurons))  # [B, T, H]


class EncoderBlock(keras.layers.Layer):
    """Attention and feed-forward with residuals and norms, in either order.

    Post-norm, as BERT was trained: x = norm(x + f(x)).
    Pre-norm: x = x + f(norm(x)); the model adds one norm after the last block.

    Args:
        config: reads all sizes and rates, and `pre_norm`.
        kernel_initializer: see `start_values`.

    Call arguments:
        hidden_states, attention_mask, tap, training: see `SelfAttention`.

    Returns:
        `(hidden_states, probs)`: float `[B, T, H]`, and float `[B, N, Q, K]` as
        `SelfAttention` gives them.

    Source:
        google-research/bert, `modeling.py`, `transformer_model`; for pre-norm
        Xiong et al. 2020 (arXiv:2002.04745), figure 1b.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        size, policy = config.hidden_size, self.dtype_policy
        start = start_values(config, kernel_initializer)
        self.pre_norm = config.pre_norm
        self.attention = SelfAttention(
            config, kernel_initializer, name="attention", dtype=policy
        )
        self.attention_output = Dense(
            size, size, start, name="attention_output", dtype=policy
        )
        self.attention_norm = LayerNorm(config, name="attention_norm", dtype=policy)
        self.feed_forward = FeedForward(
            config, kernel_initializer, name="feed_forward", dtype=policy
        )
        self.output_norm = LayerNorm(config, name="output_norm", dtype=policy)
        self.dropout = keras.layers.Dropout(config.hidden_dropout_prob, dtype=policy)

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
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        in_attention, in_mlp = within(tap, "attention"), within(tap, "mlp")
        x = hidden_states
        source = in_attention("norm", self.attention_norm(x)) if self.pre_norm else x
        context, probs = self.attention(
            source, attention_mask, tap=in_attention, training=training
        )
        update = in_attention("output", self.attention_output(context))
        x = in_attention("residual", x + self.dropout(update, training=training))
        if not self.pre_norm:
            x = in_attention("norm", self.attention_norm(x))

        source = in_mlp("norm", self.output_norm(x)) if self.pre_norm else x
        update = self.feed_forward(source, tap=in_mlp)
        x = in_mlp("residual", x + self.dropout(update, training=training))
        if not self.pre_norm:
            x = in_mlp("norm", self.output_norm(x))
        return x, probs
