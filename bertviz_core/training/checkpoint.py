"""The state of a run on the disk: all of it or nothing, and the one before."""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.weights import as_numpy
from bertviz_core.whole_files import new_folder

_NAME = re.compile(r"step-(\d{9})")
_ROOT, _STATE, _INFO = "checkpoints", "state.safetensors", "checkpoint.json"
NUM_KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run."""

    step: int  # optimiser steps that were done
    fingerprint: str  # of the settings and the text
    state: dict[str, np.ndarray]  # every number that the next step depends on, by name


def save_checkpoint(checkpoint: Checkpoint, run: Path) -> Path:
    """Writes a checkpoint into the folder of a run and then removes the oldest.

    It appears under its name, which is returned, when it is complete; until then, and
    when it fails with a `TrainingError`, the others stay as they are.
    """
    root = run / _ROOT
    folder = root / f"step-{checkpoint.step:09}"
    try:
        with new_folder(folder) as scratch:
            _write(checkpoint, scratch)
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            "The checkpoint of step {step} cannot be saved. Received: {reason}. Make "
            "room on the disk and start again: the run goes on from the checkpoint "
            "before.",
            step=checkpoint.step,
            reason=reason_of(error),
        ) from error
    folders = _folders(run)
    # Later ones are damaged: the run has gone back to one before them.
    later = folders[folders.index(folder) + 1 :]
    older = folders[: -len(later) - NUM_KEPT]
    # With what a process left that was killed while it wrote.
    for old in [*later, *older, *root.glob(".step-*")]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def has_checkpoint(run: Path) -> bool:
    """Whether a run has begun, so that there is something to go on with."""
    return bool(_folders(run))


def read_latest(
    run: Path,
    fingerprint: str = "",
    with_state: bool = True,
    say: Callable[[str], None] = lambda line: None,
    anew: str = "--out FOLDER",
) -> Checkpoint | None:
    """Reads the newest checkpoint of a run that is whole; `None` where there is none.

    The `fingerprint` of the run that is to go on may be its beginning; `anew` is the
    option by which this command begins another run. `say` is told of each newer one
    that is damaged. Who asks which run it is needs no `state`.

    Raises:
        TrainingError: all that there are are damaged, or it is of another run.
    """
    folders = _folders(run)[::-1]
    for folder in folders:
        try:
            found = _read(folder, with_state)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            if folder == folders[-1]:
                raise TrainingError(
                    "No checkpoint of the run is whole. Received: {names}, damaged. "
                    "Bring one back from a copy, or begin a new run in another folder.",
                    names=", ".join(damaged.name for damaged in folders),
                ) from error
            say(f"The checkpoint {folder.name} is damaged; taking the one before")
        else:
            if not found.fingerprint.startswith(fingerprint):
                raise TrainingError(
                    "The checkpoint of step {step} belongs to other data or other "
                    "settings. Give those that the run began with, or begin another "
                    "run with {option}.",
                    step=found.step,
                    option=anew,
                )
            return found
    return None


def keep_newest(run: Path) -> None:
    """Removes all checkpoints but the last: of a run that may never go on."""
    for folder in _folders(run)[:-1]:
        shutil.rmtree(folder, ignore_errors=True)


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


def _folders(run: Path) -> list[Path]:
    """Complete checkpoints, the oldest first."""
    return sorted(p for p in run.glob(f"{_ROOT}/*") if _NAME.fullmatch(p.name))


def named_variables(
    trained: Sequence[Any], random: Sequence[Any], optimizer: Sequence[Any]
) -> dict[str, Any]:
    """Gives weights that move, states of dropout and of the optimiser lasting names."""
    named = {f"weights/{variable.path}": variable for variable in trained}
    # Optimiser variables and states of dropout are numbered, not named alike.
    for kind, variables in (("random", random), ("optimizer", optimizer)):
        named |= {f"{kind}/{index:04}": v for index, v in enumerate(variables)}
    return named


def read_state(variables: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The numbers of variables as they are now; they stay so when these move.

    On TensorFlow's processor nothing is copied, which for a large model would be a
    third of all memory: a step that finds the numbers in use writes its own elsewhere.
    """
    return {name: _numbers_of(variable) for name, variable in variables.items()}


def _numbers_of(variable: Any) -> np.ndarray:
    import keras  # loaded by whoever made the variable

    if keras.backend.backend() == "tensorflow":
        tensor = variable.value.value()
        if "CPU" in tensor.device:
            return np.asarray(memoryview(tensor))
    return np.array(as_numpy(variable))


def write_state(variables: Mapping[str, Any], state: Mapping[str, np.ndarray]) -> None:
    """Puts back what `read_state` gave."""
    if set(state) != set(variables):
        raise ValueError(
            "`state` must hold the names of these variables. Received: "
            f"{sorted(set(state) ^ set(variables))[:3]} too many or too few."
        )
    for name, variable in variables.items():
        variable.assign(state[name])
