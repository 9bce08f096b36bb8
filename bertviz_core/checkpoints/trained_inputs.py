"""How the texts were cut that a classifier learned from, by its `recipe.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bertviz_core.trace import TrainedInputs

RECIPE_FILE = "recipe.json"
_MAX_BYTES = 1_000_000


def read_trained_inputs(folder: Path) -> TrainedInputs:
    """Takes what a bundle of `fine-tune` says of its texts.

    Any model may lie beside a file of that name, so what is not understood is
    left out and never an error: the model opens without it.

    Args:
        folder: of the checkpoint.
    """
    path = folder / RECIPE_FILE
    try:
        if path.stat().st_size > _MAX_BYTES:
            return TrainedInputs()
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return TrainedInputs()
    if not isinstance(raw, dict):
        return TrainedInputs()
    settings, data = (_object(raw.get(key)) for key in ("settings", "data"))
    has_pairs = raw.get("has_pairs")
    return TrainedInputs(
        max_tokens=_count(settings.get("max_tokens")),
        has_pairs=has_pairs if isinstance(has_pairs, bool) else None,
        text_column=_name(data.get("text_column")),
        pair_column=_name(data.get("pair_column")),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    # A text needs room for itself between [CLS] and [SEP].
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and value >= 3 else 0
