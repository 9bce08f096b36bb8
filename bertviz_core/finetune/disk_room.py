"""How much room on the disk a run takes, by arithmetic on the sizes of its model.

As if every word of its vocabulary occurred, which is the most.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_core import visitor_files
from bertviz_core.errors import TrainingError
from bertviz_core.finetune.learner import num_learning
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.training.checkpoint import NUM_KEPT

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.model.bert import Bert

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
    needed = _MARGIN_BYTES + room_for(loaded.model, settings, num_labels)
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    own = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if free + own < needed:
        raise TrainingError(
            "There is too little room on the disk for this training. Expected: "
            "{needed} MB. Received: {free} MB free. Let fewer layers learn, choose a "
            "smaller model, or try again when there is more room.",
            needed=math.ceil(needed / 1_000_000),
            free=free // 1_000_000,
        )
    for owner in visitor_files.owners_of(folder.parent):  # none on the command line
        visitor_files.require_room(needed, owner, but=folder.parent)


def room_for(model: Bert, settings: FinetuneSettings, num_labels: int) -> int:
    """The most bytes that a run has on the disk at any time.

    Either the last checkpoint is being written beside those before it, or the model
    and its zip file, which hardly compresses, beside the last checkpoints.

    Args:
        model: to begin with; a pooler that it lacks is counted as if it had one.
        settings: reads the level.
        num_labels: C.
    """
    size = model.config.hidden_size
    whole = model.count_params() + (size + 1) * (size + num_labels)
    checkpoint = _NUM_SLOTS * num_learning(model, settings, num_labels)
    return _FLOAT_BYTES * (NUM_KEPT * checkpoint + max(checkpoint, 2 * whole))
