"""How much room on the disk a run takes, by arithmetic on the sizes of its model.

As if every word of its vocabulary occurred, which is the most.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_core import visitor_files
from bertviz_core.checkpoints.names import HUGGINGFACE, Weight, weights_of
from bertviz_core.config import BertConfig
from bertviz_core.errors import TrainingError
from bertviz_core.finetune.learner import num_frozen
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.training.checkpoint import NUM_KEPT

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel

_FLOAT_BYTES = 4
# Of each number that learns: itself, Adam's two averages, and that of the best epoch.
_NUM_SLOTS = 4
# Predictions, curves and the vocabulary, and what others write meanwhile.
_MARGIN_BYTES = 100_000_000


def require_room(
    folder: Path,
    loaded: LoadedModel,
    settings: FinetuneSettings,
    num_labels: int,
) -> None:
    """Refuses a run for which the disk has no room.

    Args:
        folder: where the run will keep its checkpoints; what lies there already
            counts as its own. It need not exist.
        loaded: the model to begin with.
        settings: of the run.
        num_labels: C.

    Raises:
        StorageError: its owner, or everybody, keeps too much already.
        TrainingError: too little is free.
    """
    model = loaded.model
    needed = _MARGIN_BYTES + room_for(model.config, model.heads, settings, num_labels)
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free + _bytes_in(folder) < needed:
        raise TrainingError(
            "There is too little room on the disk for this training. Expected: "
            "{needed} MB. Received: {free} MB free. Let fewer layers learn, choose a "
            "smaller model, or try again when there is more room.",
            needed=math.ceil(needed / 1_000_000),
            free=free // 1_000_000,
        )
    for owner in visitor_files.owners_of(folder.parent):  # none on the command line
        visitor_files.require_room(needed, owner, but=folder.parent)


def room_for(
    config: BertConfig,
    heads: Iterable[str],
    settings: FinetuneSettings,
    num_labels: int,
) -> int:
    """The most bytes that a run has on the disk at any time.

    Either the last checkpoint is being written beside those before it, or the model
    and its zip file, which hardly compresses, beside the last checkpoints. A run of one
    epoch may leave several, too, as it may be stopped again and again.

    Args:
        config: of the model to begin with.
        heads: that it has.
        settings: reads the level.
        num_labels: C.
    """
    learning = num_learning(config, heads, settings, num_labels)
    checkpoint = _FLOAT_BYTES * _NUM_SLOTS * learning
    trained = {*heads, "pooler", "classifier"}
    whole = weights_of(config, trained, HUGGINGFACE, num_labels)
    model = _FLOAT_BYTES * sum(math.prod(weight.shape) for weight in whole)
    while_learning = (NUM_KEPT + 1) * checkpoint
    at_the_end = NUM_KEPT * checkpoint + 2 * model
    return max(while_learning, at_the_end)


def num_learning(
    config: BertConfig,
    heads: Iterable[str],
    settings: FinetuneSettings,
    num_labels: int,
) -> int:
    """Numbers that move in a training, see `network.Network`.

    Args:
        config: of the model to begin with.
        heads: that it has; a pooler that it lacks is drawn, and learns.
        settings: reads the level and the number of layers.
        num_labels: C.
    """
    frozen = num_frozen(settings, config.num_hidden_layers)
    draws_pooler = "pooler" not in heads
    learns_encoder = frozen < config.num_hidden_layers

    def learns(weight: Weight) -> bool:
        if weight.part == "classifier":
            return True
        if weight.part == "pooler":
            return learns_encoder or draws_pooler
        if weight.part == "final_norm":
            return learns_encoder
        place = weight.ours.split("/")[1]  # "embeddings" or "layer_3"
        return (
            int(place.removeprefix("layer_")) >= frozen if "_" in place else not frozen
        )

    weights = weights_of(config, ("pooler", "classifier"), HUGGINGFACE, num_labels)
    return sum(math.prod(weight.shape) for weight in weights if learns(weight))


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
