"""Gradients of an answer with respect to the word vectors that enter the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.compiled_step import Step, compiled_step
from bertviz_core.explorer import Explorer
from bertviz_core.model.sparse import pattern_edges
from bertviz_core.trace import TokenizedText

# Rows times tokens of one pass: every layer's activations are kept for the way back.
TOKENS_A_PASS = 1024


class InputGradients:
    """Slopes of one answer about one text, at any word vectors.

    Positions and segments are added, and the norm applied, inside: the gradient
    is with respect to the word embeddings alone.

    Args:
        explorer: of a model with the target's head.
        tokenized: the text.
        target: the answer: its log-probability is derived, or, of a classifier
            with one output, the number.
        contrast: id of an answer whose log-probability is taken off.
    """

    def __init__(
        self,
        explorer: Explorer,
        tokenized: TokenizedText,
        target: Target,
        contrast: int | None,
    ) -> None:
        self.explorer, self.tokenized, self.target = explorer, tokenized, target
        self.contrast = contrast

    def vectors(self, input_ids: np.ndarray) -> np.ndarray:
        """The word embeddings of a text, float64 `[T, H]`."""
        table = self.explorer.loaded.model.embeddings.word_embeddings
        rows = ops.cast(ops.take(table, input_ids, axis=0), "float32")
        return ops.convert_to_numpy(rows).astype(np.float64)

    def slopes(self, vectors: np.ndarray) -> np.ndarray:
        """The gradient at each of some texts.

        Args:
            vectors: float `[B, T, H]`, in the place of the word embeddings.

        Returns:
            float64 `[B, T, H]`.
        """
        num_tokens = vectors.shape[1]
        size = max(1, TOKENS_A_PASS // num_tokens)
        chunks = [
            vectors[start : start + size] for start in range(0, len(vectors), size)
        ]
        step = _compiled(self.explorer, self.target.head)
        return np.concatenate([step(self._inputs(c))["value"] for c in chunks]).astype(
            np.float64
        )

    def _inputs(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        batch, num_tokens = vectors.shape[:2]
        places = np.arange(batch) * num_tokens + self.target.position
        answers = [self.target.index]
        signs = [1.0]
        if self.contrast is not None:
            answers, signs = [*answers, self.contrast], [1.0, -1.0]
        return {
            "vectors": vectors.astype("float32"),
            "token_type_ids": self.tokenized.token_type_ids[None].astype("int32"),
            "places": places.astype("int32"),
            "answers": np.array(answers, "int32"),
            "signs": np.array(signs, "float32"),
        }


def _compiled(explorer: Explorer, head: str) -> Step:
    signature = {
        "vectors": ("float32", 3),
        "token_type_ids": ("int32", 2),
        "places": ("int32", 1),
        "answers": ("int32", 1),
        "signs": ("float32", 1),
    }
    return compiled_step(
        explorer,
        ("input_gradients", head),
        signature,
        lambda model: _body(model, head),
        slope_of="vectors",
    )


def _body(model: Any, head: str) -> Callable[[Any], dict[str, Any]]:
    """From word vectors to `value`, float `[B]`."""

    def body(inputs: Any) -> dict[str, Any]:
        parts, vectors = model.embeddings, inputs["vectors"]  # [B, T, H]
        num_tokens = ops.shape(vectors)[1]
        segments = ops.take(
            parts.token_type_embeddings, inputs["token_type_ids"], axis=0
        )
        positions = parts.position_embeddings[:num_tokens]
        x = parts.layer_norm(ops.cast(vectors, segments.dtype) + positions + segments)
        order = ops.arange(num_tokens, dtype="int32")[None]  # [1, T]
        edges = pattern_edges(model.config, order)
        for block in model.blocks:
            x, _ = block(x, edges)
        if model.final_norm is not None:
            x = model.final_norm(x)
        logits = ops.cast(_answer(model, head, x, inputs["places"]), "float32")
        # A classifier with one output says a number: there is nothing to share out.
        is_number = head == "classifier" and model.num_labels == 1
        answers = logits if is_number else ops.log_softmax(logits, axis=-1)  # [B, C]
        chosen = ops.take(answers, inputs["answers"], axis=1)
        return {"value": ops.sum(chosen * inputs["signs"], axis=1)}

    return body


def _answer(model: Any, head: str, x: Any, places: Any) -> Any:
    """Logits of a head, `[B, C]`."""
    if head == "mlm":
        flat = ops.reshape(x, (-1, model.config.hidden_size))
        asked = ops.take(flat, places, axis=0)
        return model.mlm(asked, model.embeddings.word_embeddings)
    part = model.nsp if head == "nsp" else model.classifier
    return part(model.pooler(x))
