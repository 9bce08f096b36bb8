"""The numbers of a model, as NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np


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


def truncated_normal(
    rng: np.random.Generator, shape: tuple[int, ...], spread: float
) -> np.ndarray:
    """Draws start values with NumPy, so that every backend starts alike.

    Args:
        rng: gives the numbers.
        shape: of the weight.
        spread: standard deviation before the tails are cut, `initializer_range`.

    Returns:
        float32.

    Source:
        google-research/bert, `modeling.py`, `create_initializer`: normal, drawn
        again beyond two standard deviations.
    """
    values = rng.normal(size=shape)
    while (beyond := np.abs(values) > 2.0).any():
        values[beyond] = rng.normal(size=int(beyond.sum()))
    return (values * spread).astype("float32")
