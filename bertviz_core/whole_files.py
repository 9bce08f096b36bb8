"""Files and folders that others read while they are replaced: the old or the new."""

import contextlib
import ctypes
import functools
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

_MOST_TRIES, _SECONDS_BETWEEN_TRIES = 20, 0.01
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux' <fcntl.h>


def write_whole(path: Path, content: str | bytes) -> None:
    """Replaces a file by another whole one; any number of writers may do so.

    A text is written in UTF-8, its line ends as they are given.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    data = content if isinstance(content, bytes) else content.encode()
    with new_file(path) as scratch:
        scratch.write_bytes(data)


def scratch_of(path: Path) -> Path:
    """A new name beside a file or folder, hidden, that nobody else has."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Where to write a file that then replaces another; any number of writers may.

    Where the block raises, what was there stays, and nothing else.
    """
    scratch = scratch_of(path)
    try:
        yield scratch
        _replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside a file or folder, gone in the end; one writer at a time.

    What a writer left that was killed is gone with the next one, as its name is the
    same.
    """
    scratch = path.with_name(f".{path.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Where to write a folder that then replaces another, see `scratch_folder`.

    Where the block raises, what was there stays, and nothing else.
    """
    with scratch_folder(folder) as scratch:
        yield scratch
        replace_folder(scratch, folder)


def replace_folder(new: Path, folder: Path) -> None:
    """Puts a whole folder, on the same disk, in the place of another, if there is one.

    Linux lets both change their names in one go. Elsewhere nothing has the name for the
    moment between two renamings.

    Raises:
        OSError: it cannot be renamed; what was there stays.
    """
    exchange = _exchange()
    if not folder.exists():
        new.rename(folder)
    elif exchange is not None and exchange(os.fsencode(new), os.fsencode(folder)):
        shutil.rmtree(new, ignore_errors=True)
    else:
        aside = scratch_of(folder)
        folder.rename(aside)
        try:
            new.rename(folder)
        except OSError:
            aside.rename(folder)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _replace(scratch: Path, path: Path) -> None:
    """Windows refuses it for the moment in which another process reads the file."""
    for _ in range(_MOST_TRIES - 1):
        try:
            os.replace(scratch, path)
        except PermissionError:
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return
    os.replace(scratch, path)


@functools.cache
def _exchange() -> Callable[[bytes, bytes], bool] | None:
    """What lets two names change places, if the system has it.

    Source: `renameat2(2)` of Linux; file systems may refuse the exchange.
    """
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return None

    def exchange(one: bytes, other: bytes) -> bool:
        return bool(rename(_HERE, one, _HERE, other, _EXCHANGE) == 0)

    return exchange
