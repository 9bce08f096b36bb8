"""Vocabulary maps on the disk: computed once, found again by what they are of.

A map lies beside its model, `vocabulary_map_2d.npz` or `…_3d.npz`, by UMAP
`…_umap_2d.npz`, where the model is a folder; else in the cache. It holds the SHA-256 of
the vectors it was drawn from, so a map of other weights is never shown.

The file: `coordinates` uint16 `[V, k]`, `origin` float64 `[k]`, `unit` float64 `[1]`
(a coordinate is origin + unit times the whole number), `facts` the rest as JSON, uint8.
"""

import dataclasses
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.analysis.map_quality import MapQuality
from bertviz_core.cached_files import cache_path
from bertviz_core.experiments.map_results import DrawnMap
from bertviz_core.whole_files import write_whole

_STEPS = 65_535
_NOT_ONE_OF_OURS = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    zipfile.BadZipFile,
)


def digest_of(vectors: np.ndarray) -> str:
    """SHA-256 of vectors as little-endian float32, with their shape."""
    table = np.ascontiguousarray(vectors, "<f4")
    digest = hashlib.sha256(f"{table.shape}".encode())
    digest.update(table.data)
    return digest.hexdigest()


def store_map(found: DrawnMap, model_id: str, digest: str, beside: bool = True) -> Path:
    """Writes a map and returns its file.

    It goes into the model's own folder, where it is to and there is one; else into the
    cache.
    """
    folder = _model_folder(model_id) if beside else None
    name = _name(found.method, found.coordinates.shape[1])
    path = _beside(folder, name) if folder else _in_cache(digest, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _written(found, digest))
    return path


def find_map(
    model_id: str, digest: str, num_axes: int, num_entries: int, method: str = "tsne"
) -> DrawnMap | None:
    """Reads the map of a model; `None` where there is none of these V vectors."""
    name = _name(method, num_axes)
    folder = _model_folder(model_id)
    paths = [_beside(folder, name)] if folder else []
    for path in [*paths, _in_cache(digest, name)]:
        try:
            found = _read(path.read_bytes(), digest)
        except _NOT_ONE_OF_OURS:
            continue  # the PCA map is there at once
        if found is not None and found.coordinates.shape == (num_entries, num_axes):
            return found
    return None


def _written(found: DrawnMap, digest: str) -> bytes:
    origin = found.coordinates.min(axis=0).astype(np.float64)
    span = float((found.coordinates.max(axis=0) - origin).max()) or 1.0
    unit = span / _STEPS
    facts = dataclasses.asdict(found)
    del facts["coordinates"]
    text = json.dumps(facts | {"digest": digest}).encode()
    file = io.BytesIO()
    np.savez_compressed(
        file,
        coordinates=np.rint((found.coordinates - origin) / unit).astype(np.uint16),
        origin=origin,
        unit=np.array([unit]),
        facts=np.frombuffer(text, np.uint8),
    )
    return file.getvalue()


def _read(raw: bytes, digest: str) -> DrawnMap | None:
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        facts: dict[str, Any] = json.loads(arrays["facts"].tobytes())
        if facts.pop("digest") != digest:
            return None
        coordinates = arrays["origin"] + arrays["unit"][0] * arrays["coordinates"]
    facts["quality"] = MapQuality(**facts["quality"])
    facts["coordinates"] = coordinates.astype(np.float32)
    known = {field.name for field in dataclasses.fields(DrawnMap)}
    return DrawnMap(**{name: facts[name] for name in known & facts.keys()})


def _model_folder(model_id: str) -> Path | None:
    """The folder of a bundled model, or a folder that is named by its path."""
    from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER

    for folder in (BUNDLED_FOLDER / model_id, Path(model_id).expanduser()):
        if (folder / "config.json").is_file() or (
            folder / "bert_config.json"
        ).is_file():
            return folder
    return None


def _name(method: str, num_axes: int) -> str:
    return f"umap_{num_axes}d.npz" if method == "umap" else f"{num_axes}d.npz"


def _beside(folder: Path, name: str) -> Path:
    return folder / f"vocabulary_map_{name}"


def _in_cache(digest: str, name: str) -> Path:
    return cache_path() / "vocabulary_maps" / f"{digest[:32]}_{name}"
