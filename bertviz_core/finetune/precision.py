"""Whether this machine multiplies bfloat16 in hardware."""

from __future__ import annotations

from pathlib import Path

import keras

# Tiles of bfloat16 products. AVX-512's bfloat16 alone gained nothing over float32.
_FLAG = "amx_bf16"


def chosen_precision(asked: str) -> str:
    """Settles "auto": "bfloat16" on a GPU or a processor with AMX, else "float32".

    Args:
        asked: see `FinetuneSettings.precision`.
    """
    if asked != "auto":
        return asked
    return "bfloat16" if _has_gpu() or _processor_has(_FLAG) else "float32"


def _processor_has(flag: str) -> bool:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return flag in flags.split()


def _has_gpu() -> bool:
    if keras.backend.backend() == "torch":
        import torch

        return bool(torch.cuda.is_available())
    return bool(keras.distribution.list_devices("gpu"))
