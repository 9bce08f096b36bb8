"""The input sum of a text taken apart, and the table of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bertviz_core.analysis.layer_norm import layer_norm
from bertviz_core.experiments.compiled_step import Step, compiled_step
from bertviz_core.experiments.embedding_results import InputSum
from bertviz_core.explorer import Explorer
from bertviz_core.model.weights import as_numpy
from bertviz_core.trace import TokenizedText


def take_input_apart(
    explorer: Explorer, text: str, pair: str | None = None, cut: bool = False
) -> InputSum:
    """Splits what enters the first block into word, position and segment.

    The vectors after the layer norm are the model's own; beside them stands how
    far a layer norm written out in NumPy is from them.

    Args:
        explorer: of the model.
        text: the text, or the first of two.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        TextError: see `Explorer.tokenize`.

    Source:
        Devlin et al. 2019 (arXiv:1810.04805), figure 2.
    """
    tokenized = explorer.tokenize(text, pair, cut)
    inputs = {
        "input_ids": tokenized.input_ids[None],
        "token_type_ids": tokenized.token_type_ids[None],
    }
    normed = _embeddings(explorer)(inputs)["embedded"][0]  # [T, H]
    parts = _parts(explorer, tokenized)
    summed = parts[0] + parts[1] + parts[2]  # in the model's own order
    norm = explorer.loaded.model.embeddings.layer_norm
    gain, bias = _as_float32(norm.gamma), _as_float32(norm.beta)
    wide = summed.astype(np.float64)
    means, deviations = wide.mean(axis=1), wide.std(axis=1)
    by_hand = layer_norm(wide, gain, bias, norm.epsilon)
    part_norms = np.linalg.norm(parts.astype(np.float64), axis=2)
    sum_norms = np.linalg.norm(wide, axis=1)
    products = np.einsum("pth,th->pt", parts.astype(np.float64), wide)
    return InputSum(
        model_id=explorer.model_id,
        tokenized=tokenized,
        parts=parts,
        summed=summed,
        normed=normed,
        means=means,
        deviations=deviations,
        gain=gain,
        bias=bias,
        epsilon=norm.epsilon,
        part_norms=part_norms,
        sum_norms=sum_norms,
        normed_norms=np.linalg.norm(normed.astype(np.float64), axis=1),
        cosines=_divided(products, part_norms * sum_norms),
        shares=_divided(products, np.broadcast_to(sum_norms**2, products.shape)),
        largest_difference=float(np.abs(by_hand - normed).max()),
    )


def position_table(explorer: Explorer) -> np.ndarray:
    """Copies a model's position embeddings, float32 `[P, H]`."""
    return _as_float32(explorer.loaded.model.embeddings.position_embeddings)


def _parts(explorer: Explorer, tokenized: TokenizedText) -> np.ndarray:
    """Rows of the three tables, float32 `[3, T, H]`."""
    embeddings = explorer.loaded.model.embeddings
    rows = (
        (embeddings.word_embeddings, tokenized.input_ids),
        (embeddings.position_embeddings, np.arange(tokenized.num_tokens)),
        (embeddings.token_type_embeddings, tokenized.token_type_ids),
    )
    return np.stack([as_numpy(table)[ids] for table, ids in rows]).astype(np.float32)


def _embeddings(explorer: Explorer) -> Step:
    """Token ids `[B, T]` to `embedded` `[B, T, H]`: no block runs."""

    def make_body(model: Any) -> Callable[[Any], dict[str, Any]]:
        def body(inputs: Any) -> dict[str, Any]:
            ids, types = inputs["input_ids"], inputs["token_type_ids"]
            return {"embedded": model.embeddings(ids, types, training=False)}

        return body

    signature = {"input_ids": ("int32", 2), "token_type_ids": ("int32", 2)}
    return compiled_step(explorer, "embeddings", signature, make_body)


def _as_float32(variable: Any) -> np.ndarray:
    # A copy: the model may be trained on while the picture is looked at.
    return np.array(as_numpy(variable), np.float32)


def _divided(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    return np.divide(values, by, out=np.zeros(values.shape), where=by > 0)
