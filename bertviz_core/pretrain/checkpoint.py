"""The state of a run on the disk: all of it or nothing, and the one before."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from bertviz_core.errors import TrainingError
from bertviz_core.whole_files import replace_folder

_NAME = re.compile(r"step-(\d{9})")
_STATE, _INFO = "state.safetensors", "checkpoint.json"
NUM_KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run.

    Args:
        step: optimiser steps that were done.
        fingerprint: of the settings and the text.
        state: every number that the next step depends on, by name.
    """

    step: int
    fingerprint: str
    state: dict[str, np.ndarray]


def save_checkpoint(checkpoint: Checkpoint, root: Path) -> Path:
    """Writes a checkpoint beside the others and then removes the oldest.

    It appears under its name when it is complete; until then, and when it fails,
    the others stay as they are.

    Args:
        checkpoint: what to write.
        root: folder of the run's checkpoints.

    Returns:
        Its folder.

    Raises:
        TrainingError: no room on the disk, or no right to write there.
    """
    folder = root / f"step-{checkpoint.step:09}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".step-", dir=root))
        try:
            _write(checkpoint, scratch)
            replace_folder(scratch, folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            "The checkpoint of step {step} cannot be saved. Received: {reason}. Make "
            "room on the disk and start again: the run goes on from the checkpoint "
            "before.",
            step=checkpoint.step,
            reason=getattr(error, "strerror", None) or str(error)[:120],
        ) from error
    folders = _folders(root)
    # Later ones are damaged: the run has gone back to one before them.
    later = folders[folders.index(folder) + 1 :]
    older = folders[: -len(later) - NUM_KEPT]
    # With what a process left that was killed while it wrote.
    for old in [*later, *older, *root.glob(".step-*")]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def has_checkpoint(root: Path) -> bool:
    """Whether a run has begun, so that there is something to go on with."""
    return bool(_folders(root))


def read_latest(
    root: Path,
    with_state: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> Checkpoint | None:
    """Reads the newest checkpoint of a run that is whole; `None` where there is none.

    Args:
        root: folder of the run's checkpoints.
        with_state: false leaves `state` empty, for who asks which run it is.
        say: told in a line of each newer one that is damaged.

    Raises:
        TrainingError: all that there are are damaged.
    """
    folders = _folders(root)[::-1]
    for folder in folders:
        try:
            return _read(folder, with_state)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            if folder == folders[-1]:
                raise TrainingError(
                    "No checkpoint of the run is whole. Received: {names}, damaged. "
                    "Bring one back from a copy, or begin a new run in another folder.",
                    names=", ".join(damaged.name for damaged in folders),
                ) from error
            say(f"The checkpoint {folder.name} is damaged; taking the one before")
    return None


def _read(folder: Path, with_state: bool) -> Checkpoint:
    info = json.loads((folder / _INFO).read_text(encoding="utf-8"))
    state = load_file(folder / _STATE) if with_state else {}
    return Checkpoint(int(info["step"]), str(info["fingerprint"]), state)


def _write(checkpoint: Checkpoint, folder: Path) -> None:
    # Numbers as they lie in memory; `ascontiguousarray` would give scalars an axis.
    state = {name: np.asarray(a, order="C") for name, a in checkpoint.state.items()}
    save_file(state, folder / _STATE)
    info = {"step": checkpoint.step, "fingerprint": checkpoint.fingerprint}
    (folder / _INFO).write_text(json.dumps(info), encoding="utf-8")
    for path in folder.iterdir():  # on the disk before the name says so
        with path.open("r+b") as file:  # Windows refuses it to a reader
            os.fsync(file.fileno())


def _folders(root: Path) -> list[Path]:
    """Complete checkpoints, the oldest first."""
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if _NAME.fullmatch(path.name))
