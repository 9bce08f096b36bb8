"""How long activation functions and their gradients take on this machine."""

import functools
import statistics
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.tasks import GRADIENT_RESOURCE, Progress, task, untold

NUM_NUMBERS = 1_000_000
ALONE = "alone"  # no function at all: what it costs to bring the numbers there
_NUM_RUNS = 9


@dataclass(frozen=True)
class ActivationTime:
    """What one function costs for `NUM_NUMBERS` numbers."""

    seconds: float  # of its values; the median of some runs
    gradient_seconds: float  # of its derivatives


@task(GRADIENT_RESOURCE, is_kept=False)
def time_activations(progress: Progress = untold) -> dict[str, ActivationTime]:
    """Times Keras' functions and their derivatives, as training has them: float32.

    `ALONE` is for the numbers as they are.

    Raises:
        EngineError: on OpenVINO, which derives nothing.
    """
    x = np.random.default_rng(0).standard_normal(NUM_NUMBERS).astype("float32")
    found = {}
    for index, name in enumerate((ALONE, *ACTIVATIONS)):
        progress(index / (len(ACTIVATIONS) + 1), name)
        run = (compiled_activation(name, slope=slope) for slope in (False, True))
        found[name] = ActivationTime(
            *(median_seconds(functools.partial(one, x), _NUM_RUNS) for one in run)
        )
    return found


def compiled_activation(name: str, slope: bool) -> Callable[[np.ndarray], np.ndarray]:
    """One of `ACTIVATIONS`, or `ALONE`, compiled by Keras' backend: float32 `[P]`."""
    from bertviz_core.model.compile import compile_function

    function = _functions()[name]
    compiled = compile_function(
        {"x": ("float32", 1)},
        lambda inputs: {"y": function(inputs["x"])},
        [],
        "x" if slope else None,
    )
    return lambda x: compiled({"x": x}, [], {"y": None})["y"]


def _functions() -> Mapping[str, Callable[[Any], Any]]:
    from keras import ops

    from bertviz_core.model.layers import ACTIVATIONS as OF_MODELS

    def leak(slope: float) -> Callable[[Any], Any]:
        return lambda x: ops.leaky_relu(x, slope)

    return {
        **OF_MODELS,
        ALONE: lambda x: x,
        "sigmoid": ops.sigmoid,
        "tanh": ops.tanh,
        "leaky_relu": leak(0.01),
        "prelu": leak(0.25),  # where training starts
        "elu": ops.elu,
        "gelu_tanh": OF_MODELS["gelu_new"],
    }


def median_seconds(run: Callable[[], object], num_runs: int) -> float:
    """The median of some runs, after one that makes what later ones find."""
    run()
    return statistics.median(timeit.repeat(run, number=1, repeat=num_runs))
