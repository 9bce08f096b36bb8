"""What a run keeps of its epochs: in memory, and as the arrays of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.batches import Arrays
from bertviz_core.finetune.selection import EpochPoint, EpochScore

_HISTORY = ("loss", "validation_loss", "metric", "seconds")
_POINTS, _NUMBER = "run/points", "run/best_epoch"
# What checkpoints of earlier versions hold beside these.
_LET_GO = "run/best_outputs"
_WEIGHTS = "best/"


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch so far.

    Args:
        number: from 1.
        score: that made it the best.
        weights: of the variables that learn, by path.
    """

    number: int
    score: EpochScore
    weights: Arrays


def to_arrays(points: Sequence[EpochPoint], best: BestEpoch) -> Arrays:
    """The epochs as a checkpoint holds them.

    Args:
        points: of all epochs that have ended.
        best: one of them.
    """
    rows = [[getattr(point, name) for name in _HISTORY] for point in points]
    arrays = {f"{_WEIGHTS}{name}": value for name, value in best.weights.items()}
    arrays[_POINTS] = np.array(rows, "float64")
    arrays[_NUMBER] = np.array(best.number, "int64")
    return arrays


def from_arrays(state: Arrays) -> tuple[list[EpochPoint], BestEpoch]:
    """Takes the epochs out of what a checkpoint holds.

    Args:
        state: from `to_arrays`, among others; those others are what stays in it.
    """
    state.pop(_LET_GO, None)
    points = [EpochPoint(*map(float, row)) for row in state.pop(_POINTS)]
    number = int(state.pop(_NUMBER))
    names = [name for name in state if name.startswith(_WEIGHTS)]
    point = points[number - 1]
    best = BestEpoch(
        number=number,
        score=EpochScore(point.metric, point.validation_loss),
        weights={name.removeprefix(_WEIGHTS): state.pop(name) for name in names},
    )
    return points, best
