"""One encoder block: attention, then the feed-forward network, each added on."""

from typing import Any

from bertviz_core.config import BertConfig
from bertviz_core.model.attention import SelfAttention
from bertviz_core.model.layers import ACTIVATIONS, Part
from bertviz_core.model.taps import Tap, Tensor, untouched, within


class FeedForward(Part):
    """Two projections with an activation between them, the same at every token.

    From float `[B, T, H]` to float `[B, T, H]`.

    Source: Vaswani et al. 2017, section 3.3; google-research/bert, `modeling.py`,
    `transformer_model`, "intermediate" and "output".
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        hidden, inner = config.hidden_size, config.intermediate_size
        self.activation = ACTIVATIONS[config.hidden_act]
        self.intermediate = self._dense("intermediate", hidden, inner)
        self.output_projection = self._dense("output", inner, hidden)

    def call(self, hidden_states: Tensor, tap: Tap = untouched) -> Tensor:
        intermediate = tap("pre", self.intermediate(hidden_states))  # [B, T, I]
        neurons = tap("post", self.activation(intermediate))
        return tap("output", self.output_projection(neurons))  # [B, T, H]


class EncoderBlock(Part):
    """Attention and feed-forward with residuals and norms, in either order.

    Post-norm, as BERT was trained: x = norm(x + f(x)). Pre-norm: x = x + f(norm(x));
    the model adds one norm after the last block.

    Returns:
        `(hidden_states, probs)`: float `[B, T, H]`, and float `[B, N, Q, K]` as
        `SelfAttention` gives them.

    Source: google-research/bert, `modeling.py`, `transformer_model`; for pre-norm Xiong
    et al. 2020 (arXiv:2002.04745), figure 1b.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        size, start, policy = config.hidden_size, kernel_initializer, self.dtype_policy
        self.pre_norm = config.pre_norm
        self.attention = SelfAttention(config, start, name="attention", dtype=policy)
        self.attention_output = self._dense("attention_output", size, size)
        self.attention_norm = self._norm("attention_norm")
        self.feed_forward = FeedForward(
            config, start, name="feed_forward", dtype=policy
        )
        self.output_norm = self._norm("output_norm")
        self.dropout = self._dropout(config.hidden_dropout_prob)

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
