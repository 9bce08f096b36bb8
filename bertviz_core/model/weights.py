"""The numbers of a model, as NumPy has them."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np


def as_numpy(variable: Any) -> np.ndarray:
    """The value of a Keras variable, on every backend.

    `Variable.numpy` makes NumPy 2 warn on JAX and torch; a TensorFlow variable has
    its own way.
    """
    value = variable.value
    if keras.backend.backend() == "tensorflow":
        return value.numpy()
    return np.asarray(keras.ops.convert_to_numpy(value))
