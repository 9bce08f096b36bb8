"""A part of the network as a compiled function, on each Keras backend.

`CompiledForward` is the whole pass; experiments also need single blocks, and
derivatives. NumPy in and out; made once for an explorer, and gone with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np

from bertviz_core.explorer import Explorer

Arrays = dict[str, np.ndarray]
# Tensors in, tensors out, by name.
Tensors = Mapping[str, Any]
Body = Callable[[Tensors], dict[str, Any]]
Step = Callable[[Mapping[str, np.ndarray]], Arrays]

_MADE: WeakKeyDictionary[Explorer, dict[Hashable, Any]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def compiled_step(
    explorer: Explorer,
    key: Hashable,
    signature: Mapping[str, tuple[str, int]],
    make_body: Callable[[Any], Body],
    layer: int | None = None,
    slope_of: str | None = None,
) -> Step:
    """Gives the function made before under this key, or makes it.

    Args:
        explorer: whose model is used; weights are read at each call.
        key: names the function among those of this explorer.
        signature: dtype and number of axes of each input; all sizes are open.
        make_body: from the `Bert` to what to compute. It must not refer to the
            explorer, or that would never be freed.
        layer: `None`, or the block whose weights stand in for those of
            `blocks[0]`: blocks are alike, so one graph made of the first serves
            all of them.
        slope_of: an input by name. The result is then the gradient, with
            respect to this input, of each output's sum, by output name.

    Returns:
        A function from NumPy arrays to float32 arrays; safe between threads.
    """
    model = explorer.loaded.model
    with _LOCK:
        made = _MADE.setdefault(explorer, {})
        if key not in made:
            part = model if layer is None else model.blocks[0]
            make = _MAKERS[keras.backend.backend()]
            body = _as_float32(make_body(model))
            # TensorFlow's graphs hold a model's own variables; others, and a
            # block that stands in, take the numbers at each call.
            made[key] = make(signature, body, part.weights, slope_of, layer is None)
        run = made[key]
    weights = (model if layer is None else model.blocks[layer]).weights

    def step(arrays: Mapping[str, np.ndarray]) -> Arrays:
        explorer.count_pass()
        found: Arrays = run(arrays, weights)
        return found

    return step


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
