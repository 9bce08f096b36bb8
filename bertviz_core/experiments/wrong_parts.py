"""Formulas of BERT as they circulate wrongly. None of them is BERT's.

Each stands in the place of a method of a layer, see `put_in`. They are copied from
nowhere: each is what a sentence or a formula in a text for beginners says.
"""

import types
from collections.abc import Callable, Iterator
from typing import Any

from keras import ops

from bertviz_core.model.bert import Bert
from bertviz_core.model.layers import LayerNorm
from bertviz_core.model.taps import Tensor


def norm_root(self: Any, x: Tensor) -> Tensor:
    """The root over 1/H alone."""
    centred = x - ops.mean(x, axis=(-1,), keepdims=True)
    total = ops.sum(ops.square(centred), axis=(-1,), keepdims=True)
    spread = (1.0 / self.size) ** 0.5 * total
    return centred / (spread + self.epsilon) * self.gamma + self.beta


def norm_epsilon(self: Any, x: Tensor) -> Tensor:
    """Epsilon beside the root."""
    centred = x - ops.mean(x, axis=(-1,), keepdims=True)
    variance = ops.mean(ops.square(centred), axis=(-1,), keepdims=True)
    return centred / (ops.sqrt(variance) + self.epsilon) * self.gamma + self.beta


def embedding_norm(self: Any, x: Tensor) -> Tensor:
    """No norm after the embeddings."""
    return x


def feed_forward(self: Any, x: Tensor) -> Tensor:
    """No first product: H numbers where I are wanted, the others stay 0."""
    missing = self.kernel_shape[1] - self.kernel_shape[0]
    return ops.pad(x, [(0, 0), (0, 0), (0, missing)])


def pooler(self: Any, x: Tensor) -> Tensor:
    """No product before tanh."""
    return x


def score_scale(model: Bert) -> None:
    """Divides by the root of H = N D: queries are divided by the root of N more."""
    root = model.config.num_attention_heads**0.5
    for block in model.blocks:
        for weight in block.attention.query.weights:
            weight.assign(weight / root)


def put_in(model: Bert, name: str) -> Callable[..., object] | None:
    """Puts a wrong formula, a function above, into a copy of the model.

    Gives the function; `None` for a name that is none of them.
    """
    norms = list(_norms(model))
    places: dict[str, tuple[Any, str, list[Any]]] = {
        "norm_root": (norm_root, "normed", norms),
        "norm_epsilon": (norm_epsilon, "normed", norms),
        "embedding_norm": (embedding_norm, "normed", [model.embeddings.layer_norm]),
        "feed_forward": (
            feed_forward,
            "call",
            [block.feed_forward.intermediate for block in model.blocks],
        ),
        "pooler": (
            pooler,
            "call",
            [] if model.pooler is None else [model.pooler.dense],
        ),
    }
    if name == "score_scale":
        score_scale(model)
        return score_scale
    if name not in places:
        return None
    function, method, layers = places[name]
    for layer in layers:
        setattr(layer, method, types.MethodType(function, layer))
    return function


def _norms(model: Bert) -> Iterator[LayerNorm]:
    yield model.embeddings.layer_norm
    for block in model.blocks:
        yield from (block.attention_norm, block.output_norm)
    if model.final_norm is not None:
        yield model.final_norm
    if model.mlm is not None:
        yield model.mlm.transform_norm
