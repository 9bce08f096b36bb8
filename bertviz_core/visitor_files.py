"""What visitors keep on the disk: each thing in a private folder, for a time.

A tab that is closed tells nobody. So every table, training and uploaded model has a
lease, which begins anew whenever a page asks for it; what nobody asked for in all its
time makes room for others. Who brought it is its owner, and has a share of the room.
The processes that serve pages and those that run models see the same folders; where
they are on several machines, `BERTVIZ_CACHE` must be shared between these.
"""

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bertviz_core.cached_files import cache_folder, cache_path
from bertviz_core.environment import whole_number
from bertviz_core.errors import StorageError, TrainingError

TABLES, RUNS, UPLOADS = "fine-tuning/tables", "fine-tuning/runs", "uploads"
RUN_PREFIX = "run:"
# Of a run: what was asked for, and its model.
REQUEST, MODEL = "request.json", "model"

LEASE_VARIABLE, DEFAULT_LEASE_MINUTES = "BERTVIZ_LEASE_MINUTES", 60
KEPT_VARIABLE, DEFAULT_KEPT_MEGABYTES = "BERTVIZ_MAX_KEPT_MB", 20_000
TIME_VARIABLE, DEFAULT_TRAINING_MINUTES = "BERTVIZ_MAX_TRAINING_MINUTES", 24 * 60
# No owner has more than this of the room.
OWN_SHARE = 0.25

_LEASE, _OWNERS = "lease", "owners"
_ID = re.compile(r"[0-9a-f]{32}")
_NAME = re.compile(r"(run|file|upload):([0-9a-f]{32})")
_KINDS = {"file": TABLES, "upload": UPLOADS}
# What has no lease is being written, or was left by a process that died over it.
_UNFINISHED_SECONDS = 3600.0


def lease_seconds() -> float:
    """How long something is kept that nobody asks for.

    Raises:
        EngineError: `BERTVIZ_LEASE_MINUTES` is no number from 1.
    """
    return 60.0 * whole_number(LEASE_VARIABLE, DEFAULT_LEASE_MINUTES, least=1)


def max_kept_bytes() -> int:
    """What all visitors may keep together.

    Raises:
        EngineError: `BERTVIZ_MAX_KEPT_MB` is no number from 1.
    """
    return whole_number(KEPT_VARIABLE, DEFAULT_KEPT_MEGABYTES, least=1) * 1_000_000


def max_training_seconds() -> float:
    """After how long a training ends with the best that it has.

    Raises:
        EngineError: `BERTVIZ_MAX_TRAINING_MINUTES` is no number from 1.
    """
    return 60.0 * whole_number(TIME_VARIABLE, DEFAULT_TRAINING_MINUTES, least=1)


def place_of(kind: str) -> Path:
    """The folder that holds one for each table, run or upload; others can't read it.

    Raises:
        CheckpointError: it cannot be made.
    """
    folder = cache_folder()
    for name in kind.split("/"):
        folder /= name
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def own(folder: Path, owner: str) -> None:
    """Begins the lease of a folder that somebody has brought; others may own it, too.

    The owner is of a session; "" for nobody in particular, such as the command line.
    """
    if owner not in owners_of(folder):
        with (folder / _OWNERS).open("a", encoding="utf-8") as file:
            file.write(f"{owner}\n")
    renew(folder)


def used_at(folder: Path) -> float:
    """When somebody asked for a folder last, in seconds since the epoch."""
    for path in (folder / _LEASE, folder):
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def disown(folder: Path, owner: str) -> None:
    """Removes a folder, unless others own it."""
    owners = owners_of(folder)
    left = owners - {owner}
    if owners == {owner}:
        remove(folder)
    if not left or left == owners:
        return
    with contextlib.suppress(OSError):
        lines = "".join(f"{other}\n" for other in sorted(left))
        (folder / _OWNERS).write_text(lines, encoding="utf-8")


def owners_of(folder: Path) -> frozenset[str]:
    """Who brought it."""
    try:
        return frozenset((folder / _OWNERS).read_text("utf-8").splitlines())
    except OSError:
        return frozenset()


def renew(folder: Path) -> None:
    """Begins the lease of a folder anew, if it is still there."""
    with contextlib.suppress(OSError):
        (folder / _LEASE).touch()


def renew_named(name: str) -> None:
    """Begins a lease anew by what pages call it: "run:…", "file:…" or "upload:…"."""
    match = _NAME.match(name)
    if match and match[1] == "run":
        with contextlib.suppress(TrainingError):
            visited_run(match[2])
    elif match:
        for folder in (cache_path() / _KINDS[match[1]]).glob(f"{match[2]}*"):
            renew(folder)


def renew_all() -> None:
    """Begins every lease anew: where the machine slept, nobody could ask."""
    for folder in _kept():
        if (folder / _LEASE).exists():
            renew(folder)


def is_abandoned(folder: Path) -> bool:
    """Whether nobody has asked for a folder for longer than the lease."""
    return _seconds_unused(folder, _now()) > 0.0


