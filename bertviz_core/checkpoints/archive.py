"""Zip files of checkpoints, opened as what they are: files from strangers.

Everything is refused by the archive's directory where that is possible, and the
bytes are counted again while they are written, because a directory may lie.
"""

import contextlib
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from bertviz_core.checkpoints.catalogue import ENTRY_FILE
from bertviz_core.checkpoints.folder import CONFIG_FILES, is_read, require_checkpoint
from bertviz_core.errors import CheckpointError, reason_of

# Uncompressed, all files of an archive together. BERT-large with the optimiser
# state of Google's release has 4.0e9.
MAX_UNPACKED_BYTES = 4_500_000_000
MAX_FILES = 10_000
# Of the list of files at the end. Python makes an object of every 46 bytes of it, and
# one of half a gigabyte would take all memory before a file can be counted.
MAX_DIRECTORY_BYTES = 4_000_000
# Weights hardly compress; a bomb does little else. Deflate reaches 1032.
MAX_COMPRESSION_RATIO = 100
RATIO_COUNTS_FROM_BYTES = 100_000_000
# Left free on the disk after unpacking.
RESERVED_DISK_BYTES = 500_000_000

_CHUNK_BYTES = 1 << 20
# Python unpacks a piece of the other methods at once, however large it becomes.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    ValueError,  # an offset beyond every file; a name that is not the UTF-8 it claims
)
_Members = dict[str, zipfile.ZipInfo]


