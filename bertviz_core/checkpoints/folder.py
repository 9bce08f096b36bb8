"""What a folder of files is: Hugging Face's, Google's, or nothing that we open."""

import re
from collections.abc import Iterable
from pathlib import Path

from bertviz_core.checkpoints.documents import CARD_FILE, NOTICE_FILE, RECIPE_FILE
from bertviz_core.checkpoints.google import DATA_FILE, checkpoint_prefixes, open_google
from bertviz_core.checkpoints.huggingface import (
    INDEX_FILE,
    SINGLE_FILE,
    open_huggingface,
)
from bertviz_core.checkpoints.stored import Checkpoint
from bertviz_core.config import BertConfig
from bertviz_core.errors import CheckpointError

CONFIG_FILES = ("config.json", "bert_config.json")
# What is read of any checkpoint beside its weights.
TEXT_FILES = (
    *CONFIG_FILES,
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "added_tokens.json",
)
# Files with weights that another file lists by name.
_LISTED_WEIGHTS = re.compile(r"[\w.-]+\.(safetensors|index)")

# Endings of files that run code when they are opened: Python pickles.
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".joblib")


def open_folder(folder: Path) -> Checkpoint:
    """Opens the checkpoint in a folder, not nested, without reading its weights."""
    names = [path.name for path in _listed(folder)]
    require_checkpoint(folder.name, names)
    if SINGLE_FILE in names or INDEX_FILE in names:
        if "config.json" not in names:
            raise _without_config(folder.name, "config.json")
        return open_huggingface(folder)
    if checkpoint_prefixes(folder):
        return open_google(folder)
    raise CheckpointError(
        "The TensorFlow checkpoint in {folder} is not complete: it needs an .index "
        "file and its .data files. Copy all of them.",
        folder=folder.name,
    )


def read_config(folder: Path) -> BertConfig:
    """Reads the config of a checkpoint and nothing else."""
    paths = [folder / name for name in CONFIG_FILES if (folder / name).is_file()]
    return BertConfig.from_json_file((paths or [folder])[0])


def require_checkpoint(folder_name: str, names: Iterable[str]) -> None:
    """Refuses file names, without folders, that are no checkpoint that we open.

    The `CheckpointError` says what is missing.
    """
    names = list(names)
    if not any(name in CONFIG_FILES for name in names):
        raise _without_config(folder_name, " / ".join(CONFIG_FILES))
    if any(is_weights(name) for name in names):
        return
    pickles = [name for name in names if name.lower().endswith(PICKLE_SUFFIXES)]
    if pickles:
        raise CheckpointError(
            "The weights of {folder} are in a pickle file, {name}, which can run any "
            "program when it is opened, so BERT Explorer never opens it. Save the "
            "model as model.safetensors: in Python, load it by from_pretrained of the "
            "class that config.json names under architectures, such as "
            "BertForMaskedLM, and call save_pretrained. Any other class would fill in "
            "random weights where the file has none.",
            folder=folder_name,
            name=pickles[0][:120],
        )
    raise CheckpointError(
        "The folder {folder} contains no weights. It needs model.safetensors (Hugging "
        "Face) or bert_model.ckpt.index and .data files (Google).",
        folder=folder_name,
    )


def is_weights(name: str) -> bool:
    """Whether a file of this name holds, or lists, weights that we read."""
    return name in (SINGLE_FILE, INDEX_FILE) or bool(DATA_FILE.fullmatch(name))


def is_read(name: str) -> bool:
    """Whether a checkpoint may be read from a file of this name, among others."""
    is_text = name in (*TEXT_FILES, RECIPE_FILE, CARD_FILE, NOTICE_FILE)
    return is_text or is_weights(name) or bool(_LISTED_WEIGHTS.fullmatch(name))


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise CheckpointError(
            "The folder {folder} cannot be read. Check that it exists and that you "
            "have permission to open it.",
            folder=folder.name,
        ) from error


def _without_config(folder_name: str, wanted: str) -> CheckpointError:
    return CheckpointError(
        "The folder {folder} has no config, so its sizes are unknown. It needs "
        "{wanted} beside the weights.",
        folder=folder_name,
        wanted=wanted,
    )
