"""What is read off the encoder: pooled output, masked words, next sentence, class."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.layers import ACTIVATIONS, Dense, LayerNorm, start_values
from bertviz_core.model.taps import Tap, Tensor, untouched


class Pooler(keras.layers.Layer):
    """tanh of a projection of one vector, that of the first token, [CLS].

    Call arguments:
        first: float `[..., H]`, the encoder's output at [CLS].
        tap: see `taps`.

    Returns:
        float `[..., H]`, each in (-1, 1).

    Source: google-research/bert, `modeling.py`, `BertModel`, "pooler".
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        size, start = config.hidden_size, start_values(config, kernel_initializer)
        self.dense = Dense(size, size, start, name="dense", dtype=self.dtype_policy)

    def build(self, *_: Any) -> None:
        self.dense.build()

    def call(self, first: Tensor, tap: Tap = untouched) -> Tensor:
        projected = tap("pre", self.dense(first))
        return tap("output", ops.tanh(projected))


class MaskedLanguageModelHead(keras.layers.Layer):
    """A score for every word of the vocabulary, before softmax.

    The decoder is the word embedding matrix itself; only its bias is its own.

    Call arguments:
        vectors: float `[P, H]`, encoder output at the asked positions.
        word_embeddings: float `[V, H]`.
        tap: see `taps`.

    Returns:
        float `[P, V]`.

    Source: google-research/bert, `run_pretraining.py`, `get_masked_lm_output`.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        size, policy = config.hidden_size, self.dtype_policy
        start = start_values(config, kernel_initializer)
        self.vocab_size = config.vocab_size
        self.activation = ACTIVATIONS[config.hidden_act]
        self.transform = Dense(size, size, start, name="transform", dtype=policy)
        self.transform_norm = LayerNorm(config, name="transform_norm", dtype=policy)

    def build(self, *_: Any) -> None:
        self.transform.build()
        self.transform_norm.build()
        self.bias = self.add_weight(
            shape=(self.vocab_size,), initializer="zeros", name="bias"
        )

    def call(
        self, vectors: Tensor, word_embeddings: Tensor, tap: Tap = untouched
    ) -> Tensor:
        transformed = tap("pre", self.transform(vectors))  # [P, H]
        transformed = tap("post", self.activation(transformed))
        transformed = tap("norm", self.transform_norm(transformed))
        scores = ops.matmul(transformed, ops.transpose(word_embeddings))  # [P, V]
        return tap("logits", scores + self.bias)


class ClassifierHead(keras.layers.Layer):
    """Dropout and one projection of the pooled output.

    Serves next-sentence prediction (2 classes: 0 = is next, 1 = random) and
    fine-tuned classes or, with one output, a regression.

    Args:
        config: `hidden_size`, `hidden_dropout_prob`.
        num_labels: outputs.
        dropout: false for the next-sentence head, which has none.
        kernel_initializer: see `start_values`.

    Call arguments:
        pooled_output: float `[..., H]`.
        tap: see `taps`.
        training: turns dropout on.

    Returns:
        float `[..., num_labels]`, before softmax.

    Source: google-research/bert, `run_pretraining.py`,
        `get_next_sentence_output`, and `run_classifier.py`, `create_model`. Both
        store the weight as `[num_labels, H]`; here it is `[H, num_labels]`.
    """

    def __init__(
        self,
        config: BertConfig,
        num_labels: int,
        dropout: bool = True,
        kernel_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        rate = config.hidden_dropout_prob if dropout else 0.0
        self.dropout = keras.layers.Dropout(rate, dtype=self.dtype_policy)
        start = start_values(config, kernel_initializer)
        self.dense = Dense(
            config.hidden_size,
            num_labels,
            start,
            name="dense",
            dtype=self.dtype_policy,
        )

    def build(self, *_: Any) -> None:
        self.dense.build()

    def call(
        self,
        pooled_output: Tensor,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> Tensor:
        pooled_output = self.dropout(pooled_output, training=training)
        return tap("logits", self.dense(pooled_output))
