"""How far training has moved the weights of each layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.trace import FrozenArrays
from bertviz_core.weights import as_numpy

if TYPE_CHECKING:
    from bertviz_core.model.bert import Bert

PARTS = (
    "words",
    "positions",
    "segments",
    "query",
    "key",
    "value",
    "attention_output",
    "feed_forward",
    "norms",
    "pooler",
)


@dataclass(frozen=True)
class WeightChange(FrozenArrays):
    """How far the weights of a model have moved, as a share of what they were.

    Args:
        layers: names of the rows: "embeddings", "layer_0" to the last, and, where
            both models have them, "final_norm" and "pooler".
        parts: names of the columns, of `PARTS`.
        shares: float64 `[rows, columns]`, Frobenius norm of the change over that
            of the weights before; NaN where a layer has no such part.
        totals: float64 `[rows]`, the same of a layer's weights taken together.
    """

    layers: tuple[str, ...]
    parts: tuple[str, ...]
    shares: np.ndarray
    totals: np.ndarray


def weight_change(before: Bert, after: Bert) -> WeightChange:
    """Measures ‖after - before‖ / ‖before‖ (Frobenius) of layers and their parts.

    Biases count with their matrices. A part whose weights were all zero has no
    share. The pooler is left out where one of the models has none.

    Args:
        before: the model that training began with.
        after: of the same config.

    Raises:
        ValueError: the models differ in shape.
    """
    old = dict(_layers(before))
    new = {name: parts for name, parts in _layers(after) if name in old}
    names = tuple(name for name in old if name in new)
    shares = np.full((len(names), len(PARTS)), np.nan)
    totals = np.full(len(names), np.nan)
    for row, name in enumerate(names):
        moved = lengths = 0.0
        for part in old[name]:
            change, size = _squares(old[name][part], new[name][part])
            shares[row, PARTS.index(part)] = _share(change, size)
            moved, lengths = moved + change, lengths + size
        totals[row] = _share(moved, lengths)
    return WeightChange(names, PARTS, shares, totals)


def _layers(model: Bert) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """The weights of each layer by part."""
    table = model.embeddings
    yield (
        "embeddings",
        {
            "words": [table.word_embeddings],
            "positions": [table.position_embeddings],
            "segments": [table.token_type_embeddings],
            "norms": table.layer_norm.weights,
        },
    )
    for index, block in enumerate(model.blocks):
        yield (
            f"layer_{index}",
            {
                "query": block.attention.query.weights,
                "key": block.attention.key.weights,
                "value": block.attention.value.weights,
                "attention_output": block.attention_output.weights,
                "feed_forward": block.feed_forward.weights,
                "norms": block.attention_norm.weights + block.output_norm.weights,
            },
        )
    if model.final_norm is not None:
        yield "final_norm", {"norms": model.final_norm.weights}
    if model.pooler is not None:
        yield "pooler", {"pooler": model.pooler.dense.weights}


def _squares(old: list[Any], new: list[Any]) -> tuple[float, float]:
    """Squared lengths of the change and of what was before."""
    change = size = 0.0
    for first, second in zip(old, new, strict=True):
        was = as_numpy(first).astype(np.float64)
        now = as_numpy(second).astype(np.float64)
        if was.shape != now.shape:
            raise ValueError(
                f"Both models must have the same shapes. Received: {was.shape} and "
                f"{now.shape} of {first.path}."
            )
        change += float(np.square(now - was).sum())
        size += float(np.square(was).sum())
    return change, size


def _share(change: float, size: float) -> float:
    return float(np.sqrt(change / size)) if size > 0 else float("nan")