def remove(folder: Path) -> None:
    """Removes a folder; nothing happens where it is gone."""
    # Moved away first: else a file that a training writes in the middle of it keeps
    # the folder alive, and the training does not notice.
    with contextlib.suppress(OSError):  # not there, or a file is open on Windows
        folder = folder.rename(folder.with_name(f"{folder.name}.gone"))
    shutil.rmtree(folder, ignore_errors=True)


def sweep(kind: str, is_in_use: Callable[[Path], bool] = lambda _: False) -> None:
    """Removes what nobody has asked for, and where no process still works."""
    folders = list(_kept(kind))
    now = _now() if folders else 0.0  # which writes to the disk
    for folder in folders:
        if _seconds_unused(folder, now) > 0.0 and not is_in_use(folder):
            remove(folder)


def require_room(num_bytes: int, owner: str = "", but: Path | None = None) -> None:
    """Makes room for files of so many bytes, beside the folder that they have already.

    What nobody has asked for goes, the oldest first; what somebody uses stays.

    Raises:
        StorageError: there is no room, or the owner has a full share.
    """
    limit = max_kept_bytes()
    sizes = {folder: _num_bytes(folder) for folder in _kept() if folder != but}
    mine = num_bytes + sum(s for f, s in sizes.items() if owner in owners_of(f))
    if owner and mine > limit * OWN_SHARE:
        raise StorageError(
            "What you keep on this server would take too much room. Received: "
            "{size} MB; each visitor has {limit} MB. Remove a table, a model or a "
            "training, or take a smaller one.",
            size=mine // 1_000_000,
            limit=int(limit * OWN_SHARE) // 1_000_000,
        )
    excess = num_bytes + sum(sizes.values()) - limit
    now = _now()
    unused = {folder: _seconds_unused(folder, now) for folder in sizes}
    for folder in sorted(sizes, key=lambda each: -unused[each]):
        if excess <= 0 or unused[folder] <= 0.0:
            break
        remove(folder)
        excess -= sizes[folder]
    if excess > 0:
        raise StorageError(
            "The server has no room for this. Received: {size} MB more, of which "
            "{free} MB are left. Try again when others have gone, or take a smaller "
            "one.",
            size=num_bytes // 1_000_000,
            free=max(num_bytes - excess, 0) // 1_000_000,
        )


def reading_name(run_id: str) -> str:
    """Another name of a run, from which nobody can tell its id: to read it by alone."""
    return hashlib.sha256(f"read {run_id}".encode()).hexdigest()[:32]


def run_folder(run_id: str) -> Path:
    """The folder of a run, whose name that is, or of which `reading_name` makes that.

    Raises:
        TrainingError: no such run, or it was not asked for in a long time.
    """
    folder = place_of(RUNS) / run_id
    if _ID.fullmatch(run_id) and not folder.exists():
        named = (each for each in _kept(RUNS) if reading_name(each.name) == run_id)
        folder = next(named, folder)
    if not _ID.fullmatch(run_id) or not (folder / REQUEST).is_file():
        raise TrainingError(
            "This training is no longer here: a training and its model are removed "
            "when nobody has looked at them for a while. Start it again."
        )
    return folder


def visited_run(run_id: str) -> Path:
    """The same, whose lease begins anew where its owner asks, not where a reader does.

    Raises:
        TrainingError: see `run_folder`.
    """
    folder = run_folder(run_id)
    if folder.name == run_id:
        renew(folder)
    return folder


def own_run_folder(run_id: str) -> Path:
    """The same, for who may stop, resume and remove it.

    Raises:
        TrainingError: see `run_folder`; or this is the name to read it by.
    """
    folder = run_folder(run_id)
    if folder.name != run_id:
        raise TrainingError(
            "This link to a training is for reading only. Ask whoever trains for the "
            "other one, or start a training of your own."
        )
    return folder


def model_of_run(model_id: str) -> Path:
    """Where the model of a finished run lies; its owner's asking renews its lease.

    Raises:
        TrainingError: the run is gone, or has no model yet.
    """
    folder = visited_run(model_id.removeprefix(RUN_PREFIX))
    if not (folder / MODEL).is_dir():
        raise TrainingError(
            "This training has no model yet. Wait for its end, or stop it."
        )
    return folder / MODEL


def _kept(*kinds: str) -> Iterator[Path]:
    """The folders of all things that are kept."""
    for kind in kinds or (TABLES, RUNS, UPLOADS):
        with contextlib.suppress(OSError):  # there is none
            yield from (f for f in (cache_path() / kind).iterdir() if f.is_dir())


def _seconds_unused(folder: Path, now: float) -> float:
    """Since the end of its lease; negative while that lasts. `now` is of `_now`."""
    seconds = lease_seconds()
    if not (folder / _LEASE).exists():
        seconds = max(seconds, _UNFINISHED_SECONDS)
    return now - used_at(folder) - seconds


def _now() -> float:
    """By the clock that leases are written by, which several servers may share."""
    probe = cache_path() / ".now"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:  # a cache that may only be read
        return time.time()


def _num_bytes(folder: Path) -> int:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # removed meanwhile
                size += (Path(parent) / name).lstat().st_size
    return size
