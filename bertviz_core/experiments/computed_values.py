"""The network again in float64, piece by piece, each number when it is asked for.

T tokens (Q of them look, K are looked at), N heads, D head size, H hidden size
(H = N * D), I intermediate size, V vocabulary, P asked positions. The
activation function and the decoder are computed in the framework, which on JAX has
float64 only where `jax_enable_x64` is set; without it they are good to float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from keras import ops

from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.config import BertConfig
from bertviz_core.experiments.attention_parts import visible_edges
from bertviz_core.experiments.double_precision import dense, normed, wide
from bertviz_core.model.attention import MASKED_SCORE
from bertviz_core.model.layers import ACTIVATIONS
from bertviz_core.trace import TokenizedText, Trace

# Rows of the word embeddings that are in float64 at once: 25 MB at H = 768; the
# whole matrix of BERT would be 188 MB.
_MOST_WORDS = 4096


class Computed:
    """Arrays by name: `self["query"]` calls the method `query` once."""

    def __init__(self) -> None:
        self._known: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._known:
            found = getattr(self, name)()
            found.flags.writeable = False  # it serves several readers
            self._known[name] = found
        return self._known[name]


class BlockValues(Computed):
    """The numbers of one encoder block, by the names of `step_table.OPERATIONS`.

    Args:
        block: an `EncoderBlock`.
        config: of the model.
        hidden_states: float `[T, H]`, what enters the block; one text, no padding.
    """

    def __init__(
        self, block: Any, config: BertConfig, hidden_states: np.ndarray
    ) -> None:
        super().__init__()
        self._block, self._config = block, config
        self._known["x"] = hidden_states.astype(np.float64)

    @property
    def output(self) -> np.ndarray:
        """float64 `[T, H]`, what leaves the block."""
        return self["output_residual" if self._config.pre_norm else "output_norm"]

    @property
    def feed_forward_input(self) -> np.ndarray:
        """float64 `[T, H]`."""
        return self["output_norm" if self._config.pre_norm else "attention_norm"]

    @property
    def feed_forward_residual(self) -> np.ndarray:
        """float64 `[T, H]`, what the feed-forward network's update is added to."""
        return self["attention_residual" if self._config.pre_norm else "attention_norm"]

    def finish(self, output_residual: np.ndarray) -> np.ndarray:
        """From the second residual to what leaves the block, float64 `[..., H]`."""
        if self._config.pre_norm:
            return output_residual
        return normed(self._block.output_norm, output_residual)

    def query(self) -> np.ndarray:
        return self._heads(self._block.attention.query)

    def key(self) -> np.ndarray:
        return self._heads(self._block.attention.key)

    def value(self) -> np.ndarray:
        return self._heads(self._block.attention.value)

    def attention_scores(self) -> np.ndarray:
        products = self["query"] @ self["key"].transpose(0, 2, 1)  # [N, Q, K]
        return products / math.sqrt(self._config.head_size)

    def masked_scores(self) -> np.ndarray:
        edges = visible_edges(self._config, len(self["x"]))  # [Q, K]
        return self["attention_scores"] + np.where(edges, 0.0, MASKED_SCORE)

    def attention_probs(self) -> np.ndarray:
        scores = self["masked_scores"]
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def context(self) -> np.ndarray:
        by_head = self["attention_probs"] @ self["value"]  # [N, T, D]
        return by_head.transpose(1, 0, 2).reshape(self["x"].shape)  # [T, H]

    def attention_output(self) -> np.ndarray:
        return dense(self._block.attention_output, self["context"])

    def attention_residual(self) -> np.ndarray:
        return self["x"] + self["attention_output"]

    def attention_norm(self) -> np.ndarray:
        source = "x" if self._config.pre_norm else "attention_residual"
        return normed(self._block.attention_norm, self[source])

    def intermediate(self) -> np.ndarray:
        return dense(self._block.feed_forward.intermediate, self.feed_forward_input)

    def neurons(self) -> np.ndarray:
        return activated(self._config, self["intermediate"])

    def feed_forward_output(self) -> np.ndarray:
        return dense(self._block.feed_forward.output_projection, self["neurons"])

    def output_residual(self) -> np.ndarray:
        return self.feed_forward_residual + self["feed_forward_output"]

    def output_norm(self) -> np.ndarray:
        residual = "attention_residual" if self._config.pre_norm else "output_residual"
        return normed(self._block.output_norm, self[residual])

    def _heads(self, projection: Any) -> np.ndarray:
        """`[T, H]` to `[N, T, D]`."""
        source = self["attention_norm" if self._config.pre_norm else "x"]
        shape = (len(source), self._config.num_attention_heads, self._config.head_size)
        return dense(projection, source).reshape(shape).transpose(1, 0, 2)


