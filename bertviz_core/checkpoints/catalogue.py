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

from bertviz_core.cached_files import cache_path
from bertviz_core.checkpoints.folder import CONFIG_FILES, is_weights
from bertviz_core.trace import ModelEntry
from bertviz_core.whole_files import write_whole

BUNDLED_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "models"

# A folder's `entry.json` beside the checkpoint's own folder says where it came
# from; it is written last, so a folder without one is not complete.
ENTRY_FILE = "entry.json"

# Where each lies in the cache: downloads a folder a revision, uploads a SHA-256.
HUB, UPLOADS = "hub", "uploads"

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


def bundled_models() -> tuple[ModelEntry, ...]:
    """The models that come with the project; they need no network."""
    found = {p: {path.name for path in _listed(p)} for p in _listed(BUNDLED_FOLDER)}
    return tuple(
        ModelEntry(p.name, p.name, "bundled", language_of(p.name), weights_bytes(p))
        for p, names in sorted(found.items())
        if names & {*CONFIG_FILES} and any(map(is_weights, names))
    )


def cached_hub_models() -> tuple[CachedModel, ...]:
    """Downloaded models, the latest download first. Asks no server."""
    return _latest_first(cache_path() / HUB)


def cached_uploads() -> tuple[CachedModel, ...]:
    """Unpacked zip files, the latest use first."""
    return _latest_first(cache_path() / UPLOADS)


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
    kept = needed_bytes + _remove_left_over(cache_path() / UPLOADS)
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


def weights_bytes(folder: Path) -> int:
    """Size of the weight files of a checkpoint, in bytes."""
    size = 0
    for path in _listed(folder):
        with contextlib.suppress(OSError):  # removed meanwhile
            is_shard = path.name.endswith(".safetensors")
            if (is_shard or is_weights(path.name)) and path.is_file():
                size += path.stat().st_size
    return size


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
    match = re.search(r"-(en|zh)$", name)
    return dict(SUGGESTED_HUB_NAMES).get(name, match[1] if match else "")
