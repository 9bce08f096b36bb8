"""The forward pass as one compiled function that serves every length.

NumPy in, NumPy out. `keras.Model.predict` would trace anew for each shape and
eager execution is several times slower; here the graph is made once for the set
of inputs that are given, with all sizes open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bertviz_core.errors import require_positions
from bertviz_core.model.bert import Bert
from bertviz_core.model.compile import Arrays, compile_function

# Name of each input of `Bert.call` to its dtype and number of axes.
INPUTS: Mapping[str, tuple[str, int]] = {
    "input_ids": ("int32", 2),
    "attention_mask": ("int32", 2),
    "token_type_ids": ("int32", 2),
    "mlm_positions": ("int32", 1),
    "head_mask": ("float32", 3),
    "edge_mask": ("int32", 5),
    "neuron_mask": ("float32", 3),
    "replace_mask": ("int32", 3),
    "replacement": ("float32", 4),
}


class CompiledForward:
    """Runs a model without dropout. Safe to call from several threads.

    Args:
        model: read at each call, so new weights count at once.
        on_call: told of each call.
    """

    def __init__(
        self, model: Bert, on_call: Callable[[], object] = lambda: None
    ) -> None:
        self.model = model
        self._on_call = on_call
        self._functions: dict[tuple[frozenset[str], tuple[str, ...] | None], Any] = {}
        self._lock = threading.Lock()

    def __call__(
        self, inputs: Mapping[str, Any], outputs: tuple[str, ...] | None = None
    ) -> Arrays:
        """Computes the outputs of `Bert.call`.

        Args:
            inputs: arrays by the names of `INPUTS`; absent ones stay off.
            outputs: which outputs to compute; what only others need is left
                out of the graph. `None` for all.

        Returns:
            NumPy float32 arrays by output name, see `Bert`; float32 also when
            the model computes in half precision. They may be read-only.

        Raises:
            TextError: more tokens than positions.
            ValueError: an unknown input, one with another number of axes, or
                an output that the model does not have.
        """
        arrays = {name: _array(name, value) for name, value in inputs.items()}
        require_positions(
            arrays["input_ids"].shape[1], self.model.config.max_position_embeddings
        )
        self._on_call()
        return self._function(frozenset(arrays), outputs)(arrays)

    def _function(
        self, names: frozenset[str], outputs: tuple[str, ...] | None
    ) -> Callable[[Arrays], Arrays]:
        key = (names, outputs)
        # Without the lock first: a graph that is being made for other outputs must
        # not hold up one that is ready.
        if (ready := self._functions.get(key)) is not None:
            return ready
        with self._lock:
            if key not in self._functions:
                self._functions[key] = _compile(self.model, names, outputs)
            return self._functions[key]


def _array(name: str, value: Any) -> np.ndarray:
    if name not in INPUTS:
        raise ValueError(f"`{name}` is not an input. Known: {sorted(INPUTS)}.")
    dtype, rank = INPUTS[name]
    array = np.asarray(value, dtype)
    if array.ndim != rank:
        raise ValueError(
            f"`{name}` must have {rank} axes. Received: shape={array.shape}."
        )
    return array


def _compile(
    model: Bert, names: frozenset[str], outputs: tuple[str, ...] | None
) -> Callable[[Arrays], Arrays]:
    def forward(inputs: Mapping[str, Any]) -> dict[str, Any]:
        result = model(**inputs, training=False)
        wanted = tuple(result) if outputs is None else outputs
        if not set(wanted) <= set(result):
            raise ValueError(
                f"`outputs` must be among {sorted(result)}. Received: {wanted}."
            )
        return {name: result[name] for name in wanted}

    signature = {name: INPUTS[name] for name in sorted(names)}
    compiled = compile_function(signature, forward, model.variables)
    return lambda arrays: compiled(arrays, model.variables)
