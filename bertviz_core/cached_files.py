"""Where this project keeps files on a machine."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bertviz_core.errors import CheckpointError, reason_of

# Whoever stopped the server in the middle of an upload left it behind.
_FORGOTTEN_AFTER_SECONDS = 24 * 3600
# A file name has 255 bytes; a letter takes up to four in UTF-8.
_MAX_NAME_LENGTH = 60


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

    Raises:
        CheckpointError: it cannot be made.
    """
    folder = cache_path().joinpath(*inside)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            "Cannot create the folder for models and tables. Received: {reason}. Set "
            "the environment variable BERTVIZ_CACHE to a writable folder and start "
            "again.",
            reason=reason_of(error),
        ) from error
    return folder


@contextlib.contextmanager
def incoming_file(name: str) -> Iterator[Path]:
    """A place for a visitor's file until the engine has taken it.

    It lies in the cache, which workers on other machines share with the pages. The
    file is removed however the work with it ends.

    Args:
        name: of the visitor's file. It is kept as far as it is harmless: errors name
            it, and a model's name tells whether it is cased.

    Raises:
        CheckpointError: the folder for it cannot be made.
        OSError: the file cannot be written.
    """
    parent = cache_folder("incoming")
    for left in parent.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _FORGOTTEN_AFTER_SECONDS:
                shutil.rmtree(left)
    safe = re.sub(r"[^\w.-]", "_", name)[-_MAX_NAME_LENGTH:].lstrip(".") or "file"
    with tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder) / safe


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
