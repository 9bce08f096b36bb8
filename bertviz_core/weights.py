"""The numbers of a model, as NumPy has them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bertviz_core.model.bert import Bert


def as_numpy(variable: Any) -> np.ndarray:
    """The value of a Keras variable, on every backend.

    `Variable.numpy` makes NumPy 2 warn on JAX and torch; a TensorFlow variable has
    its own way.
    """
    import keras  # loaded by whoever made the variable

    value = variable.value
    if keras.backend.backend() == "tensorflow":
        return value.numpy()
    return np.asarray(keras.ops.convert_to_numpy(value))


def copy_weights(target: Bert, source: Bert, but: Collection[str] = ()) -> int:
    """Copies by name the weights that both models have; says how many.

    What the source lacks stays as it is. It may have rows to spare, behind those of the
    target's words. Some may be left alone, by their paths.
    """
    there = {weight.path: weight for weight in source.weights}
    shared = [w for w in target.weights if w.path in there and w.path not in but]
    for weight in shared:
        weight.assign(as_numpy(there[weight.path])[: weight.shape[0]])
    return len(shared)


def truncated_normal(
    rng: np.random.Generator, shape: tuple[int, ...], spread: float
) -> np.ndarray:
    """Draws start values with NumPy, so that every backend starts alike, float32.

    The spread is the standard deviation before the tails are cut.

    Source: google-research/bert, `modeling.py`, `create_initializer`: normal, drawn
    again beyond two standard deviations.
    """
    values = rng.normal(size=shape)
    while (beyond := np.abs(values) > 2.0).any():
        values[beyond] = rng.normal(size=int(beyond.sum()))
    return (values * spread).astype("float32")
