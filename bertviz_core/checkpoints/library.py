"""The models at hand: bundled, downloaded, uploaded, or anywhere on the disk.

A model id is a bundled name, `upload:` and the beginning of a SHA-256, `run:` and
the id of a training, the path of a folder or zip file, or a name on the Hugging Face
hub with an optional `@revision`. Importing this module loads neither Keras nor
TensorFlow.

Environment:
    BERTVIZ_CACHE: folder for downloads and uploads.
    BERTVIZ_MODELS: "listed" on a server for strangers: no paths, and no download
        as a side effect of opening.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_core import visitor_files
from bertviz_core.checkpoints import archive, assign, catalogue, hub
from bertviz_core.checkpoints.catalogue import CachedModel
from bertviz_core.checkpoints.documents import (
    Documents,
    read_documents,
    read_trained_inputs,
)
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.environment import models_policy
from bertviz_core.errors import CheckpointError
from bertviz_core.tasks import Progress
from bertviz_core.trace import LoadReport, ModelEntry, TrainedInputs

if TYPE_CHECKING:
    from bertviz_core.model.bert import Bert
    from bertviz_core.tokenizer import BertTokenizer

# Told how far a load or download is: one of `STEPS`, and the fraction 0..1 of that
# step which is done. It may raise to cancel.
STEPS = ("download", "unpack", "read")

_UPLOAD_ID = re.compile(r"upload:(?P<digest>[0-9a-f]{16,64})")
_DIGEST_DIGITS = 32
_MAX_TITLE_LENGTH = 80


@dataclass(frozen=True)
class LoadedModel:
    """A model with all that belongs to it."""

    model_id: str  # as it was asked for; a hub name with the commit
    model: Bert  # filled
    tokenizer: BertTokenizer  # of the checkpoint
    labels: tuple[str, ...]  # class names of the classifier head, by class index
    report: LoadReport  # what became of every weight
    # What the classifier head learned from.
    trained_inputs: TrainedInputs = field(default_factory=TrainedInputs)
    # Of the checkpoint that the weights come from.
    documents: Documents = field(default_factory=Documents)


def list_models() -> tuple[ModelEntry, ...]:
    """Bundled models, then downloaded ones; asks no server.

    Uploads are left out: on a shared server they are their owners' business. An upload
    is opened by the id that `add_upload` gave.
    """
    downloaded = map(catalogue.hub_entry, catalogue.cached_hub_models())
    return catalogue.bundled_models() + tuple(downloaded)


def list_uploads() -> tuple[ModelEntry, ...]:
    """Uploaded models, the latest use first: for an app of one user."""
    uploads = catalogue.cached_uploads()
    return tuple(_upload_entry(model) for model in uploads if model.name)


def suggested_models() -> tuple[ModelEntry, ...]:
    """Names on the hub that are worth a download; asks no server."""
    return tuple(
        ModelEntry(name, name, "hub", language)
        for name, language in catalogue.SUGGESTED_HUB_NAMES
    )


def open_model(model_id: str, progress: Progress | None = None) -> LoadedModel:
    """Loads a model, downloading it first if need be.

    For the id see the head of this module. A hub name without a revision means the
    latest download of it, if there is one. No such model, or a hostile one, is a
    `CheckpointError`; for other errors see the package.
    """
    resolved_id, folder = _find(model_id, progress)
    checkpoint = open_folder(folder)
    tokenizer, notes = assign.fitting_tokenizer(folder, checkpoint)
    model, report = assign.load(checkpoint, notes, progress)
    has_classes = "classifier" in model.heads
    labels = checkpoint.labels or tuple(f"LABEL_{i}" for i in range(model.num_labels))
    return LoadedModel(
        resolved_id,
        model,
        tokenizer,
        labels if has_classes else (),
        report,
        read_trained_inputs(folder) if has_classes else TrainedInputs(),
        read_documents(folder),
    )


def add_upload(zip_path: str | Path, name: str = "", owner: str = "") -> ModelEntry:
    """Takes a zip file with a checkpoint into the cache; tells the id that opens it.

    It is checked whole, its weights included: one that is refused leaves nothing. The
    file may be removed afterwards; without a name the model has the file's. For
    `StorageError` see `visitor_files.require_room`, for others `open_model`.
    """
    path = Path(zip_path)
    folder = _unpacked(path, owner)
    title = re.sub(r"[\x00-\x1f\x7f]", "", name)[:_MAX_TITLE_LENGTH] or path.stem
    catalogue.write_entry(folder.parent, title)
    return _upload_entry(CachedModel(folder, title))


def remove_upload(model_id: str, owner: str = "") -> None:
    """Removes an uploaded model from the disk, unless others have brought it, too.

    It may be gone already.
    """
    if match := _UPLOAD_ID.fullmatch(model_id):
        with contextlib.suppress(CheckpointError):
            folder = _upload_folder(match["digest"]).parent
            if models_policy() == "any":  # all of them are one user's
                visitor_files.remove(folder)
            else:
                visitor_files.disown(folder, owner)


def download(name: str, progress: Progress | None = None) -> ModelEntry:
    """Takes a model from the hub, with an optional `@revision`, into the cache.

    The entry's id holds the commit, so it means these weights for ever. Errors as of
    `hub.fetch`.
    """
    return catalogue.hub_entry(hub.fetch(*hub.split_revision(name), progress))


def _find(model_id: str, progress: Progress | None) -> tuple[str, Path]:
    """The id to keep and the folder of the checkpoint."""
    bundled = catalogue.BUNDLED_FOLDER / model_id
    if model_id in {entry.model_id for entry in catalogue.bundled_models()}:
        return model_id, bundled
    if match := _UPLOAD_ID.fullmatch(model_id):
        return model_id, _upload_folder(match["digest"])
    if model_id.startswith(visitor_files.RUN_PREFIX):
        return model_id, visitor_files.model_of_run(model_id)
    only_listed = models_policy() == "listed" or not model_id
    path = None if only_listed else _existing_path(model_id)
    if path is not None and path.is_dir():
        return model_id, path.resolve()
    if path is not None:
        if progress is not None:
            progress(0.0, "unpack")
        return model_id, _unpacked(path)
    name, revision = hub.split_revision(model_id)
    cached = hub.find_cached(name, revision)
    if cached is None:
        if only_listed:
            raise CheckpointError(
                "The model {model} is not on this server. Choose one from the list.",
                model=model_id[:120],
            )
        cached = hub.fetch(name, revision, progress)
    return f"{name}@{cached.revision}", cached.folder


def _existing_path(model_id: str) -> Path | None:
    """A folder or file; `None` also where nobody may look, or no path can be so."""
    try:
        path = Path(model_id).expanduser()
        return path if path.is_dir() or path.is_file() else None
    except (OSError, RuntimeError):  # the latter for the home of an unknown user
        return None


def _unpacked(path: Path, owner: str = "") -> Path:
    """The checkpoint of a zip file in the cache, checked; nobody's upload so far."""
    target = visitor_files.place_of(visitor_files.UPLOADS) / archive.sha256_of(path)
    make_room = functools.partial(visitor_files.require_room, owner=owner)
    folder = archive.unpack(path, target, make_room=make_room)
    # A process may have died between the two.
    if not (target / catalogue.ENTRY_FILE).is_file():
        try:
            assign.require_fitting(folder)
        except BaseException:  # whatever it was, nobody could open this
            shutil.rmtree(target, ignore_errors=True)
            raise
        catalogue.write_entry(target, "")
    visitor_files.own(target, owner)
    return folder


def _upload_folder(digest: str) -> Path:
    for model in catalogue.cached_uploads():
        if model.folder.parent.name.startswith(digest):
            visitor_files.renew(model.folder.parent)
            return model.folder
    raise CheckpointError(
        "This uploaded model is no longer here. Upload its zip file again."
    )


def _upload_entry(model: CachedModel) -> ModelEntry:
    return ModelEntry(
        model_id=f"upload:{model.folder.parent.name[:_DIGEST_DIGITS]}",
        title=model.name,
        origin="upload",
        size_bytes=catalogue.weights_bytes(model.folder),
    )
