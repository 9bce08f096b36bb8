"""Where models lie on this machine, and the names on the hub that we suggest.

Light: a list of models must not cost the import of TensorFlow.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertviz_core.cached_files import cache_folder, cache_path
from bertviz_core.checkpoints.folder import is_weights
from bertviz_core.trace import ModelEntry
from bertviz_core.whole_files import write_whole

BUNDLED_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "models"

# A folder's `entry.json` beside the checkpoint's own folder says where it came
# from; it is written last, so a folder without one is not complete.
ENTRY_FILE = "entry.json"

_HUB, _UPLOADS = "hub", "uploads"

# Uploads are kept until together they take more than this; then the ones that
# were not opened for the longest time go.
MAX_UPLOADS_BYTES = 10_000_000_000
# What is not complete after so long was left by a process that died over it.
MAX_UNPACK_SECONDS = 3600.0

_SMALL_LAYERS, _SMALL_SIZES = (2, 4, 6, 8, 10, 12), (128, 256, 512, 768)

# Source: the names of the model pages on huggingface.co; the small ones are
# those of Turc et al. 2019 (arXiv:1908.08962), heads = hidden size / 64.
SUGGESTED_HUB_NAMES: tuple[tuple[str, str], ...] = (
    ("bert-base-uncased", "en"),
    ("bert-base-cased", "en"),
    ("bert-base-chinese", "zh"),
    ("bert-base-multilingual-cased", "multilingual"),
    *(
        (f"google/bert_uncased_L-{layers}_H-{size}_A-{size // 64}", "en")
        for layers in _SMALL_LAYERS
        for size in _SMALL_SIZES
    ),
)


@dataclass(frozen=True)
class CachedModel:
    """A checkpoint in the cache.

    Args:
        folder: of the checkpoint.
        name: hub name, or the title of an upload; "" for a zip file that was opened
            where it lies.
        revision: commit on the hub; "" for an upload.
        asked_revision: what was asked for, such as a branch; "" for the newest.
    """

    folder: Path
    name: str
    revision: str = ""
    asked_revision: str = ""


def hub_folder(*inside: str) -> Path:
    """Where downloaded models lie, one folder a revision; made if need be.

    Args:
        inside: names of folders, each in the one before.

    Raises:
        CheckpointError: it cannot be made.
    """
    return cache_folder(_HUB, *inside)


def uploads_folder() -> Path:
    """Where unpacked zip files lie, one folder a SHA-256; made if need be.

    Raises:
        CheckpointError: it cannot be made.
    """
    return cache_folder(_UPLOADS)


def bundled_models() -> tuple[ModelEntry, ...]:
    """The models that come with the project; they need no network."""
    if not BUNDLED_FOLDER.is_dir():
        return ()
    folders = sorted(p for p in BUNDLED_FOLDER.iterdir() if is_complete(p))
    return tuple(
        ModelEntry(p.name, p.name, "bundled", _language_of(p.name), weights_bytes(p))
        for p in folders
    )


def cached_hub_models() -> tuple[CachedModel, ...]:
    """Downloaded models, the latest download first. Asks no server."""
    return _latest_first(cache_path() / _HUB)


def cached_uploads() -> tuple[CachedModel, ...]:
    """Unpacked zip files, the latest use first."""
    return _latest_first(cache_path() / _UPLOADS)


def write_entry(folder: Path, name: str, revision: str = "", asked: str = "") -> None:
    """Marks a folder of the cache as complete and says where it came from.

    Args:
        folder: holds the checkpoint's folder.
        name: of a `CachedModel`.
        revision: commit on the hub.
        asked: the revision that was asked for.
    """
    entry = {"name": name, "revision": revision, "asked_revision": asked}
    write_whole(folder / ENTRY_FILE, json.dumps(entry, indent=1) + "\n")


def make_room_for_upload(needed_bytes: int, limit: int = MAX_UPLOADS_BYTES) -> None:
    """Removes the uploads that were not used for the longest time.

    What a process that died left half unpacked goes, too.

    Args:
        needed_bytes: of the next one.
        limit: bytes of all uploads together, the next one counted, and those that
            are being unpacked.
    """
    kept = needed_bytes + _remove_left_over(cache_path() / _UPLOADS)
    for model in cached_uploads():
        kept += _last_change(model.folder.parent)[1]
        if kept > limit:
            shutil.rmtree(model.folder.parent, ignore_errors=True)


def _remove_left_over(folder: Path) -> int:
    """Removes what is old and not complete; returns the bytes of what is young."""
    size = 0
    for path in _listed(folder):
        if (path / ENTRY_FILE).is_file():
            continue
        changed_at, num_bytes = _last_change(path)
        if time.time() - changed_at > MAX_UNPACK_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
        else:
            size += num_bytes
    return size


def _last_change(folder: Path) -> tuple[float, int]:
    """When something in a folder was written last, and the bytes of its files."""
    changed_at, size = 0.0, 0
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(OSError):  # moved or removed meanwhile
            found = path.stat()
            changed_at = max(changed_at, found.st_mtime)
            size += 0 if path.is_dir() else found.st_size
    return changed_at, size


def hub_entry(model: CachedModel) -> ModelEntry:
    """What a picker shows of a downloaded model; its id pins the revision."""
    return ModelEntry(
        model_id=f"{model.name}@{model.revision}",
        title=f"{model.name} ({model.revision[:8]})",
        origin="cached",
        language=dict(SUGGESTED_HUB_NAMES).get(model.name, ""),
        size_bytes=weights_bytes(model.folder),
    )


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a config and weights."""
    if not folder.is_dir():
        return False
    names = [path.name for path in folder.iterdir()]
    has_config = "config.json" in names or "bert_config.json" in names
    return has_config and any(map(is_weights, names))


def weights_bytes(folder: Path) -> int:
    """Size of the weight files of a checkpoint, in bytes."""
    size = 0
    for path in _listed(folder):
        with contextlib.suppress(OSError):  # removed meanwhile
            if _is_weight_file(path.name) and path.is_file():
                size += path.stat().st_size
    return size


def _is_weight_file(name: str) -> bool:
    return is_weights(name) or name.endswith(".safetensors")


def _latest_first(folder: Path) -> tuple[CachedModel, ...]:
    found = []
    for model in _entries(folder):
        with contextlib.suppress(OSError):  # removed meanwhile
            found.append((model.folder.parent.stat().st_mtime, model))
    return tuple(model for _, model in sorted(found, key=lambda pair: -pair[0]))


def _listed(folder: Path) -> list[Path]:
    """What is in a folder; nothing where it is absent or shut."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _entries(folder: Path) -> Iterator[CachedModel]:
    for path in _listed(folder):
        try:
            raw = json.loads((path / ENTRY_FILE).read_text(encoding="utf-8"))
            name, revision = str(raw["name"]), str(raw["revision"])
            asked = str(raw["asked_revision"])
            inner = next(child for child in sorted(path.iterdir()) if child.is_dir())
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            continue  # not complete: a download that is going on or was broken off
        yield CachedModel(inner, name, revision, asked)


def language_of(model_id: str) -> str:
    """The language of a model, "" where its name does not tell.

    Args:
        model_id: of a bundled model, or a name on the hub.
    """
    name = model_id.split("@")[0]
    return dict(SUGGESTED_HUB_NAMES).get(name, "") or _language_of(name)


def _language_of(name: str) -> str:
    match = re.search(r"-(en|zh)$", name)
    return match[1] if match else ""
