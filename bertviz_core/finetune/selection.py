"""Epochs and their scores: which was the best so far."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.scores import macro_f1, r_squared
from bertviz_core.finetune.settings import FinetuneSettings


@dataclass(frozen=True)
class EpochPoint:
    """An epoch on the curve.

    Args:
        loss: mean over its steps.
        validation_loss, metric: after it; NaN where no rows choose an epoch.
        seconds: that it took, validation included.
    """

    loss: float
    validation_loss: float
    metric: float
    seconds: float


@dataclass(frozen=True)
class EpochScore:
    """How an epoch did on the validation rows.

    Args:
        metric: larger is better.
        loss: smaller is better; decides between equal metrics.
    """

    metric: float
    loss: float

    def beats(self, other: EpochScore | None) -> bool:
        """Whether this is the better of the two; the earlier wins a draw.

        Without rows to choose by, whose scores are NaN, it is the later one.
        """
        if other is None or math.isnan(self.metric):
            return True
        return (self.metric, -self.loss) > (other.metric, -other.loss)


def metric_name(is_regression: bool, settings: FinetuneSettings) -> str:
    """What epochs are compared by: classes that count alike do so there, too."""
    if is_regression:
        return "r2"
    is_balanced = settings.class_weights or settings.oversample
    return "macro_f1" if is_balanced else "accuracy"


def metric_of(name: str, outputs: np.ndarray, targets: np.ndarray) -> float:
    """Computes the metric of that name.

    Args:
        name: from `metric_name`.
        outputs: float `[R, C]`, logits, or numbers in `[R, 1]`.
        targets: int or float `[R]`.
    """
    if name == "r2":
        return r_squared(targets, outputs[:, 0])
    predicted = outputs.argmax(axis=1)
    if name == "macro_f1":
        return macro_f1(targets, predicted)
    return float(np.mean(predicted == targets))