def unpack(
    archive: Path,
    folder: Path,
    make_room: Callable[[int], object] = lambda num_bytes: None,
) -> Path:
    """Unpacks the one checkpoint in a zip file.

    Takes only what a checkpoint is read from, out of the folder in the archive that
    holds the config, and leaves nothing behind on failure. That folder is returned; it
    keeps its name, which tells whether a model is cased.

    Args:
        folder: to make; its parent must exist. Where it exists already, it is taken as
            it is.
        make_room: told the bytes of what is about to be unpacked.

    Raises:
        CheckpointError: no zip file, a damaged or hostile one, no checkpoint in it, or
            no room for it.
    """
    if not folder.is_dir():
        with _zip_errors(archive.name):
            scratch = Path(tempfile.mkdtemp(prefix="unpack-", dir=folder.parent))
            try:
                _unpack_into(archive, scratch, make_room)
                if not folder.is_dir():  # another process may have been faster
                    os.replace(scratch, folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return next(path for path in sorted(folder.iterdir()) if path.is_dir())


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file; `CheckpointError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(
            "The file {name} cannot be read. Check that it exists and that you have "
            "permission to open it.",
            name=path.name,
        ) from error


@contextlib.contextmanager
def _zip_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise CheckpointError(
            "The file {name} is not a zip file, or is damaged or incomplete. Copy or "
            "download it again.",
            name=name,
        ) from error
    except OSError as error:
        raise CheckpointError(
            "The zip file {name} cannot be unpacked. Received: {reason}. Check the "
            "file and the free disk space.",
            name=name,
            reason=reason_of(error),
        ) from error


def _unpack_into(
    archive: Path, scratch: Path, make_room: Callable[[int], object]
) -> None:
    with _Guarded(io.FileIO(archive)) as file, zipfile.ZipFile(file) as opened:
        entries = opened.infolist()
        for entry in entries:
            _require_harmless(entry, archive.name)
        _require_size(entries, archive, scratch)
        name, members = _checkpoint_members(entries, archive)
        make_room(sum(entry.file_size for entry in members.values()))
        target = scratch / name
        target.mkdir()
        left = MAX_UNPACKED_BYTES
        for member_name, entry in members.items():
            left -= _write(opened, entry, target / member_name, left, archive.name)


class _Guarded(io.BufferedReader):
    """A zip file that gives out no huge piece at once.

    Only its directory is read in one piece: the files come in small ones.
    """

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise CheckpointError(
                "The zip file {name} lists too many files. Received: a list of {size} "
                "bytes; a checkpoint has only a few files. Zip only the checkpoint's "
                "folder.",
                name=Path(self.name).name,
                size=size,
            )
        return super().read(size)


def _require_harmless(entry: zipfile.ZipInfo, name: str) -> None:
    path = _path_of(entry)
    if path.is_absolute() or ".." in path.parts or re.match("[A-Za-z]:", str(path)):
        raise CheckpointError(
            "The zip file {name} tries to write outside its folder, so it was not "
            "opened. Received: {path}. Get the checkpoint from another source.",
            name=name,
            path=entry.filename[:120],
        )
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise CheckpointError(
            "The zip file {name} contains a link instead of a file, so it was not "
            "opened. Received: {path}. Zip the files themselves.",
            name=name,
            path=entry.filename[:120],
        )
    if entry.flag_bits & 0x1:
        raise CheckpointError(
            "The zip file {name} is password-protected. Zip it without a password.",
            name=name,
        )
    if entry.compress_type not in _METHODS:
        raise CheckpointError(
            "The zip file {name} uses an unsupported compression method. Received: "
            "method {method}; BERT Explorer reads 0 (stored) and 8 (deflate). Zip it "
            "with the default settings of your zip program.",
            name=name,
            method=entry.compress_type,
        )


def _require_size(entries: list[zipfile.ZipInfo], archive: Path, disk: Path) -> None:
    if len(entries) > MAX_FILES:
        raise CheckpointError(
            "The zip file {name} contains too many files. Received: {count}; a "
            "checkpoint has only a few. Zip only the checkpoint's folder.",
            name=archive.name,
            count=len(entries),
        )
    declared = sum(entry.file_size for entry in entries)
    free = shutil.disk_usage(disk).free - RESERVED_DISK_BYTES
    limit = min(MAX_UNPACKED_BYTES, free)
    if declared > RATIO_COUNTS_FROM_BYTES:
        limit = min(limit, MAX_COMPRESSION_RATIO * archive.stat().st_size)
    if declared > limit:
        raise _too_large(archive.name, declared, limit)


def _checkpoint_members(
    entries: Iterable[zipfile.ZipInfo], archive: Path
) -> tuple[str, _Members]:
    """Name of the folder with the one config, and the files beside that."""
    folders: dict[PurePosixPath, _Members] = {}
    for entry in entries:
        path = _path_of(entry)
        is_clutter = path.name.startswith(".") or path.parts[:1] == ("__MACOSX",)
        if entry.is_dir() or is_clutter:
            continue
        members = folders.setdefault(path.parent, {})
        if path.name in members:
            raise CheckpointError(
                "The zip file {name} contains two files with the same name. Received: "
                "{path}. Zip the checkpoint's folder again.",
                name=archive.name,
                path=str(path)[:120],
            )
        members[path.name] = entry
    parent = _folder_of_checkpoint(folders, archive.name)
    name = re.sub(r"[^\w.-]", "_", parent.name or archive.stem)[:80]
    if name.startswith(ENTRY_FILE):  # the catalogue's own, beside the folder
        name = f"_{name}"
    return name, {m: entry for m, entry in folders[parent].items() if is_read(m)}


def _folder_of_checkpoint(
    folders: Mapping[PurePosixPath, _Members], name: str
) -> PurePosixPath:
    found = [path for path in folders if {*CONFIG_FILES} & {*folders[path]}]
    # The outermost: exports for other programs lie in folders within.
    depth = min((len(folder.parts) for folder in found), default=0)
    outermost = [folder for folder in found if len(folder.parts) == depth]
    if len(outermost) > 1:
        raise CheckpointError(
            "The zip file {name} contains {count} checkpoints. Zip the folder of only "
            "one of them.",
            name=name,
            count=len(outermost),
        )
    everything = (file for members in folders.values() for file in members)
    require_checkpoint(name, folders[outermost[0]] if outermost else everything)
    return outermost[0]


def _write(
    opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, left: int, name: str
) -> int:
    size = 0
    with opened.open(entry) as source, path.open("xb") as target:
        while chunk := source.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > min(left, entry.file_size):
                raise _too_large(name, size, min(left, entry.file_size))
            target.write(chunk)
    if size != entry.file_size:
        raise zipfile.BadZipFile(f"{entry.filename}: {size} of {entry.file_size} bytes")
    return size


def _too_large(name: str, size: int, limit: int) -> CheckpointError:
    return CheckpointError(
        "The zip file {name} is too large. Received: {size} bytes unpacked; the limit "
        "is {limit}. Zip only the checkpoint's folder.",
        name=name,
        size=size,
        limit=max(limit, 0),
    )


def _path_of(entry: zipfile.ZipInfo) -> PurePosixPath:
    # Some Windows programs write backslashes.
    return PurePosixPath(entry.filename.replace("\\", "/"))
