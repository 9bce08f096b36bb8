"""From token ids to the vectors that enter the first block."""

from typing import Any

from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.layers import Part, start_values
from bertviz_core.model.taps import Tap, Tensor, untouched


class Embeddings(Part):
    """Word + position + segment, then layer norm, then dropout: float `[B, T, H]`.

    T is at most `max_position_embeddings`; `position_ids` are int `[B, T]`, by default
    0 to T - 1.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3, figure 2;
    google-research/bert, `modeling.py`, `embedding_postprocessor`.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(config, kernel_initializer, **kwargs)
        self.layer_norm = self._norm("layer_norm")
        self.dropout = self._dropout(config.hidden_dropout_prob)

    def build(self, *_: Any) -> None:
        super().build()
        self.word_embeddings = self._table("word_embeddings", self.config.vocab_size)
        self.position_embeddings = self._table(
            "position_embeddings", self.config.max_position_embeddings
        )
        self.token_type_embeddings = self._table(
            "token_type_embeddings", self.config.type_vocab_size
        )

    def call(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor,
        position_ids: Tensor | None = None,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> Tensor:
        if position_ids is None:
            position_ids = ops.arange(ops.shape(input_ids)[1], dtype="int32")  # [T]
        words = tap("word", ops.take(self.word_embeddings, input_ids, axis=0))
        positions = tap(
            "position", ops.take(self.position_embeddings, position_ids, axis=0)
        )
        segments = tap(
            "token_type", ops.take(self.token_type_embeddings, token_type_ids, axis=0)
        )
        summed = tap("sum", words + positions + segments)  # [B, T, H]
        normed = tap("norm", self.layer_norm(summed))
        return self.dropout(normed, training=training)

    def _table(self, name: str, rows: int) -> Any:
        return self.add_weight(
            shape=(rows, self.config.hidden_size),
            initializer=start_values(self.config, self.kernel_initializer),
            name=name,
        )
