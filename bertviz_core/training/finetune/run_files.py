"""The files of one run: what was asked for, how far it is, what it left.

The process that serves pages writes the request and reads the rest; the process that
trains writes the rest. Files appear under their names when they are whole.
"""

import dataclasses
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

from bertviz_core import errors, visitor_files
from bertviz_core.errors import BertVizError, TrainingError, reason_of
from bertviz_core.trace import ModelEntry
from bertviz_core.training.finetune.request import (
    RESUMABLE,
    TrainingRequest,
    TrainingStatus,
)
from bertviz_core.training.finetune.run_history import RunHistory
from bertviz_core.training.finetune.visitor_tables import lend_table
from bertviz_core.training.run_folder import lock, read_json, write_json
from bertviz_core.visitor_files import (
    MODEL,
    REQUEST,
    RUN_PREFIX,
    RUNS,
    place_of,
    reading_name,
)
from bertviz_core.whole_files import new_file

PROGRESS, STOP, BUNDLE = "progress.json", "stop", "model.zip"
WORK = "steps"
LOG_FOLDER, LOG_BUNDLE = "log", "tensorboard.zip"
OUTPUTS = "outputs.npz"
# Once all of these are in their places, until the run has ended.
KEPT = "kept"
# Why a run is to stop: someone asked, nobody looked at it any more, or its time is up.
ASKED, ABANDONED, TIME_UP = "asked", "abandoned", "time_up"
# Held by the process that sees to a run, and by the one that trains. Locks go with
# their processes, and servers that share a disk need not agree on the time.
CARE, TRAINING = "care.lock", "training.lock"
# No training begins with less room on the disk.
MIN_FREE_BYTES = 500_000_000
_MAX_TITLE_CHARS = 80
_RUN_ID = re.compile(rf"(?<={RUN_PREFIX})[0-9a-f]{{32}}")


def create_run(request: TrainingRequest, run_id: str, owner: str = "") -> Path:
    """Makes the folder of a run with the request and tables of its own.

    Its id is 32 hexadecimal digits that nobody can guess.

    Raises:
        DatasetError: a table is gone.
        StorageError: see `visitor_files.require_room`.
        TrainingError: no room on the disk.
    """
    visitor_files.require_room(0, owner)
    free = shutil.disk_usage(place_of(RUNS)).free
    if free < MIN_FREE_BYTES:
        raise TrainingError(
            "There is too little room on the disk of the server for a training. "
            "Received: {free} MB free. Try again later, when others have ended.",
            free=free // 1_000_000,
        )
    folder = place_of(RUNS) / run_id
    try:
        folder.mkdir(mode=0o700)
        visitor_files.own(folder, owner)
        write_json(folder / REQUEST, lend_tables(request, folder).to_dict())
    except BaseException as error:
        visitor_files.remove(folder)
        if isinstance(error, OSError):
            raise cannot_write(reason_of(error)) from error
        raise
    return folder


def cannot_write(reason: str) -> TrainingError:
    """The sentence for a disk that does not take what a run writes."""
    return TrainingError(
        "The training cannot write to the disk of the server. Received: {reason}. Make "
        "room, then let the training go on.",
        reason=reason,
    )


def lend_tables(request: TrainingRequest, folder: Path) -> TrainingRequest:
    """Gives a run tables of its own, by whose names the request then asks for them.

    A table that is gone is a `DatasetError`.
    """
    source, other = request.data.source, request.data.validation
    asked = source.table
    lent = lend_table(source.table, folder, "table")
    source = dataclasses.replace(source, table=lent)
    if other is not None:
        lent = lend_table(other.table, folder, "validation")
        other = dataclasses.replace(other, table=lent)
    data = dataclasses.replace(request.data, source=source, validation=other)
    return dataclasses.replace(request, data=data, asked_table=asked)


def read_request(folder: Path, name: str = "") -> TrainingRequest:
    """What a run was asked for; who asks by a `reading_name` is told the id of none."""
    raw = read_json(folder / REQUEST)
    if name not in ("", folder.name):
        said = _RUN_ID.sub(_reading_name, json.dumps(raw))
        raw = json.loads(said) | {"asked_table": ""}
    return TrainingRequest.from_dict(raw)


def _reading_name(found: re.Match[str]) -> str:
    is_id = (place_of(RUNS) / found[0]).exists()  # it may be a reading name already
    return reading_name(found[0]) if is_id else found[0]


def read_progress(folder: Path) -> dict[str, Any]:
    """What the process that trains wrote last; empty before its first word."""
    try:
        return read_json(folder / PROGRESS)
    except FileNotFoundError:
        return {}


