"""Where this project keeps files on a machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Where downloads, uploads and trained models are kept; made if need be.

    The environment variable `BERTVIZ_CACHE` decides, else the system's custom.
    """
    chosen = os.environ.get("BERTVIZ_CACHE")
    folder = Path(chosen).expanduser() if chosen else _system_cache() / "bert-explorer"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _system_cache() -> Path:
    """The folder for data that can be made again.

    Source: XDG Base Directory Specification; Apple's File System Programming
    Guide; Microsoft's Known Folders.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
