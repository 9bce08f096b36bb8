"""JSON files that one process writes while another reads them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

_MOST_TRIES, _SECONDS_BETWEEN_TRIES = 20, 0.01


def write_json(path: Path, value: Any) -> None:
    """Replaces a file by another whole one."""
    scratch = path.with_name(f"{path.name}.new")
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    scratch.write_text(text, encoding="utf-8")
    _replace(scratch, path)


def _replace(scratch: Path, path: Path) -> None:
    """Windows refuses it for the moment in which another process reads the file."""
    for _ in range(_MOST_TRIES - 1):
        try:
            os.replace(scratch, path)
        except PermissionError:
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return
    os.replace(scratch, path)


def read_json(path: Path) -> Any:
    """Reads a file of `write_json`."""
    return json.loads(path.read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"`{type(value).__name__}` does not go into JSON.")