def write_progress(
    folder: Path,
    history: RunHistory,
    state: str = "running",
    error: BertVizError | None = None,
) -> None:
    """Says how far a run is, in one of `request.STATES`."""
    told = None
    if error is not None:
        kind, sentence = type(error).__name__, error.template
        told = {"kind": kind, "template": sentence, "details": error.details}
    raw = {"state": state, "history": history.to_dict(), "error": told}
    write_json(folder / PROGRESS, raw)


def read_history(folder: Path) -> RunHistory:
    """What a run has told so far."""
    return RunHistory(**read_progress(folder).get("history", {}))


def has_time(folder: Path) -> bool:
    """Whether a run has not trained yet for as long as the server lets one."""
    return read_history(folder).seconds < visitor_files.max_training_seconds()


def set_state(folder: Path, state: str, error: BertVizError | None = None) -> None:
    """Ends or revives a run from the side that does not train."""
    write_progress(folder, read_history(folder), state, error)


def has_epoch(folder: Path) -> bool:
    """Whether a run that broke off or was stopped goes on from what is on the disk."""
    return any((folder / WORK).glob("checkpoints/step-*"))


def can_go_on(folder: Path, state: str) -> bool:
    """Whether a run in this state can be taken up.

    One that was stopped with a model needs the step at which it was, for which there
    may have been no room.
    """
    if state == "stopped" and (folder / MODEL).exists() and not has_epoch(folder):
        return False
    return state in RESUMABLE and has_time(folder)


def ask_to_go_on(folder: Path) -> None:
    """Revives a run that broke off or was stopped; its log will tell who asked."""
    (folder / STOP).unlink(missing_ok=True)
    history = read_history(folder)
    history.is_asked = True
    if not (folder / KEPT).exists():
        history.ending = ""
    write_progress(folder, history)


def ask_to_stop(folder: Path, why: str = ASKED) -> None:
    """Makes the run end at its next step; the first reason stays."""
    if reason_to_stop(folder) is None:
        (folder / STOP).write_text(why, encoding="ascii")


def reason_to_stop(folder: Path) -> str | None:
    """`ASKED`, `ABANDONED`, or `None` where the run is to go on."""
    try:
        return (folder / STOP).read_text(encoding="ascii")
    except OSError:
        return None


def has_care(folder: Path) -> bool:
    """Whether some process sees to this run."""
    if not (folder / CARE).exists():
        return False
    try:
        lock(folder / CARE, 0.0).release()
    except TrainingError:
        return True
    return False


def status_of(folder: Path, place: int = 0, name: str = "") -> TrainingStatus:
    """Puts together what a page sees that asks by a name, see `read_request`.

    The `place` in the queue is 0 where it does not wait.
    """
    name = name or folder.name
    is_cared_for = has_care(folder)  # asked first: what is read then is the last word
    raw = read_progress(folder)
    state = "waiting" if place else raw.get("state", "running")
    if state in ("waiting", "running") and not is_cared_for:
        state = "interrupted"
    request = read_request(folder, name)
    error = None
    if failed := raw.get("error"):
        kind = getattr(errors, failed["kind"], BertVizError)
        error = kind(failed["template"], **failed["details"])
    told = raw.get("history", {}) | {"num_epochs": request.settings.epochs}
    if state != "running":
        told |= {"phase": "", "fraction": 0.0, "seconds_left": None}
    found = TrainingStatus(
        run_id=name,
        state=state,
        request=request,
        place=place,
        error=error,
        has_log=_has_log(folder, state),
        has_epoch=has_epoch(folder),
        can_go_on=name == folder.name and can_go_on(folder, state),
        is_own=name == folder.name,
        **told,
    )
    if found.is_finished:  # while it runs, the report of a model may still grow
        found.model = _entry(folder, found)
    return found


def _entry(folder: Path, status: TrainingStatus) -> ModelEntry | None:
    weights, request = folder / MODEL / "model.safetensors", status.request
    if not weights.is_file():
        return None
    base = Path(request.model.split("@")[0]).name
    return ModelEntry(
        f"{RUN_PREFIX}{status.run_id}",
        request.title[:_MAX_TITLE_CHARS] or f"{base}-fine-tuned",
        "trained",
        language=status.language,
        size_bytes=weights.stat().st_size,
    )


def pack_log_of(folder: Path) -> None:
    """Packs the log for TensorBoard of a run, as far as it was written.

    The files stay, as a run that goes on adds to them. Where the disk does not take it,
    which is an `OSError`, a log that was packed before stays.
    """
    if not (folder / LOG_FOLDER).is_dir():
        return
    with (
        new_file(folder / LOG_BUNDLE) as scratch,
        zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for file in sorted((folder / LOG_FOLDER).iterdir()):
            packed.write(file, f"log/{file.name}")


def _has_log(folder: Path, state: str) -> bool:
    if state in ("waiting", "running"):
        return False
    log = folder / LOG_FOLDER
    return (folder / LOG_BUNDLE).is_file() or (log.is_dir() and any(log.iterdir()))
