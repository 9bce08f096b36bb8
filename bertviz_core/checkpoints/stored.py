"""A checkpoint as it lies on disk: names and shapes known, weights not yet read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bertviz_core.checkpoints.names import Shape
from bertviz_core.config import BertConfig
from bertviz_core.errors import CheckpointError, reason_of

# (template, details), as a `BertVizError` holds them.
Note = tuple[str, dict[str, str | int | float]]

# Of the names and shapes at the beginning or beside the weights. BERT-large with the
# optimiser state of Google's has 0.1 MB.
MAX_INDEX_BYTES = 8_000_000
# Names in a checkpoint. BERT-large with the optimiser state of Google's has 1,200.
MAX_NAMES = 20_000
MAX_NAME_CHARACTERS = 500


@dataclass(frozen=True)
class Checkpoint:
    """What the loader knows before it reads a weight."""

    kind: str  # "google" or "huggingface"
    name: str  # of its folder, for messages
    config: BertConfig  # what its config file says
    shapes: Mapping[str, Shape]  # of every weight, as stored, by names of `names.TABLE`
    # One weight, any float dtype, as stored; `CheckpointError` where it is damaged.
    read: Callable[[str], np.ndarray]
    labels: tuple[str, ...] = ()  # class names; empty where the files name none
    # False where the config says that the classifier gives a text no single answer.
    takes_classifier: bool = True
    unused: tuple[str, ...] = ()  # in the file, and passed over on purpose
    renamed: tuple[str, ...] = ()  # old spellings, "in the file -> in the table"
    optimizer_slots: int = 0  # how many values of an optimiser were passed over
    notes: tuple[Note, ...] = field(default=())  # what the report should tell


def note(template: str, **details: str | int | float) -> Note:
    """A sentence for the report; write the template as one literal."""
    return template, details


def require_few_names(file_name: str, count: int) -> None:
    """Refuses a list of weights too long for memory, with a `CheckpointError`."""
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
        reason=reason_of(error).split("\n", 1)[0],
    )
