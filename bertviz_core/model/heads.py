"""What is read off the encoder: pooled output, masked words, next sentence, class."""

from typing import Any

from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.layers import ACTIVATIONS, Part
from bertviz_core.model.taps import Tap, Tensor, untouched


class Pooler(Part):
    """tanh of a projection of one vector, that of the first token, [CLS].

    From float `[..., H]` to float `[..., H]`, each in (-1, 1).

    Source: google-research/bert, `modeling.py`, `BertModel`, "pooler".
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        self.dense = self._dense("dense", config.hidden_size, config.hidden_size)

    def call(self, first: Tensor, tap: Tap = untouched) -> Tensor:
        projected = tap("pre", self.dense(first))
        return tap("output", ops.tanh(projected))


class MaskedLanguageModelHead(Part):
    """A score for every word of the vocabulary, before softmax: float `[P, V]`.

    Of encoder output at the asked positions, float `[P, H]`. The decoder is the word
    embedding matrix itself, float `[V, H]`; only its bias is its own.

    Source: google-research/bert, `run_pretraining.py`, `get_masked_lm_output`.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.transform = self._dense(
            "transform", config.hidden_size, config.hidden_size
        )
        self.transform_norm = self._norm("transform_norm")

    def build(self, *_: Any) -> None:
        super().build()
        self.bias = self.add_weight(
            shape=(self.config.vocab_size,), initializer="zeros", name="bias"
        )

    def call(
        self, vectors: Tensor, word_embeddings: Tensor, tap: Tap = untouched
    ) -> Tensor:
        transformed = tap("pre", self.transform(vectors))  # [P, H]
        transformed = tap("post", self.activation(transformed))
        transformed = tap("norm", self.transform_norm(transformed))
        scores = ops.matmul(transformed, ops.transpose(word_embeddings))  # [P, V]
        return tap("logits", scores + self.bias)


class ClassifierHead(Part):
    """Dropout and one projection of the pooled output, to float `[..., num_labels]`.

    Serves next-sentence prediction (2 classes: 0 = is next, 1 = random; without
    `dropout`) and fine-tuned classes, both before softmax, or, with one output, a
    regression.

    Source: google-research/bert, `run_pretraining.py`, `get_next_sentence_output`, and
    `run_classifier.py`, `create_model`. Both store the weight as `[num_labels, H]`;
    here it is `[H, num_labels]`.
    """

    def __init__(
        self,
        config: BertConfig,
        num_labels: int,
        dropout: bool = True,
        kernel_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        self.dropout = self._dropout(config.hidden_dropout_prob if dropout else 0.0)
        self.dense = self._dense("dense", config.hidden_size, num_labels)

    def call(
        self, pooled_output: Tensor, tap: Tap = untouched, training: bool | None = None
    ) -> Tensor:
        pooled_output = self.dropout(pooled_output, training=training)
        return tap("logits", self.dense(pooled_output))
