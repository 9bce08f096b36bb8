"""Tables and runs of visitors on the disk: private, by unguessable ids, for a time.

Each has a folder of its own, which lives as long as somebody asks for it now and
then: its lease is counted from the modification time of a file in it. The processes
that serve pages and those that run models see the same folder; where they are on
several machines, `BERTVIZ_CACHE` must be shared between these.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from bertviz_core.cached_files import cache_folder, cache_path
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.finetune.table_encoding import refuse_other_formats
from bertviz_core.finetune.table_limits import DEFAULT_LIMITS, lease_seconds

RUN_PREFIX = "run:"

_FOLDER = "fine-tuning"
_SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
_SAMPLE = re.compile(r"sample:([a-z_]{1,40})")
_TABLE = re.compile(r"file:([0-9a-f]{32})")
_RUN = re.compile(r"[0-9a-f]{32}")
_RUN_TABLE = re.compile(r"run:([0-9a-f]{32})/(table|validation)")
_TABLE_FILE, _LEASE_FILE = "table", "lease"
_CHUNK_BYTES = 1 << 20
# Tables of all visitors, and what models said of them, together; beyond that the
# ones that were not used for the longest time go.
MAX_TABLES_BYTES = 2_000_000_000
# No training begins with less room on the disk.
MIN_FREE_BYTES = 500_000_000


def keep_table(file: BinaryIO | bytes) -> str:
    """Stores a visitor's file, unread.

    Args:
        file: its bytes, or an open file that is read to its end in pieces.

    Returns:
        The handle for `TableSource.table`.

    Raises:
        DatasetError: larger than the limit, no text at all, or no room on the disk.
    """
    digest = uuid.uuid4().hex
    folder = tables_folder() / digest
    try:
        folder.mkdir(mode=0o700)
        renew(folder)
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
    _make_room()
    return f"file:{digest}"


def table_path(table: str) -> Path:
    """Where a table lies; asking for it renews its lease.

    Args:
        table: `sample:` and a name, what `keep_table` returned, or the table of a
            run.

    Raises:
        DatasetError: no such table, or it was not asked for in a long time.
    """
    if match := _SAMPLE.fullmatch(table):
        path = _SAMPLE_FOLDER / f"{match[1]}.csv"
    elif match := _TABLE.fullmatch(table):
        path = tables_folder() / match[1] / _TABLE_FILE
    elif match := _RUN_TABLE.fullmatch(table):
        path = runs_folder() / match[1] / match[2]
    else:
        path = Path()
    if not path.is_file():
        raise DatasetError(
            "This table is no longer here: tables are removed when nobody has used "
            "them for a while. Upload it again."
        )
    if path.parent != _SAMPLE_FOLDER:
        renew(path.parent)
    return path


def forget_table(table: str) -> None:
    """Removes a visitor's table; nothing happens where there is none."""
    if match := _TABLE.fullmatch(table):
        _remove(tables_folder() / match[1])


def lend_table(table: str, run: Path, name: str) -> str:
    """Gives a run a table of its own, which lives as long as the run.

    Args:
        table: a handle.
        run: folder of the run.
        name: "table" or "validation".

    Returns:
        The handle of the copy; a sample stays what it is.

    Raises:
        DatasetError: no such table.
    """
    path = table_path(table)
    if path.parent == _SAMPLE_FOLDER:
        return table
    try:
        os.link(path, run / name)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, run / name)
    return f"run:{run.name}/{name}"


def new_run_folder() -> Path:
    """Makes the folder of a new run; its name is the run's id.

    Raises:
        TrainingError: no room on the disk.
    """
    free = shutil.disk_usage(runs_folder()).free
    if free < MIN_FREE_BYTES:
        raise TrainingError(
            "There is too little room on the disk of the server for a training. "
            "Received: {free} MB free. Try again later, when others have ended.",
            free=free // 1_000_000,
        )
    folder = runs_folder() / uuid.uuid4().hex
    folder.mkdir(mode=0o700)
    renew(folder)
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


def open_model_folder(model_id: str) -> Path:
    """Where the model of a finished run lies; asking renews its lease.

    Args:
        model_id: `RUN_PREFIX` and the run's id.

    Raises:
        TrainingError: the run is gone, or has no model yet.
    """
    folder = run_folder(model_id.removeprefix(RUN_PREFIX))
    renew(folder)
    if not (folder / "model").is_dir():
        raise TrainingError(
            "This training has no model yet. Wait for its end, or stop it."
        )
    return folder / "model"


def renew(folder: Path, seconds: float | None = None) -> None:
    """Begins the lease of a folder anew, or leaves so many seconds of it."""
    with contextlib.suppress(OSError):
        (folder / _LEASE_FILE).touch()
        if seconds is not None:
            used_at = time.time() - lease_seconds() + seconds
            os.utime(folder / _LEASE_FILE, (used_at, used_at))


def renew_all() -> None:
    """Begins every lease anew."""
    for parent in (tables_folder(), runs_folder()):
        for folder in parent.iterdir():
            renew(folder)


def is_abandoned(folder: Path, now: float | None = None) -> bool:
    """Whether nobody has asked for longer than the lease.

    Args:
        folder: of a table or a run.
        now: seconds since the epoch; `None` asks the clock.
    """
    # The folder itself, where it is so new that it holds nothing yet.
    for path in (folder / _LEASE_FILE, folder):
        with contextlib.suppress(OSError):
            age = (time.time() if now is None else now) - path.stat().st_mtime
            return age > lease_seconds()
    return True


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
    folder = cache_folder() / _FOLDER
    for made in (folder, folder / name):
        made.mkdir(mode=0o700, exist_ok=True)
    return folder / name


def _make_room() -> None:
    """Removes the tables that were not used for the longest time."""
    found = []
    for folder in tables_folder().iterdir():
        with contextlib.suppress(OSError):  # removed meanwhile
            used_at = (folder / _LEASE_FILE).stat().st_mtime
            size = sum(file.stat().st_size for file in folder.iterdir())
            found.append((used_at, size, folder))
    total = 0
    for _, size, folder in sorted(found, reverse=True):
        total += size
        if total > MAX_TABLES_BYTES:
            _remove(folder)


def _store(file: BinaryIO | bytes, path: Path) -> None:
    limit = DEFAULT_LIMITS.max_bytes
    size = 0
    with path.open("xb") as target:
        while (
            chunk := file[size : size + _CHUNK_BYTES]
            if isinstance(file, bytes)
            else file.read(_CHUNK_BYTES)
        ):
            if not size:
                refuse_other_formats(chunk)
            size += len(chunk)
            if size > limit:
                raise DatasetError(
                    "The file is too large. The limit is {limit} bytes. Keep fewer "
                    "rows.",
                    limit=limit,
                )
            target.write(chunk)


def _remove(folder: Path) -> None:
    # Moved away first: else a file that a training writes in the middle of it keeps
    # the folder alive, and the training does not notice.
    with contextlib.suppress(OSError):  # not there, or a file is open on Windows
        folder = folder.rename(folder.with_name(f"{folder.name}.gone"))
    shutil.rmtree(folder, ignore_errors=True)


def sweep(is_in_use: Callable[[Path], bool]) -> None:
    """Removes tables and runs whose lease has run out.

    Args:
        is_in_use: whether a process takes care of the run in this folder; it ends
            the run first.
    """
    if not (cache_path() / _FOLDER).is_dir():
        return
    for folder in tables_folder().iterdir():
        if is_abandoned(folder):
            _remove(folder)
    for folder in runs_folder().iterdir():
        if is_abandoned(folder) and not is_in_use(folder):
            _remove(folder)
