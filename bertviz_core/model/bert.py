"""The whole model: embeddings, blocks, heads."""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any

import keras
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.errors import require_positions
from bertviz_core.model.embeddings import Embeddings
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.heads import ClassifierHead, MaskedLanguageModelHead, Pooler
from bertviz_core.model.layers import LayerNorm
from bertviz_core.model.sparse import pattern_edges
from bertviz_core.model.taps import Tap, Tensor, untouched, within
from bertviz_core.trace import LOGITS
from bertviz_core.weights import copy_weights

# Parts that a checkpoint may lack. A part that it lacks is not built, so the
# model has no output for it, rather than the noise of random weights.
HEADS = ("pooler", "mlm", "nsp", "classifier")
PRETRAINING_HEADS = ("pooler", "mlm", "nsp")


class Bert(keras.Model):
    """BERT with its hidden states and attention in the open.

    Args:
        heads: which of `HEADS` exist; "nsp" and "classifier" need "pooler".
        num_labels: outputs of the classifier head.
        kernel_initializer: "zeros" for who fills all kernels and tables.

    Call arguments:
        attention_mask, token_type_ids: default all 1, and all 0.
        mlm_positions: int `[P]`, places in the flattened `[B * T]` batch to
            predict words at, `b * T + t`; default none.

    Returns:
        |    A dict: `hidden_states`, L + 1 floats `[B, T, H]`, embedding output first;
        |    `attention_probs`, L floats `[B, N, Q, K]`; |    `sequence_output`
        float `[B, T, H]`, the last hidden state, after the |    final norm in a
        pre-norm model; and what `read` gives.

    Raises:
        TextError: more tokens than `max_position_embeddings`, where the length is known
            when the call is made.

    Source: Devlin et al. 2019 (arXiv:1810.04805); google-research/bert, `modeling.py`,
    `BertModel`.
    """

    def __init__(
        self,
        config: BertConfig,
        heads: Iterable[str] = PRETRAINING_HEADS,
        num_labels: int = 2,
        kernel_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"name": "bert", **kwargs})
        self.config = config
        self.heads = _checked_heads(heads)
        self.num_labels = num_labels
        policy, start = self.dtype_policy, kernel_initializer
        self.embeddings = Embeddings(config, start, name="embeddings", dtype=policy)
        self.blocks = [
            EncoderBlock(config, start, name=f"layer_{index}", dtype=policy)
            for index in range(config.num_hidden_layers)
        ]
        self.final_norm = (
            LayerNorm(config, name="final_norm", dtype=policy)
            if config.pre_norm
            else None
        )

        def head(name: str, kind: Any, **arguments: Any) -> Any:
            if name not in self.heads:
                return None
            arguments |= {"kernel_initializer": start, "dtype": policy}
            return kind(config, name=name, **arguments)

        self.pooler = head("pooler", Pooler)
        self.mlm = head("mlm", MaskedLanguageModelHead)
        self.nsp = head("nsp", ClassifierHead, num_labels=2, dropout=False)
        self.classifier = head("classifier", ClassifierHead, num_labels=num_labels)
        self.build()

    def build(self, *_: Any) -> None:
        """Makes all weights at once: no shape here depends on an input."""
        heads = (self.pooler, self.mlm, self.nsp, self.classifier)
        for part in (self.embeddings, *self.blocks, self.final_norm, *heads):
            if part is not None:
                part.build()
        self.built = True

    def call(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        mlm_positions: Tensor | None = None,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> dict[str, Any]:
        if input_ids.shape[1] is not None:  # open in a compiled graph
            require_positions(input_ids.shape[1], self.config.max_position_embeddings)
        if token_type_ids is None:
            token_type_ids = ops.zeros_like(input_ids)
        positions = ops.arange(ops.shape(input_ids)[1], dtype="int32")[None]  # [1, T]
        mask = with_pattern(self.config, positions, attention_mask)
        x = self.embeddings(
            input_ids, token_type_ids, tap=within(tap, "embeddings"), training=training
        )
        hidden_states, attention_probs = self.encode(
            x, mask, tap=tap, training=training
        )
        x = self.after_blocks(hidden_states[-1], tap)
        asked = None
        if mlm_positions is not None:
            flat = ops.reshape(x, (-1, self.config.hidden_size))
            asked = ops.take(flat, mlm_positions, axis=0)  # [P, H]
        return {
            "hidden_states": hidden_states,
            "attention_probs": attention_probs,
            "sequence_output": x,
            **self.read(x[:, 0], asked, tap=tap, training=training),
        }

    def encode(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        start: int = 0,
        end: int | None = None,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Runs blocks from `start` to `end`, one after the other.

        The mask has the pattern of a sparse model in it.

        Returns:
            `(hidden_states, attention_probs)`: floats `[B, T, H]`, what enters the
            first and what leaves each; floats `[B, N, Q, K]` of each.
        """
        states, attention_probs = [hidden_states], []
        for index, block in enumerate(self.blocks[start:end], start):
            output, probs = block(
                states[-1],
                attention_mask,
                tap=within(tap, f"layer.{index}"),
                training=training,
            )
            states.append(output)
            attention_probs.append(probs)
        return tuple(states), tuple(attention_probs)

    def after_blocks(self, hidden_states: Tensor, tap: Tap = untouched) -> Tensor:
        """The final norm of a pre-norm model; in others nothing. `[..., H]`."""
        if self.final_norm is None:
            return hidden_states
        return tap("final_norm", self.final_norm(hidden_states))

    def read(
        self,
        first: Tensor | None,
        asked: Tensor | None,
        heads: Collection[str] = HEADS,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> dict[str, Tensor]:
        """What the heads that exist make of vectors of `sequence_output`.

        Args:
            first: float `[B, H]`, those of [CLS]; `None` leaves out the pooler and the
                heads on it.
            asked: float `[P, H]`, those to predict words at; `None` for no words.
            heads: which to read.

        Returns:
            Of `pooled_output` float `[B, H]`, `nsp_logits` float `[B, 2]` (0 = is
            next), `class_logits` float `[B, num_labels]`, `mlm_logits` float `[P, V]`,
            what was asked for and exists.
        """
        output = {}
        if self.pooler is not None and first is not None:
            pooled = self.pooler(first, tap=within(tap, "pooler"))
            output["pooled_output"] = pooled
            for name, head in (("nsp", self.nsp), ("classifier", self.classifier)):
                if head is not None and name in heads:
                    logits = head(pooled, tap=within(tap, name), training=training)
                    output[LOGITS[name]] = logits
        if self.mlm is not None and asked is not None:
            output["mlm_logits"] = self.mlm(
                asked, self.embeddings.word_embeddings, tap=within(tap, "mlm")
            )
        return output


def with_pattern(
    config: BertConfig, position_ids: Tensor, attention_mask: Tensor | None
) -> Tensor | None:
    """Cuts the edges that a sparse model has not, by positions int `[B or 1, T]`.

    The mask has at most three axes; that of a sparse model becomes `[B or 1, Q, K]`.
    """
    edges = pattern_edges(config, position_ids)
    if edges is None or attention_mask is None:
        return attention_mask if edges is None else edges
    if len(attention_mask.shape) == 2:
        attention_mask = attention_mask[:, None, :]
    return attention_mask * edges


def _checked_heads(heads: Iterable[str]) -> tuple[str, ...]:
    chosen = set(heads)
    unknown = sorted(chosen - set(HEADS))
    if unknown or (chosen & {"nsp", "classifier"} and "pooler" not in chosen):
        raise ValueError(
            f"`heads` must be among {HEADS}, and 'nsp' and 'classifier' need "
            f"'pooler'. Received: heads={sorted(chosen)}."
        )
    return tuple(name for name in HEADS if name in chosen)


def twin_of(model: Bert, **changed: Any) -> Bert:
    """A copy of a model with another configuration, by what is `changed` of it.

    Weights that the model lacks begin as training would begin them.
    """
    other = type(model)(
        dataclasses.replace(model.config, **changed),
        model.heads,
        model.num_labels,
        kernel_initializer="zeros",
        dtype=model.dtype_policy,
    )
    copy_weights(other, model)
    return other
