"""A computation as one compiled function, on each Keras backend.

The graph is made once, with all sizes open; NumPy in, NumPy out.
"""

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from bertviz_core.environment import precision
from bertviz_core.errors import EngineError
from bertviz_core.trace import Arrays

# OpenVINO keeps the memory of a call for the next one. After a large one, such as the
# attention of 512 tokens, it is given back: each block would keep its own.
_MOST_BYTES_KEPT = 4 * 2**20

_HINTS = {"float32": "f32", "bfloat16": "bf16"}

# Tensors in, tensors out, by name.
Tensors = Mapping[str, Any]
Body = Callable[[Tensors], dict[str, Any]]
# An input's dtype and number of axes, by name.
Signature = Mapping[str, tuple[str, int]]
# Where to put outputs, by name; `None`: in a new array.
Into = Mapping[str, "np.ndarray | None"]
# Arrays and weights to compute with to outputs of the backend by name, ...
Run = Callable[[Mapping[str, np.ndarray], Sequence[Any]], Mapping[str, Any]]
# ... and with the wanted outputs to float32 arrays.
Compiled = Callable[[Mapping[str, np.ndarray], Sequence[Any], Into], Arrays]


def compile_function(
    signature: Signature,
    body: Body,
    weights: Sequence[Any],
    slope_of: str | None = None,
    are_own: bool = True,
) -> Compiled:
    """Compiles a computation with Keras layers, from tensors to tensors.

    Args:
        signature: of the inputs; all sizes are open.
        weights: the variables that `body` reads.
        slope_of: an input by name. The result is then the gradient, with respect to
            this input, of each output's sum, by output name.
        are_own: whether each call passes these very variables. A graph of TensorFlow
            then reads them where they are; others take their numbers at each call.

    Returns:
        From arrays, weights, as many and of the same shapes as `weights`, and where to
        put which outputs, to float32 arrays by output name, which may be read-only. On
        OpenVINO weights are those of now.

    Raises:
        EngineError: a gradient on OpenVINO, which has none.
    """
    body = _as_float32(body)
    if uses_openvino():
        return _openvino(signature, body, slope_of)
    make = _MAKERS[keras.backend.backend()]
    run = make(signature, body, weights, slope_of, are_own)
    return lambda arrays, weights, into: _put(run(arrays, weights), into)


def uses_openvino() -> bool:
    """Whether a compiled function is OpenVINO's, with the weights in it."""
    return bool(keras.backend.backend() == "openvino")


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
    signature: Signature,
    body: Body,
    weights: Sequence[Any],
    slope_of: str | None,
    are_own: bool,
) -> Run:
    import tensorflow as tf

    passed = [] if are_own else list(weights)

    def compute(inputs: Tensors, values: list[Any]) -> dict[str, Any]:
        through = _with_weights(body, passed, values)
        if slope_of is None:
            return through(inputs)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(inputs[slope_of])
            sums = {k: tf.reduce_sum(v) for k, v in through(inputs).items()}
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

    def run(arrays: Mapping[str, np.ndarray], weights: Sequence[Any]) -> Any:
        tensors = {k: tf.constant(v) for k, v in arrays.items()}
        values = [] if are_own else [tf.convert_to_tensor(w.value) for w in weights]
        return concrete(tensors, values)

    return run


def _jax(
    signature: Any, body: Body, weights: Sequence[Any], slope_of: str | None, _: bool
) -> Run:
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
    return lambda arrays, weights: compiled([w.value for w in weights], dict(arrays))


def _openvino(signature: Signature, body: Body, slope_of: str | None) -> Compiled:
    """Weights become constants, which OpenVINO packs as the processor likes them."""
    if slope_of is not None:
        raise EngineError(
            "Gradients need TensorFlow. Received: KERAS_BACKEND=openvino. Set it to "
            "tensorflow and restart."
        )
    import openvino

    opset = openvino.opset16
    names = sorted(signature)
    parameters = [
        opset.parameter([-1] * rank, np.dtype(dtype), name=name)
        for name, (dtype, rank) in sorted(signature.items())
    ]
    tensors = {
        name: keras.ops.convert_to_tensor(parameter.output(0))
        for name, parameter in zip(names, parameters, strict=True)
    }
    results = body(tensors)
    compiled = _core().compile_model(
        openvino.Model([result.output for result in results.values()], parameters),
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            # Left to itself OpenVINO rounds to bfloat16 where the processor has it,
            "INFERENCE_PRECISION_HINT": _HINTS[precision()],
            # and keeps kernels of 5,000 shapes: 600 MB after 500 texts of all lengths.
            "CPU_RUNTIME_CACHE_CAPACITY": 64,
        },
    )
    # One call at a time: the next one writes over what this one shows, and OpenVINO
    # gives no memory back while one runs. Each takes all processors: none waits longer.
    lock = threading.Lock()
    request = compiled.create_infer_request()

    def step(
        arrays: Mapping[str, np.ndarray], weights: Sequence[Any], into: Into
    ) -> Arrays:
        nonlocal request
        with lock:
            # Copied in: OpenVINO 2026.4 writes into the arrays of earlier calls, which
            # are gone by then.
            given = [arrays[name] for name in names]
            values = request.infer(given, share_outputs=True).values()
            found = dict(zip(results, values, strict=True))
            outputs = _put(found, into, copy=True)
            if sum(value.nbytes for value in found.values()) > _MOST_BYTES_KEPT:
                request = compiled.create_infer_request()
                compiled.release_memory()
        return outputs

    return step


@functools.cache
def _core() -> Any:
    """One for all.

    Each lays a stack for signals (OpenVINO 2026.4). Where one goes before another that
    came after it, the stack that is then put back is gone, and a signal is a crash.
    """
    import openvino

    return openvino.Core()


def _torch(
    signature: Any, body: Body, weights: Sequence[Any], slope_of: str | None, _: bool
) -> Run:
    import torch

    def run(arrays: Mapping[str, np.ndarray], values: Sequence[Any]) -> Any:
        inputs = {k: keras.ops.convert_to_tensor(v) for k, v in arrays.items()}
        through = _with_weights(body, weights, [w.value for w in values])
        if slope_of is None:
            with torch.no_grad():
                found = through(inputs)
        else:
            at = inputs[slope_of].requires_grad_()
            found = {
                name: torch.autograd.grad(value.sum(), at, retain_graph=True)[0]
                for name, value in through(inputs).items()
            }
        return {k: keras.ops.convert_to_numpy(v) for k, v in found.items()}

    return run


def _put(found: Mapping[str, Any], into: Into, copy: bool = False) -> Arrays:
    """Outputs as arrays; new ones may share memory, unless they are to be copies."""
    outputs = {}
    for name, place in into.items():
        if place is None:
            outputs[name] = (np.array if copy else np.asarray)(found[name])
        else:
            np.copyto(place, found[name])
            outputs[name] = place
    return outputs


_MAKERS = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
