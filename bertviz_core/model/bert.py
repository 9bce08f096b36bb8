"""The whole model: embeddings, blocks, heads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.errors import require_positions
from bertviz_core.model.embeddings import Embeddings
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.heads import (
    ClassifierHead,
    MaskedLanguageModelHead,
    Pooler,
)
from bertviz_core.model.layers import LayerNorm, Tensor
from bertviz_core.model.sparse import pattern_edges

# Parts that a checkpoint may lack. A part that it lacks is not built, so the
# model has no output for it, rather than the noise of random weights.
HEADS = ("pooler", "mlm", "nsp", "classifier")
PRETRAINING_HEADS = ("pooler", "mlm", "nsp")


class Bert(keras.Model):
    """BERT with every intermediate result in its output.

    Args:
        config: sizes and rates.
        heads: which of `HEADS` exist; "nsp" and "classifier" need "pooler".
        num_labels: outputs of the classifier head.

    Call arguments:
        input_ids: int `[B, T]`.
        attention_mask: int `[B, T]`, 1 = token, 0 = padding; default all 1.
        token_type_ids: int `[B, T]`; default all 0.
        mlm_positions: int `[P]`, places in the flattened `[B * T]` batch to
            predict words at, `b * T + t`; default none.
        head_mask: float `[B or 1, L, N]`, see `SelfAttention`.
        edge_mask: int `[B or 1, L or 1, N or 1, Q, K]`, see `SelfAttention`.
        neuron_mask: float `[B or 1, L, I]`, see `FeedForward`.
        replace_mask: int `[B or 1, L + 1, T]`; 1 marks a hidden state to
            replace: index 0 the embedding output, l the output of block l - 1.
        replacement: float `[B or 1, L + 1, T, H]`, read where `replace_mask`
            is 1.
        training: turns dropout on.

    Returns:
        A dict:
        `hidden_states` float `[B, L + 1, T, H]`, embedding output first;
        `attention_probs` float `[B, L, N, Q, K]`;
        `sequence_output` float `[B, T, H]`, the last hidden state, after the
        final norm in a pre-norm model;
        and, where the part exists, `pooled_output` float `[B, H]`,
        `nsp_logits` float `[B, 2]` (0 = is next), `class_logits`
        float `[B, num_labels]`, `mlm_logits` float `[P, V]`.

    Raises:
        TextError: more tokens than `max_position_embeddings`, where the length
            is known when the call is made.

    Source:
        Devlin et al. 2019 (arXiv:1810.04805); google-research/bert,
        `modeling.py`, `BertModel`.
    """

    def __init__(
        self,
        config: BertConfig,
        heads: Iterable[str] = PRETRAINING_HEADS,
        num_labels: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"name": "bert", **kwargs})
        self.config = config
        self.heads = _checked_heads(heads)
        self.num_labels = num_labels
        policy = self.dtype_policy
        self.embeddings = Embeddings(config, name="embeddings", dtype=policy)
        self.blocks = [
            EncoderBlock(config, name=f"layer_{index}", dtype=policy)
            for index in range(config.num_hidden_layers)
        ]
        self.final_norm = (
            LayerNorm(config, name="final_norm", dtype=policy)
            if config.pre_norm
            else None
        )
        self.pooler = self._head("pooler", Pooler)
        self.mlm = self._head("mlm", MaskedLanguageModelHead)
        self.nsp = self._head("nsp", ClassifierHead, num_labels=2, dropout=False)
        self.classifier = self._head(
            "classifier", ClassifierHead, num_labels=num_labels
        )
        self.build()

    def build(self, *_: Any) -> None:
        """Makes all weights at once: no shape here depends on an input."""
        for part in (self.embeddings, *self.blocks, self.final_norm, *self._heads()):
            if part is not None:
                part.build()
        self.built = True

    def call(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        mlm_positions: Tensor | None = None,
        head_mask: Tensor | None = None,
        edge_mask: Tensor | None = None,
        neuron_mask: Tensor | None = None,
        replace_mask: Tensor | None = None,
        replacement: Tensor | None = None,
        training: bool | None = None,
    ) -> dict[str, Tensor]:
        if input_ids.shape[1] is not None:  # open in a compiled graph
            require_positions(input_ids.shape[1], self.config.max_position_embeddings)
        if token_type_ids is None:
            token_type_ids = ops.zeros_like(input_ids)
        attention_mask = self._with_pattern(input_ids, attention_mask)

        x = self.embeddings(input_ids, token_type_ids, training=training)
        x = _replaced(x, 0, replace_mask, replacement)
        hidden_states, attention_probs = [x], []
        for index, block in enumerate(self.blocks):
            x, attention = block(
                x,
                attention_mask,
                head_mask=None if head_mask is None else head_mask[:, index],
                edge_mask=_edges_of(edge_mask, index),
                neuron_mask=None if neuron_mask is None else neuron_mask[:, index],
                training=training,
            )
            x = _replaced(x, index + 1, replace_mask, replacement)
            hidden_states.append(x)
            attention_probs.append(attention.probs)
        output = {
            "hidden_states": ops.stack(hidden_states, axis=1),  # [B, L+1, T, H]
            "attention_probs": ops.stack(attention_probs, axis=1),  # [B, L, N, Q, K]
            "sequence_output": x if self.final_norm is None else self.final_norm(x),
        }
        self._add_heads(output, mlm_positions, training)
        return output

    def _with_pattern(
        self, input_ids: Tensor, attention_mask: Tensor | None
    ) -> Tensor | None:
        """Cuts the edges of a sparse model: `[B, T]` to `[B, Q, K]`."""
        positions = ops.arange(ops.shape(input_ids)[1], dtype="int32")[None]  # [1, T]
        edges = pattern_edges(self.config, positions)
        if edges is None or attention_mask is None:
            return attention_mask if edges is None else edges
        return attention_mask[:, None, :] * edges

    def _add_heads(
        self, output: dict[str, Tensor], mlm_positions: Tensor | None, training: Any
    ) -> None:
        sequence_output = output["sequence_output"]
        if self.pooler is not None:
            pooled = output["pooled_output"] = self.pooler(sequence_output)  # [B, H]
            if self.nsp is not None:
                output["nsp_logits"] = self.nsp(pooled, training=training)
            if self.classifier is not None:
                output["class_logits"] = self.classifier(pooled, training=training)
        if self.mlm is not None and mlm_positions is not None:
            flat = ops.reshape(sequence_output, (-1, self.config.hidden_size))
            asked = ops.take(flat, mlm_positions, axis=0)  # [P, H]
            output["mlm_logits"] = self.mlm(asked, self.embeddings.word_embeddings)

    def _head(self, name: str, kind: Any, **arguments: Any) -> Any:
        if name not in self.heads:
            return None
        return kind(self.config, name=name, dtype=self.dtype_policy, **arguments)

    def _heads(self) -> tuple[Any, ...]:
        return self.pooler, self.mlm, self.nsp, self.classifier


def _checked_heads(heads: Iterable[str]) -> tuple[str, ...]:
    chosen = set(heads)
    unknown = sorted(chosen - set(HEADS))
    if unknown or (chosen & {"nsp", "classifier"} and "pooler" not in chosen):
        raise ValueError(
            f"`heads` must be among {HEADS}, and 'nsp' and 'classifier' need "
            f"'pooler'. Received: heads={sorted(chosen)}."
        )
    return tuple(name for name in HEADS if name in chosen)


def _edges_of(edge_mask: Tensor | None, index: int) -> Tensor | None:
    """One layer's edges; a mask with a single layer serves all of them."""
    if edge_mask is None:
        return None
    return ops.take(edge_mask, ops.minimum(index, ops.shape(edge_mask)[1] - 1), axis=1)


def _replaced(
    x: Tensor, index: int, mask: Tensor | None, replacement: Tensor | None
) -> Tensor:
    if mask is None or replacement is None:
        return x
    chosen = ops.cast(mask[:, index], "bool")[:, :, None]  # [B, T, 1]
    return ops.where(chosen, ops.cast(replacement[:, index], x.dtype), x)
