"""A computation as one compiled function, on each Keras backend.

The graph is made once, with all sizes open; NumPy in, NumPy out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

Arrays = dict[str, np.ndarray]
# Tensors in, tensors out, by name.
Tensors = Mapping[str, Any]
Body = Callable[[Tensors], dict[str, Any]]
# An input's dtype and number of axes, by name.
Signature = Mapping[str, tuple[str, int]]
# Arrays, and the weights to compute with, to float32 arrays.
Compiled = Callable[[Mapping[str, np.ndarray], Sequence[Any]], Arrays]


def compile_function(
    signature: Signature,
    body: Body,
    weights: Sequence[Any],
    slope_of: str | None = None,
    are_own: bool = True,
) -> Compiled:
    """Compiles a computation with Keras layers.

    Args:
        signature: of the inputs; all sizes are open.
        body: from tensors to tensors.
        weights: the variables that `body` reads.
        slope_of: an input by name. The result is then the gradient, with
            respect to this input, of each output's sum, by output name.
        are_own: whether each call passes these very variables. A graph of
            TensorFlow then reads them where they are; others take their
            numbers at each call.

    Returns:
        From arrays and weights, as many and of the same shapes as `weights`, to
        float32 arrays by output name, which may be read-only.
    """
    make = _MAKERS[keras.backend.backend()]
    compiled: Compiled = make(signature, _as_float32(body), weights, slope_of, are_own)
    return compiled


def _as_float32(body: Body) -> Body:
    def cast(inputs: Tensors) -> dict[str, Any]:
        return {k: keras.ops.cast(v, "float32") for k, v in body(inputs).items()}

    return cast


def _with_weights(body: Body, weights: Sequence[Any], values: Sequence[Any]) -> Body:
    """The same computation with other numbers in the place of some weights."""

    def stateless(inputs: Tensors) -> dict[str, Any]:
        pairs = list(zip(weights, values, strict=True))
        with keras.StatelessScope(state_mapping=pairs):
            return body(inputs)

    return stateless


def _tensorflow(
    signature: Mapping[str, tuple[str, int]],
    body: Body,
    weights: Sequence[Any],
    slope_of: str | None,
    are_own: bool,
) -> Any:
    import tensorflow as tf

    passed = [] if are_own else list(weights)

    def compute(inputs: Tensors, values: list[Any]) -> dict[str, Any]:
        run = _with_weights(body, passed, values)
        if slope_of is None:
            return run(inputs)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(inputs[slope_of])
            sums = {k: tf.reduce_sum(v) for k, v in run(inputs).items()}
        return {k: tape.gradient(v, inputs[slope_of]) for k, v in sums.items()}

    specs = {
        name: tf.TensorSpec([None] * rank, dtype)
        for name, (dtype, rank) in sorted(signature.items())
    }
    of_weights = [tf.TensorSpec(w.shape, w.dtype) for w in passed]
    function = tf.function(
        compute, input_signature=[specs, of_weights], autograph=False
    )
    concrete = function.get_concrete_function()

    def step(arrays: Mapping[str, np.ndarray], weights: Sequence[Any]) -> Arrays:
        tensors = {k: tf.constant(v) for k, v in arrays.items()}
        values = [] if are_own else [tf.convert_to_tensor(w.value) for w in weights]
        found = concrete(tensors, values)
        return {name: np.asarray(tensor) for name, tensor in found.items()}

    return step


def _jax(
    signature: Any, body: Body, weights: Sequence[Any], slope_of: str | None, _: bool
) -> Any:
    import jax

    def compute(values: list[Any], inputs: Tensors) -> dict[str, Any]:
        return _with_weights(body, weights, values)(inputs)

    def slopes(values: list[Any], inputs: Tensors) -> dict[str, Any]:
        name = str(slope_of)

        def sums(at: Any) -> dict[str, Any]:
            result = compute(values, {**inputs, name: at})
            return {key: value.sum() for key, value in result.items()}

        return jax.jacrev(sums)(inputs[name])

    compiled = jax.jit(compute if slope_of is None else slopes)

    def step(arrays: Mapping[str, np.ndarray], weights: Sequence[Any]) -> Arrays:
        found = compiled([w.value for w in weights], dict(arrays))
        return {name: np.asarray(value) for name, value in found.items()}

    return step


def _torch(
    signature: Any, body: Body, weights: Sequence[Any], slope_of: str | None, _: bool
) -> Any:
    import torch

    def step(arrays: Mapping[str, np.ndarray], values: Sequence[Any]) -> Arrays:
        inputs = {k: keras.ops.convert_to_tensor(v) for k, v in arrays.items()}
        run = _with_weights(body, weights, [w.value for w in values])
        if slope_of is None:
            with torch.no_grad():
                found = run(inputs)
        else:
            at = inputs[slope_of].requires_grad_()
            found = {
                name: torch.autograd.grad(value.sum(), at, retain_graph=True)[0]
                for name, value in run(inputs).items()
            }
        return {k: keras.ops.convert_to_numpy(v) for k, v in found.items()}

    return step


_MAKERS: dict[str, Any] = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
