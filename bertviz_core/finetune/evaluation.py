"""How well a model did on rows that it did not learn from.

Shapes: R rows, C classes. Confusion matrices have the true class in the row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.finetune.dataset import TrainingData
from bertviz_core.finetune.metrics import (
    Calibration,
    Comparison,
    calibrate,
    compare_errors,
    compare_macro_f1,
    compare_right,
    macro_f1,
    macro_f1_interval,
    mean_interval,
    r_squared,
    wilson_interval,
)
from bertviz_core.finetune.split import text_keys
from bertviz_core.trace import FrozenArrays

NUM_BINS = 10


@dataclass(frozen=True)
class ClassificationReport(FrozenArrays):
    """Everything that the test rows say of a classifier.

    Intervals count a text that stands twice once.

    Args:
        labels: C class names.
        targets, predicted: int `[R]`.
        probabilities: float `[R, C]`.
        rows: int `[R]`, where each row stands in its file.
        confusion: int `[C, C]`.
        accuracy: share of right rows.
        accuracy_interval: float `[2]`, 95 %, of Wilson.
        macro_f1: mean F1 of the classes that occur or were predicted.
        macro_f1_interval: float `[2]`, 95 %, see `resampling.macro_f1_interval`.
        precision, recall, f1: float `[C]`; NaN where there is nothing to divide by.
        precision_intervals, recall_intervals: float `[C, 2]`, 95 %, of Wilson.
        calibration: of the predicted class.
        texts: int `[R]`, which of the G different texts each row has, from 0.
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
    texts: np.ndarray

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
            "different_texts": num_texts(self),
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
    """Everything that the test rows say of predicted numbers.

    Args:
        name: what is predicted.
        targets, predicted: float `[R]`, in the unit of the table.
        rows: int `[R]`, where each row stands in its file.
        residuals: float `[R]`, predicted - target.
        mae: mean absolute residual.
        mae_interval: float `[2]`, 95 %, by bootstrap.
        rmse: root of the mean square.
        r2: share of the spread that is explained; 0 for always saying the mean.
        texts: see `ClassificationReport`.
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
    texts: np.ndarray

    def largest_residuals(self, count: int) -> np.ndarray:
        """Indices of the rows that are furthest off, the worst first."""
        return np.argsort(-np.abs(self.residuals), kind="stable")[:count]

    def to_dict(self) -> dict[str, Any]:
        """The metrics as JSON holds them."""
        return {
            "rows": len(self.targets),
            "different_texts": num_texts(self),
            "mae": self.mae,
            "mae_95": self.mae_interval.tolist(),
            "rmse": self.rmse,
            "r2": self.r2,
        }


Report = ClassificationReport | RegressionReport


def num_texts(report: Report) -> int:
    """G, the different texts that a report is of."""
    return int(report.texts.max()) + 1


def judge(data: TrainingData, outputs: np.ndarray) -> Report:
    """The report of what was said of the test rows.

    Args:
        data: the rows.
        outputs: float `[R, C]`, probabilities; or `[R]` or `[R, 1]`, numbers.
    """
    part = data.test
    texts = np.unique(text_keys(part), return_inverse=True)[1]
    if data.is_regression:
        numbers = outputs.reshape(len(part))
        return evaluate_numbers(data.labels[0], part.targets, numbers, part.rows, texts)
    return evaluate_classes(data.labels, part.targets, outputs, part.rows, texts)


def compare(first: Report, second: Report, metric: str) -> Comparison:
    """Whether a report is better than another of the same rows, or by chance.

    Args:
        first: of one method.
        second: of another.
        metric: that epochs were compared by: "macro_f1" compares that, another the
            rows that are right; numbers are compared by their errors.
    """
    if isinstance(first, ClassificationReport):
        by = compare_macro_f1 if metric == "macro_f1" else compare_right
        return by(first.targets, first.predicted, second.predicted, first.texts)
    errors = [np.abs(report.predicted - first.targets) for report in (first, second)]
    return compare_errors(errors[0], errors[1], first.texts)


def evaluate_classes(
    labels: tuple[str, ...],
    targets: np.ndarray,
    probabilities: np.ndarray,
    rows: np.ndarray,
    texts: np.ndarray | None = None,
) -> ClassificationReport:
    """Judges a classifier.

    Args:
        labels: C class names.
        targets: int `[R]`, R at least 1.
        probabilities: float `[R, C]`, rows sum to 1.
        rows: int `[R]`, where each row stands in its file.
        texts: int `[R]`, see `ClassificationReport`; `None`: each is another.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    texts = np.arange(len(targets)) if texts is None else texts
    predicted, ids = probabilities.argmax(axis=1), np.arange(len(labels))
    is_right = predicted == targets
    precision, recall, f1, _ = precision_recall_fscore_support(
        targets, predicted, labels=ids, zero_division=np.nan
    )
    f1_interval = macro_f1_interval(targets, predicted, len(labels), texts)
    return ClassificationReport(
        labels=labels,
        targets=np.array(targets),
        predicted=predicted,
        probabilities=probabilities,
        rows=np.array(rows),
        confusion=confusion_matrix(targets, predicted, labels=ids),
        accuracy=float(is_right.mean()),
        accuracy_interval=_interval(is_right.mean(), np.ones(len(texts), bool), texts),
        macro_f1=macro_f1(targets, predicted),
        macro_f1_interval=f1_interval,
        precision=precision,
        recall=recall,
        f1=f1,
        precision_intervals=np.stack(
            [_interval(precision[i], predicted == i, texts) for i in ids]
        ),
        recall_intervals=np.stack(
            [_interval(recall[i], targets == i, texts) for i in ids]
        ),
        calibration=calibrate(probabilities.max(axis=1), is_right, NUM_BINS),
        texts=texts,
    )


def _interval(share: float, is_counted: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Of Wilson, as if each different text among some rows had been looked at once."""
    count = len(np.unique(texts[is_counted]))
    return wilson_interval(np.nan_to_num(share) * count, count)


def evaluate_numbers(
    name: str,
    targets: np.ndarray,
    predicted: np.ndarray,
    rows: np.ndarray,
    texts: np.ndarray | None = None,
) -> RegressionReport:
    """Judges predicted numbers.

    Args:
        name: what is predicted.
        targets: float `[R]`.
        predicted: float `[R]`, in the same unit.
        rows: int `[R]`, where each row stands in its file.
        texts: see `evaluate_classes`.
    """
    texts = np.arange(len(targets)) if texts is None else texts
    wide = np.asarray(targets, "float64")
    residuals = np.asarray(predicted, "float64") - wide
    return RegressionReport(
        name=name,
        targets=np.array(targets),
        predicted=np.array(predicted),
        rows=np.array(rows),
        residuals=residuals,
        mae=float(np.abs(residuals).mean()),
        mae_interval=mean_interval(np.abs(residuals), texts),
        rmse=float(np.sqrt(np.square(residuals).mean())),
        r2=r_squared(targets, predicted),
        texts=texts,
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
