"""Layers of a model computed in NumPy, in float64, from their weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertviz_core.analysis.layer_norm import layer_norm
from bertviz_core.model.weights import as_numpy


def dense(layer: Any, x: np.ndarray) -> np.ndarray:
    """A `Dense` layer of the model in float64."""
    return x @ wide(layer.kernel) + wide(layer.bias)


def normed(layer: Any, x: np.ndarray) -> np.ndarray:
    """A `LayerNorm` of the model in float64."""
    return layer_norm(x, wide(layer.gamma), wide(layer.beta), layer.epsilon)


def wide(variable: Any) -> np.ndarray:
    """A weight in float64."""
    return as_numpy(variable).astype(np.float64)
