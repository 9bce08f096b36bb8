"""Tables and runs of visitors on the disk: private, by unguessable ids, for a time.

Each has a folder of its own, which lives as long as somebody asks for it now and
then: its lease is counted from the folder's modification time. The processes that
serve pages and those that run models see the same folder; where they are on several
machines, `BERTVIZ_CACHE` must be shared between these.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
import uuid
from pathlib import Path
from typing import BinaryIO

from bertviz_core.cached_files import cache_folder
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.finetune.table_rows import DEFAULT_LIMITS

LEASE_VARIABLE = "BERTVIZ_LEASE_MINUTES"
DEFAULT_LEASE_MINUTES = 60
RUN_PREFIX = "run:"

_SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
_SAMPLE = re.compile(r"sample:([a-z_]{1,40})")
_TABLE = re.compile(r"file:([0-9a-f]{32})")
_RUN = re.compile(r"[0-9a-f]{32}")
_TABLE_FILE = "table"
_CHUNK_BYTES = 1 << 20


def keep_table(file: BinaryIO | bytes) -> str:
    """Stores a visitor's file, unread.

    Args:
        file: its bytes, or an open file that is read to its end in pieces.

    Returns:
        The handle for `TableSource.table`.

    Raises:
        DatasetError: larger than the limit, or no room on the disk.
    """
    digest = uuid.uuid4().hex
    folder = tables_folder() / digest
    try:
        folder.mkdir(mode=0o700)
        _store(file, folder / _TABLE_FILE)
    except DatasetError:
        _remove(folder)
        raise
    except OSError as error:
        _remove(folder)
        raise DatasetError(
            "The table cannot be stored on the server. Received: {reason}. Its disk "
            "may be full; try a smaller file.",
            reason=error.strerror or type(error).__name__,
        ) from error
    return f"file:{digest}"


def table_path(table: str) -> Path:
    """Where a table lies; asking for it renews its lease.

    Args:
        table: `sample:` and a name, or what `keep_table` returned.

    Raises:
        DatasetError: no such table, or it was not asked for in a long time.
    """
    if match := _SAMPLE.fullmatch(table):
        path = _SAMPLE_FOLDER / f"{match[1]}.csv"
    elif match := _TABLE.fullmatch(table):
        path = tables_folder() / match[1] / _TABLE_FILE
    else:
        path = Path()
    if not path.is_file():
        raise DatasetError(
            "This table is no longer here: tables are removed when nobody has used "
            "them for a while. Upload it again."
        )
    if path.name == _TABLE_FILE:
        renew(path.parent)
    return path


def forget_table(table: str) -> None:
    """Removes a visitor's table; nothing happens where there is none."""
    if match := _TABLE.fullmatch(table):
        _remove(tables_folder() / match[1])


def new_run_folder() -> Path:
    """Makes the folder of a new run; its name is the run's id."""
    folder = runs_folder() / uuid.uuid4().hex
    folder.mkdir(mode=0o700)
    return folder


def run_folder(run_id: str) -> Path:
    """The folder of a run.

    Raises:
        TrainingError: no such run, or it was not asked for in a long time.
    """
    folder = runs_folder() / run_id if _RUN.fullmatch(run_id) else Path()
    if not _RUN.fullmatch(run_id) or not folder.is_dir():
        raise TrainingError(
            "This training is no longer here: a training and its model are removed "
            "when nobody has looked at them for a while. Start it again."
        )
    return folder


def model_folder(model_id: str) -> Path | None:
    """Where the model of a finished run lies; `None` for ids of another kind.

    Raises:
        TrainingError: the run is gone, or has no model yet.
    """
    if not model_id.startswith(RUN_PREFIX):
        return None
    folder = run_folder(model_id.removeprefix(RUN_PREFIX))
    renew(folder)
    if not (folder / "model").is_dir():
        raise TrainingError(
            "This training has no model yet. Wait for its end, or stop it."
        )
    return folder / "model"


def renew(folder: Path) -> None:
    """Begins the lease of a folder anew."""
    with contextlib.suppress(OSError):
        os.utime(folder)


def is_abandoned(folder: Path, now: float | None = None) -> bool:
    """Whether nobody has asked for longer than the lease.

    Args:
        folder: of a table or a run.
        now: seconds since the epoch; `None` asks the clock.
    """
    try:
        age = (time.time() if now is None else now) - folder.stat().st_mtime
    except OSError:
        return True
    return age > lease_seconds()


def lease_seconds() -> float:
    """How long something is kept that nobody asks for."""
    received = os.environ.get(LEASE_VARIABLE, "").strip()
    minutes = int(received) if received.isdecimal() else DEFAULT_LEASE_MINUTES
    return 60.0 * max(1, minutes)


def tables_folder() -> Path:
    """Holds a folder for each table."""
    return _private("tables")


def runs_folder() -> Path:
    """Holds a folder for each run."""
    return _private("runs")


def remove_run(run_id: str) -> None:
    """Removes a run with its model; nothing happens where there is none."""
    if _RUN.fullmatch(run_id):
        _remove(runs_folder() / run_id)


def _private(name: str) -> Path:
    folder = cache_folder() / "fine-tuning"
    for made in (folder, folder / name):
        made.mkdir(mode=0o700, exist_ok=True)
    return folder / name


def _store(file: BinaryIO | bytes, path: Path) -> None:
    limit = DEFAULT_LIMITS.max_bytes
    size = 0
    with path.open("xb") as target:
        while (
            chunk := file[size : size + _CHUNK_BYTES]
            if isinstance(file, bytes)
            else file.read(_CHUNK_BYTES)
        ):
            size += len(chunk)
            if size > limit:
                raise DatasetError(
                    "The file is too large. The limit is {limit} bytes. Keep fewer "
                    "rows.",
                    limit=limit,
                )
            target.write(chunk)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