class EmbeddingValues(Computed):
    """From token ids to what enters the first layer.

    Args:
        layer: an `Embeddings`.
        tokenized: the text.
    """

    def __init__(self, layer: Any, tokenized: TokenizedText) -> None:
        super().__init__()
        self._layer, self._tokenized = layer, tokenized

    def word_embeddings(self) -> np.ndarray:
        return _rows(self._layer.word_embeddings, self._tokenized.input_ids)

    def position_embeddings(self) -> np.ndarray:
        positions = np.arange(self._tokenized.num_tokens)
        return _rows(self._layer.position_embeddings, positions)

    def token_type_embeddings(self) -> np.ndarray:
        table = self._layer.token_type_embeddings
        return _rows(table, self._tokenized.token_type_ids)

    def embedding_sum(self) -> np.ndarray:
        words_and_places = self["word_embeddings"] + self["position_embeddings"]
        return words_and_places + self["token_type_embeddings"]

    def embedding_norm(self) -> np.ndarray:
        return normed(self._layer.layer_norm, self["embedding_sum"])


class HeadValues(Computed):
    """From the last hidden state to the answers.

    Args:
        model: a `Bert`, with the heads that are asked for.
        trace: with hidden states.

    Raises:
        ValueError: the trace has no hidden states.
    """

    def __init__(self, model: Any, trace: Trace) -> None:
        super().__init__()
        if trace.hidden_states is None:
            raise ValueError("The trace must hold `hidden_states`.")
        self._model, self._config = model, model.config
        self._known["x"] = trace.hidden_states[-1].astype(np.float64)
        self._positions = trace.mlm_positions

    def final_norm(self) -> np.ndarray:
        return normed(self._model.final_norm, self["x"])

    def pooler_dense(self) -> np.ndarray:
        return dense(self._model.pooler.dense, self._last()[0])

    def pooled_output(self) -> np.ndarray:
        return np.tanh(self["pooler_dense"])

    def nsp_logits(self) -> np.ndarray:
        return dense(self._model.nsp.dense, self["pooled_output"])

    def nsp_probs(self) -> np.ndarray:
        return softmax_rows(self["nsp_logits"])

    def class_logits(self) -> np.ndarray:
        return dense(self._model.classifier.dense, self["pooled_output"])

    def class_probs(self) -> np.ndarray:
        return softmax_rows(self["class_logits"])

    def mlm_transform(self) -> np.ndarray:
        return dense(self._model.mlm.transform, self._last()[self._positions])

    def mlm_activation(self) -> np.ndarray:
        return activated(self._config, self["mlm_transform"])

    def mlm_norm(self) -> np.ndarray:
        return normed(self._model.mlm.transform_norm, self["mlm_activation"])

    def mlm_logits(self) -> np.ndarray:
        return decoded(self._model, self["mlm_norm"]) + wide(self._model.mlm.bias)

    def mlm_probs(self) -> np.ndarray:
        return softmax_rows(self["mlm_logits"])

    def _last(self) -> np.ndarray:
        return self["final_norm" if self._config.pre_norm else "x"]


def activated(config: BertConfig, x: np.ndarray) -> np.ndarray:
    """The model's activation function in float64."""
    # In the framework, in double precision: NumPy has no error function.
    tensor = ops.convert_to_tensor(x, dtype="float64")
    result = ops.convert_to_numpy(ACTIVATIONS[config.hidden_act](tensor))
    return np.array(result, np.float64)


def decoded(model: Any, vectors: np.ndarray) -> np.ndarray:
    """Products with every word's embedding, without the decoder's bias.

    Args:
        model: a `Bert`.
        vectors: float `[P, H]`.

    Returns:
        float64 `[P, V]`.
    """
    words = ops.convert_to_tensor(model.embeddings.word_embeddings)
    columns = ops.convert_to_tensor(vectors.T, dtype="float64")  # [H, P]
    products = np.empty((len(vectors), words.shape[0]))
    for start in range(0, words.shape[0], _MOST_WORDS):
        rows = slice(start, min(start + _MOST_WORDS, words.shape[0]))
        some = ops.matmul(ops.cast(words[rows], "float64"), columns)
        products[:, rows] = ops.convert_to_numpy(some).T
    return products


def _rows(table: Any, ids: np.ndarray) -> np.ndarray:
    """Some rows of an embedding matrix, float64, without copying all of it."""
    return ops.convert_to_numpy(ops.take(table, ids, axis=0)).astype(np.float64)
