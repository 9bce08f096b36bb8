"""JSON files that one process writes while another reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.whole_files import write_whole


def write_json(path: Path, value: Any) -> None:
    """Replaces a file by another whole one."""
    write_whole(path, json.dumps(value, ensure_ascii=False, default=_plain))


def read_json(path: Path) -> Any:
    """Reads a file of `write_json`."""
    return json.loads(path.read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"`{type(value).__name__}` does not go into JSON.")
