"""Training and prediction steps compiled once for batches of every size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np


class OpenShapes(keras.Model):
    """A model whose `train_on_batch` and `predict_on_batch` never trace twice.

    Keras on TensorFlow traces a step again for the second and third shape that it
    meets, seconds each for a model of twelve layers. Other backends go their own
    way. Inputs are a dict of arrays; the last axis of floats is fixed, all others
    are open.
    """

    train_function: Any
    predict_function: Any

    def make_train_function(self, force: bool = False) -> Any:
        if keras.backend.backend() != "tensorflow":
            return super().make_train_function(force)
        if self.train_function is None or force:
            self.train_function = _compiled(self.train_step)
        return self.train_function

    def make_predict_function(self, force: bool = False) -> Any:
        if keras.backend.backend() != "tensorflow":
            return super().make_predict_function(force)
        if self.predict_function is None or force:
            self.predict_function = _compiled(self.predict_step)
        return self.predict_function


def _compiled(step: Callable[[Any], Any]) -> Callable[[Iterable[Any]], Any]:
    import tensorflow as tf

    made: dict[frozenset[str], Any] = {}

    def spec(array: np.ndarray) -> Any:
        shape: list[int | None] = [None] * array.ndim
        if array.ndim > 1 and array.dtype.kind == "f":
            shape[-1] = array.shape[-1]
        return tf.TensorSpec(shape, array.dtype)

    def run(batches: Iterable[Any]) -> Any:
        data = tuple(part for part in next(iter(batches)) if part is not None)
        names = frozenset(data[0])
        if names not in made:
            signature = [tf.nest.map_structure(spec, data)]
            made[names] = tf.function(step, input_signature=signature, autograph=False)
        return made[names](data)

    return run
