"""Tables of visitors on the disk, by unguessable names; see `visitor_files`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import uuid
from pathlib import Path
from typing import BinaryIO

from bertviz_core import visitor_files
from bertviz_core.errors import DatasetError, TrainingError, reason_of
from bertviz_core.finetune.table import DEFAULT_LIMITS
from bertviz_core.finetune.table_encoding import refuse_other_formats
from bertviz_core.visitor_files import TABLES, place_of, run_folder

_SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
_SAMPLE = re.compile(r"sample:([a-z_]{1,40})")
_TABLE = re.compile(r"file:([0-9a-f]{32})")
_RUN_TABLE = re.compile(r"run:([0-9a-f]{32})/(table|validation)")
_TABLE_FILE = "table"
_CHUNK_BYTES = 1 << 20


def keep_table(file: BinaryIO | bytes, owner: str = "") -> str:
    """Stores a visitor's file, unread.

    Args:
        file: its bytes, or an open file that is read to its end in pieces.
        owner: whose share of the room it takes.

    Returns:
        The handle for `TableSource.table`.

    Raises:
        DatasetError: larger than the limit, no text at all, or no room on the disk.
        StorageError: see `visitor_files.require_room`.
    """
    folder = place_of(TABLES) / uuid.uuid4().hex
    try:
        folder.mkdir(mode=0o700)
        _store(file, folder / _TABLE_FILE)
        size = (folder / _TABLE_FILE).stat().st_size
        visitor_files.require_room(size, owner, but=folder)
        visitor_files.own(folder, owner)
    except OSError as error:
        visitor_files.remove(folder)
        raise DatasetError(
            "The table cannot be stored on the server. Received: {reason}. Its disk "
            "may be full; try a smaller file.",
            reason=reason_of(error),
        ) from error
    except BaseException:
        visitor_files.remove(folder)
        raise
    return f"file:{folder.name}"


def table_path(table: str) -> Path:
    """Where a table lies; asking for it renews its lease.

    Args:
        table: `sample:` and a name, what `keep_table` returned, or the table of a
            run.

    Raises:
        DatasetError: no such table, or it was not asked for in a long time.
    """
    path = Path()
    if match := _SAMPLE.fullmatch(table):
        path = _SAMPLE_FOLDER / f"{match[1]}.csv"
    elif match := _TABLE.fullmatch(table):
        path = place_of(TABLES) / match[1] / _TABLE_FILE
    elif match := _RUN_TABLE.fullmatch(table):
        with contextlib.suppress(TrainingError):
            path = run_folder(match[1]) / match[2]
    if not path.is_file():
        raise DatasetError(
            "This table is no longer here: tables are removed when nobody has used "
            "them for a while. Upload it again."
        )
    if path.parent != _SAMPLE_FOLDER:
        visitor_files.renew(path.parent)
    return path


def forget_table(table: str, owner: str = "") -> None:
    """Removes a table that its owner wants no more, if it is theirs alone."""
    if match := _TABLE.fullmatch(table):
        visitor_files.disown(place_of(TABLES) / match[1], owner)


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
