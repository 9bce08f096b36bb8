"""Google's folders: `bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`.

They are read without TensorFlow, see `tensor_bundle`.

Source: google-research/bert, README, "Pre-trained models", and `modeling.py`.
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.names import GOOGLE, is_optimizer_state
from bertviz_core.checkpoints.stored import Checkpoint, Note, damaged, note
from bertviz_core.checkpoints.tensor_bundle import SlicedError, TensorBundle
from bertviz_core.config import BertConfig, read_json_object
from bertviz_core.errors import CheckpointError

CONFIG_FILES = ("bert_config.json", "config.json")
DATA_FILE = re.compile(r"(?P<prefix>[^/\\]+)\.data-\d{5}-of-\d{5}")

# What a training run leaves: one checkpoint for each saved step.
_STEP = re.compile(r"model\.ckpt-(\d{1,12})")

# Object-based checkpoints (TensorFlow 2) carry this in every name.
_OBJECT_BASED = "/.ATTRIBUTES/"


def open_google(folder: Path) -> Checkpoint:
    """Opens a Google folder, its files of any prefix, without reading its weights."""
    config, notes = _config(folder)
    prefix, more_notes = _prefix(folder)
    with _damage(f"{prefix.name}.index"):
        bundle = _bundle(prefix)
    with _damage(f"{prefix.name}.data"):
        bundle.require_data()
    shapes = bundle.shapes

    def read(name: str) -> np.ndarray:
        with _damage(f"{prefix.name}.data"):
            return bundle.read(name)

    weights = {n: shape for n, shape in shapes.items() if not is_optimizer_state(n)}
    if any(_OBJECT_BASED in name for name in weights):
        raise CheckpointError(
            "The checkpoint {name} was saved by TensorFlow 2 as an object graph, "
            "not by Google's BERT code. Choose the TensorFlow 1 release of the "
            "model, or its Hugging Face folder.",
            name=prefix.name,
        )
    return Checkpoint(
        kind=GOOGLE,
        name=folder.name,
        config=config,
        shapes=weights,
        read=read,
        optimizer_slots=len(shapes) - len(weights),
        notes=notes + more_notes,
    )


def checkpoint_prefixes(folder: Path) -> list[str]:
    """Prefixes of the TensorFlow checkpoints in a folder, sorted."""
    found = {
        match["prefix"]
        for path in folder.iterdir()
        if (match := DATA_FILE.fullmatch(path.name))
    }
    return sorted(p for p in found if (folder / f"{p}.index").is_file())


def _config(folder: Path) -> tuple[BertConfig, tuple[Note, ...]]:
    present = [name for name in CONFIG_FILES if (folder / name).is_file()]
    path = folder / (present or CONFIG_FILES)[0]
    raw = read_json_object(path)
    if raw.get("hidden_act", "gelu") != "gelu":
        return BertConfig.from_dict(raw, path.name), ()
    # `modeling.py`, `gelu`, has computed the tanh approximation since 2019.
    config = BertConfig.from_dict({**raw, "hidden_act": "gelu_new"}, path.name)
    return config, (
        note(
            "hidden_act is gelu, which in Google's code means the tanh approximation "
            "(gelu_new)."
        ),
    )


def _prefix(folder: Path) -> tuple[Path, tuple[Note, ...]]:
    prefixes = checkpoint_prefixes(folder)
    if "bert_model.ckpt" in prefixes:
        return folder / "bert_model.ckpt", ()
    if len(prefixes) == 1:
        return folder / prefixes[0], ()
    steps = {int(m[1]): m[0] for p in prefixes if (m := _STEP.fullmatch(p))}
    if prefixes and len(steps) == len(prefixes):
        last = steps[max(steps)]
        return folder / last, (
            note(
                "The folder contains {count} checkpoints; the last, {name}, was read.",
                count=len(steps),
                name=last,
            ),
        )
    raise CheckpointError(
        "The folder {folder} must contain exactly one TensorFlow checkpoint. Received: "
        "{found}. Keep only the files of the one you want.",
        folder=folder.name,
        found=", ".join(prefixes[:5]) or "–",
    )


def _bundle(prefix: Path) -> TensorBundle:
    try:
        return TensorBundle(prefix)
    except SlicedError as error:
        raise CheckpointError(
            "The checkpoint {name} contains partitioned variables, which BERT Explorer "
            "does not support. Save it without partitions, or use the model's Hugging "
            "Face folder.",
            name=prefix.name,
        ) from error


@contextlib.contextmanager
def _damage(file_name: str) -> Iterator[None]:
    """Tells of errors of the reader."""
    try:
        yield
    # A name that is not the UTF-8 it claims to be is a `ValueError`.
    except (OSError, ValueError, MemoryError) as error:
        raise damaged(file_name, error) from error
