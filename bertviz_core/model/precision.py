"""Whether this machine multiplies bfloat16 in hardware."""

from __future__ import annotations

from pathlib import Path

import keras

# Products of bfloat16 pairs: in tiles on Intel, in AVX-512's vectors on AMD too.
_FLAGS = ("amx_bf16", "avx512_bf16")


def chosen_precision(asked: str) -> str:
    """Settles "auto": "bfloat16" where there is hardware for it, else "float32".

    Args:
        asked: "auto", "bfloat16" or "float32".
    """
    if asked != "auto":
        return asked
    return "bfloat16" if _has_gpu() or _processor_multiplies_it() else "float32"


def _processor_multiplies_it() -> bool:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return not set(_FLAGS).isdisjoint(flags.split())


def _has_gpu() -> bool:
    if keras.backend.backend() == "torch":
        import torch

        return bool(torch.cuda.is_available())
    return bool(keras.distribution.list_devices("gpu"))
