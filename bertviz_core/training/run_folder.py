"""The folder of a run: who may write there, and files that others read meanwhile."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.whole_files import write_whole


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps a second process from training in a folder, see `lock`; it is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
    mine = lock(folder / ".lock", 0.0)
    try:
        yield
    finally:
        mine.release()


def lock(path: Path, seconds: float = 10.0) -> filelock.FileLock:
    """Locks a file in the folder of a run for this process alone, until it releases it.

    Locks go with their processes, and machines that share a disk need not agree on
    the time. A file that another process has, which may be a moment on its way out and
    is waited for, or that cannot be written, is a `TrainingError`.
    """
    # A thread may release what another has locked.
    mine = filelock.FileLock(path, timeout=seconds, thread_local=False)
    try:
        mine.acquire()
    except filelock.Timeout as error:
        raise TrainingError(
            "This training is under way in another process already. Wait for its end, "
            "or stop it there."
        ) from error
    except OSError as error:
        raise not_written(path.parent, error) from error
    return mine


def not_written(folder: Path, error: OSError) -> TrainingError:
    """The sentence for a folder that does not take what a run writes."""
    return TrainingError(
        "The folder {folder} cannot be written. Received: {reason}. Choose another one "
        "for --out, on a disk with room.",
        folder=folder.name,
        reason=reason_of(error),
    )


def write_json(path: Path, value: Any) -> None:
    """Replaces a file by another whole one."""
    write_whole(path, as_json(value))


def as_json(value: Any, indent: int | None = None) -> str:
    """As it lies in a file, numbers of NumPy included."""
    written = json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)
    return f"{written}\n"


def read_json(path: Path) -> Any:
    """Reads a file of `write_json`."""
    return json.loads(path.read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"`{type(value).__name__}` does not go into JSON.")
