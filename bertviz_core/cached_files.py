"""Where this project keeps files on a machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bertviz_core.errors import CheckpointError


def cache_path() -> Path:
    """Where downloads, uploads and trained models are kept; it may not be there.

    The environment variable `BERTVIZ_CACHE` decides, else the system's custom.
    """
    chosen = os.environ.get("BERTVIZ_CACHE")
    if not chosen:
        return _system_cache() / "bert-explorer"
    return Path(os.path.expanduser(chosen))  # raises nothing, unlike the method


def cache_folder(*inside: str) -> Path:
    """The same, or a folder in it, for those who write: made if need be.

    Args:
        inside: names of folders, each in the one before.

    Raises:
        CheckpointError: it cannot be made.
    """
    folder = cache_path().joinpath(*inside)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            "The folder for models and tables cannot be made. Received: {reason}. "
            "Set the environment variable BERTVIZ_CACHE to a folder that may be "
            "written, and start again.",
            reason=error.strerror or type(error).__name__,
        ) from error
    return folder


def _system_cache() -> Path:
    """The folder for data that can be made again.

    Source: XDG Base Directory Specification; Apple's File System Programming
    Guide; Microsoft's Known Folders.
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else _home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user whom the system does not know, as in a container
        return Path(os.sep)
