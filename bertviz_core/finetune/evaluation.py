"""How well a model did on rows that it did not learn from.

Shapes: R rows, C classes. Confusion matrices have the true class in the row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.resampling import macro_f1_interval, mean_interval
from bertviz_core.finetune.scores import (
    Calibration,
    calibrate,
    class_counts,
    confusion_matrix,
    macro_f1,
    r_squared,
    ratio,
    wilson_interval,
)
from bertviz_core.trace import FrozenArrays

NUM_BINS = 10


@dataclass(frozen=True)
class ClassificationReport(FrozenArrays):
    """Everything that the validation rows say of a classifier.

    Args:
        labels: C class names.
        targets, predicted: int `[R]`.
        probabilities: float `[R, C]`.
        rows: int `[R]`, where each row stands in its file.
        confusion: int `[C, C]`.
        accuracy: share of right rows.
        accuracy_interval: float `[2]`, 95 %, of Wilson.
        macro_f1: mean F1 of the classes that occur or were predicted.
        macro_f1_interval: float `[2]`, 95 %, by bootstrap.
        precision, recall, f1: float `[C]`; NaN where there is nothing to divide by.
        precision_intervals, recall_intervals: float `[C, 2]`, 95 %, of Wilson.
        calibration: of the predicted class.
    """

    labels: tuple[str, ...]
    targets: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray
    rows: np.ndarray
    confusion: np.ndarray
    accuracy: float
    accuracy_interval: np.ndarray
    macro_f1: float
    macro_f1_interval: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    precision_intervals: np.ndarray
    recall_intervals: np.ndarray
    calibration: Calibration

    def cell(self, true: int, predicted: int) -> np.ndarray:
        """Indices int `[M]` of the rows in a cell of the confusion matrix."""
        return np.flatnonzero((self.targets == true) & (self.predicted == predicted))

    def confidently_wrong(self, count: int) -> np.ndarray:
        """Indices of wrong rows, the surest first: their labels may be mistakes."""
        wrong = np.flatnonzero(self.targets != self.predicted)
        confidence = self.probabilities[wrong].max(axis=1)
        return wrong[np.argsort(-confidence, kind="stable")][:count]

    def to_dict(self) -> dict[str, Any]:
        """The metrics as JSON holds them; `None` for what is not defined."""
        classes = [
            {
                "label": label,
                "rows": int(self.confusion[index].sum()),
                "predicted": int(self.confusion[:, index].sum()),
                "precision": _number(self.precision[index]),
                "precision_95": self.precision_intervals[index].tolist(),
                "recall": _number(self.recall[index]),
                "recall_95": self.recall_intervals[index].tolist(),
                "f1": _number(self.f1[index]),
            }
            for index, label in enumerate(self.labels)
        ]
        return {
            "rows": len(self.targets),
            "accuracy": self.accuracy,
            "accuracy_95": self.accuracy_interval.tolist(),
            "macro_f1": self.macro_f1,
            "macro_f1_95": self.macro_f1_interval.tolist(),
            "calibration_error": self.calibration.error,
            "classes": classes,
            "confusion": self.confusion.tolist(),
        }


@dataclass(frozen=True)
class RegressionReport(FrozenArrays):
    """Everything that the validation rows say of predicted numbers.

    Args:
        name: what is predicted.
        targets, predicted: float `[R]`, in the unit of the table.
        rows: int `[R]`, where each row stands in its file.
        residuals: float `[R]`, predicted - target.
        mae: mean absolute residual.
        mae_interval: float `[2]`, 95 %, by bootstrap.
        rmse: root of the mean square.
        r2: share of the spread that is explained; 0 for always saying the mean.
    """

    name: str
    targets: np.ndarray
    predicted: np.ndarray
    rows: np.ndarray
    residuals: np.ndarray
    mae: float
    mae_interval: np.ndarray
    rmse: float
    r2: float

    def largest_residuals(self, count: int) -> np.ndarray:
        """Indices of the rows that are furthest off, the worst first."""
        return np.argsort(-np.abs(self.residuals), kind="stable")[:count]

    def to_dict(self) -> dict[str, Any]:
        """The metrics as JSON holds them."""
        return {
            "rows": len(self.targets),
            "mae": self.mae,
            "mae_95": self.mae_interval.tolist(),
            "rmse": self.rmse,
            "r2": self.r2,
        }


Report = ClassificationReport | RegressionReport


def judge(data: TrainingData, outputs: np.ndarray) -> Report:
    """The report of what was said of the validation rows.

    Args:
        data: the rows.
        outputs: float `[R, C]`, probabilities; or `[R]` or `[R, 1]`, numbers.
    """
    part = data.validation
    if data.is_regression:
        numbers = outputs.reshape(len(part))
        return evaluate_numbers(data.labels[0], part.targets, numbers, part.rows)
    return evaluate_classes(data.labels, part.targets, outputs, part.rows)


def evaluate_classes(
    labels: tuple[str, ...],
    targets: np.ndarray,
    probabilities: np.ndarray,
    rows: np.ndarray,
) -> ClassificationReport:
    """Judges a classifier.

    Args:
        labels: C class names.
        targets: int `[R]`, R at least 1.
        probabilities: float `[R, C]`, rows sum to 1.
        rows: int `[R]`, where each row stands in its file.
    """
    predicted = probabilities.argmax(axis=1)
    confusion = confusion_matrix(targets, predicted, len(labels))
    right, true, called = class_counts(confusion)
    return ClassificationReport(
        labels=labels,
        targets=np.array(targets),
        predicted=predicted,
        probabilities=probabilities,
        rows=np.array(rows),
        confusion=confusion,
        accuracy=float(right.sum() / len(targets)),
        accuracy_interval=wilson_interval(right.sum(), len(targets)),
        macro_f1=macro_f1(targets, predicted, len(labels)),
        macro_f1_interval=macro_f1_interval(targets, predicted, len(labels)),
        precision=ratio(right, called),
        recall=ratio(right, true),
        f1=ratio(2 * right, called + true),
        precision_intervals=wilson_interval(right, called),
        recall_intervals=wilson_interval(right, true),
        calibration=calibrate(
            probabilities.max(axis=1), predicted == targets, NUM_BINS
        ),
    )


def evaluate_numbers(
    name: str, targets: np.ndarray, predicted: np.ndarray, rows: np.ndarray
) -> RegressionReport:
    """Judges predicted numbers.

    Args:
        name: what is predicted.
        targets: float `[R]`.
        predicted: float `[R]`, in the same unit.
        rows: int `[R]`, where each row stands in its file.
    """
    wide = np.asarray(targets, "float64")
    residuals = np.asarray(predicted, "float64") - wide
    return RegressionReport(
        name=name,
        targets=np.array(targets),
        predicted=np.array(predicted),
        rows=np.array(rows),
        residuals=residuals,
        mae=float(np.abs(residuals).mean()),
        mae_interval=mean_interval(np.abs(residuals)),
        rmse=float(np.sqrt(np.square(residuals).mean())),
        r2=r_squared(targets, predicted),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
