"""Where models lie on this machine, and the names on the hub that we suggest.

Light: a list of models must not cost the import of TensorFlow.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertviz_core.cached_files import cache_path
from bertviz_core.checkpoints.folder import CONFIG_FILES, is_weights
from bertviz_core.trace import ModelEntry
from bertviz_core.visitor_files import UPLOADS, used_at
from bertviz_core.whole_files import write_whole

BUNDLED_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "models"

# A folder's `entry.json` beside the checkpoint's own folder says where it came
# from; it is written last, so a folder without one is not complete.
ENTRY_FILE = "entry.json"

# Where each lies in the cache: downloads a folder a revision, uploads a SHA-256.
HUB = "hub"

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
    """A checkpoint in the cache."""

    folder: Path  # of the checkpoint
    # Hub name, or the title of an upload; "" for a zip file that was opened where it
    # lies.
    name: str
    revision: str = ""  # commit on the hub; "" for an upload
    asked_revision: str = ""  # what was asked for, such as a branch; "" for the newest


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

    It holds the checkpoint's folder; for the rest see `CachedModel`.
    """
    entry = {"name": name, "revision": revision, "asked_revision": asked}
    write_whole(folder / ENTRY_FILE, json.dumps(entry, indent=1) + "\n")


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
    return tuple(sorted(_entries(folder), key=lambda m: -used_at(m.folder.parent)))


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
    """The language of a model, "" where its name does not tell."""
    name = model_id.split("@")[0]
    match = re.search(r"-(en|zh)$", name)
    return dict(SUGGESTED_HUB_NAMES).get(name, match[1] if match else "")
