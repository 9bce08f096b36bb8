"""A checkpoint as it lies on disk: names and shapes known, weights not yet read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.names import Shape
from bertviz_core.config import BertConfig
from bertviz_core.errors import CheckpointError, ConfigError

# (template, details), as a `BertVizError` holds them.
Note = tuple[str, dict[str, str | int | float]]

# What says how a checkpoint splits text.
VOCABULARY_FILES = (
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "added_tokens.json",
)
# Bytes of a config, vocabulary or index. The longest vocabulary in use (500,000
# pieces in a tokenizer.json) is 17 MB.
MAX_TEXT_FILE_BYTES = 64_000_000
MAX_CONFIG_BYTES = 1_000_000
# Names in a checkpoint. BERT-large with the optimiser state of Google's has 1,200.
MAX_NAMES = 20_000
MAX_NAME_CHARACTERS = 500


@dataclass(frozen=True)
class Checkpoint:
    """What the loader knows before it reads a weight."""

    kind: str  # "google" or "huggingface"
    name: str  # of its folder, for messages
    config: BertConfig  # what its config file says
    # Shape of every weight, as stored, by the names of `names.TABLE`.
    shapes: Mapping[str, Shape]
    # Gives one weight, any float dtype, as stored; raises `CheckpointError` when the
    # file is damaged.
    read: Callable[[str], np.ndarray]
    # Class names of a classifier; empty where the files name none.
    labels: tuple[str, ...] = ()
    # False where the config says that the classifier does not read the pooled output.
    takes_classifier: bool = True
    # Names that are in the file and are passed over on purpose.
    unused: tuple[str, ...] = ()
    # "name in the file -> name in the table" of old spellings.
    renamed: tuple[str, ...] = ()
    optimizer_slots: int = 0  # how many values of an optimiser were passed over
    notes: tuple[Note, ...] = field(default=())  # what the report should tell


def note(template: str, **details: str | int | float) -> Note:
    """A sentence for the report; write the template as one literal."""
    return template, details


def require_text_file(path: Path) -> Path:
    """Refuses a config or vocabulary too large to be one.

    Raises:
        ConfigError: more bytes than any real one has.
    """
    is_config = path.name in ("config.json", "bert_config.json")
    most = MAX_CONFIG_BYTES if is_config else MAX_TEXT_FILE_BYTES
    if path.is_file() and path.stat().st_size > most:
        raise ConfigError(
            "The file {name} is much larger than expected. Received: {size} bytes. Get "
            "a fresh copy from the model's source.",
            name=path.name,
            size=path.stat().st_size,
        )
    return path


def require_few_names(file_name: str, count: int) -> None:
    """Refuses a list of weights so long that it could use up the memory.

    Raises:
        CheckpointError: more names than any real checkpoint has.
    """
    if count > MAX_NAMES:
        raise CheckpointError(
            "The file {name} lists too many weights. Received: {count}; the limit is "
            "{limit}. Choose a BERT checkpoint.",
            name=file_name,
            count=count,
            limit=MAX_NAMES,
        )


def damaged(name: str, error: Exception) -> CheckpointError:
    """The error for a weights file that cannot be read."""
    return CheckpointError(
        "The weights file {name} is damaged or incomplete. Received: {reason}. "
        "Download or copy it again.",
        name=name,
        reason=str(error).split("\n", 1)[0][:120],
    )
