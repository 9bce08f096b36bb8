"""Epochs and their scores: which was the best so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.scores import macro_f1, r_squared


@dataclass(frozen=True)
class EpochPoint:
    """An epoch on the curve.

    Args:
        loss: mean over its steps.
        validation_loss, metric: after it.
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
        """Whether this is the better of the two; the earlier wins a draw."""
        if other is None:
            return True
        return (self.metric, -self.loss) > (other.metric, -other.loss)


def metric_name(is_regression: bool, is_balanced: bool) -> str:
    """What epochs are compared by: classes that count alike do so there, too."""
    if is_regression:
        return "r2"
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
        return macro_f1(targets, predicted, outputs.shape[1])
    return float(np.mean(predicted == targets))
