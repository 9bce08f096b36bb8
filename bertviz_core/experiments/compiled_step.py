"""A part of the network as a compiled function.

`CompiledForward` is the whole pass; experiments also need single blocks, and
derivatives. NumPy in and out; made once for an explorer, and gone with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from bertviz_core.explorer import Explorer
from bertviz_core.model.compile import Arrays, Body, Signature, compile_function

Step = Callable[[Mapping[str, np.ndarray]], Arrays]

_MADE: WeakKeyDictionary[Explorer, dict[Hashable, Any]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def compiled_step(
    explorer: Explorer,
    key: Hashable,
    signature: Signature,
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
            made[key] = compile_function(
                signature, make_body(model), part.weights, slope_of, layer is None
            )
        run = made[key]
    weights = (model if layer is None else model.blocks[layer]).weights

    def step(arrays: Mapping[str, np.ndarray]) -> Arrays:
        explorer.count_pass()
        found: Arrays = run(arrays, weights)
        return found

    return step
