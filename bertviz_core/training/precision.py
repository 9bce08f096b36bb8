"""Whether this machine multiplies bfloat16 faster than float32."""

import functools
import timeit
from collections.abc import Callable

import keras

from bertviz_core.environment import multiplies_bfloat16
from bertviz_core.errors import TrainingError

# B·T, H and I of a product that is timed: that of a small feed-forward block.
_ROWS, _INNER, _OUTER = 2048, 256, 1024
_REPEATS = 20
# The rest of a step (norms, activations, casts) gains nothing by bfloat16 and pays for
# the casts, and a busy machine mistimes: the products must win by so much.
_MARGIN = 1.25


def chosen_precision(asked: str) -> str:
    """Settles "auto": "bfloat16" where it is faster, else "float32".

    A processor with instructions for it may still lose by it: a 2.3 GHz Xeon with
    `avx512_bf16` and no AMX made 120 to 150 thousand million operations a second in
    bfloat16, 140 to 290 in float32, and a step of fine-tuning took 1.5 times as long.
    So it is tried, once a process. Where Keras has a backend on which nothing can be
    trained, it is a `TrainingError`.
    """
    if keras.backend.backend() == "openvino":
        raise TrainingError(
            "OpenVINO cannot train a model. Received: KERAS_BACKEND=openvino. Set it "
            "to tensorflow, and start again."
        )
    if asked != "auto":
        return asked
    if _has_accelerator():
        return "bfloat16"
    wins = multiplies_bfloat16() and _product_is_faster()
    return "bfloat16" if wins else "float32"


@functools.cache
def _product_is_faster() -> bool:
    """Times both in turn: what disturbs one disturbs the other."""
    products = [_product("float32"), _product("bfloat16")]
    best = [
        min(seconds)
        for seconds in zip(*(_timed(products) for _ in range(_REPEATS)), strict=True)
    ]
    return best[1] * _MARGIN < best[0]


def _timed(products: list[Callable[[], float]]) -> list[float]:
    return [timeit.timeit(product, number=1) for product in products]


def _product(dtype: str) -> Callable[[], float]:
    """A product that is waited for, run once so that it is warm."""
    a = keras.ops.ones((_ROWS, _INNER), dtype)
    b = keras.ops.ones((_INNER, _OUTER), dtype)

    def run() -> float:
        return float(keras.ops.cast(keras.ops.matmul(a, b)[0, 0], "float32"))

    run()
    return run


def _has_accelerator() -> bool:
    """A GPU or TPU, all of which multiply bfloat16 in hardware."""
    if keras.backend.backend() == "torch":
        import torch

        return bool(torch.cuda.is_available())
    # Not `list_devices("gpu")`: JAX raises where it has no such kind of device.
    names = keras.distribution.list_devices()
    return any(not name.lower().startswith("cpu") for name in names)
