"""How well a model did on rows that it did not learn from, and how far to trust that.

Shapes: R rows, C classes, G different texts. `targets`, `predicted` and what a `first`
and a `second` method name are classes, int `[R]`; `probabilities` float `[R, C]`, rows
sum to 1; `confidence`, that of the predicted class, and `is_right` `[R]`; `rows`
int `[R]`, where each stands in its file; `texts` int `[R]`, which text each has, from
0. Confusion matrices have the true class in the row. Intervals are float `[..., 2]`,
lower and upper end, of 95 % confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.trace import FrozenArrays
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.finetune.split import text_keys

# Two-sided 95 % of the standard normal distribution.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Calibration(FrozenArrays):
    """Whether rows that are called 80 % sure are right in 80 % of the cases.

    Source: Guo et al. 2017 (arXiv:1706.04599), section 2, equation 3.
    """

    counts: np.ndarray  # int [K], rows in each of K bins of equal width over 0 to 1
    confidence: np.ndarray  # float [K], means of the rows of a bin; NaN in an empty one
    accuracy: np.ndarray  # float [K], likewise
    error: float  # expected calibration error: their mean distance over the rows


def macro_f1(targets: np.ndarray, predicted: np.ndarray) -> float:
    """Mean F1 of the classes that occur or were predicted."""
    # Significance asks thousands of times: scikit-learn takes a hundred times as long.
    num_classes = int(max(targets.max(), predicted.max())) + 1
    cells = np.bincount(targets * num_classes + predicted, minlength=num_classes**2)
    return float(np.nanmean(_f1(cells.reshape(num_classes, num_classes))))


def r_squared(targets: np.ndarray, predicted: np.ndarray) -> float:
    """1 - squared residuals / squared distances from the mean target.

    Where all targets are alike: 1 if all are met, else 0.
    """
    from sklearn.metrics import r2_score

    # A single row, which scikit-learn refuses, is like the same row twice.
    wide = np.asarray(targets, "float64")
    return float(r2_score(np.tile(wide, 2), np.tile(predicted, 2)))


def wilson_interval(right: Any, total: Any) -> np.ndarray:
    """Where a share lies, by what was counted, a number or `[C]`, out of how many.

    Of rows that are not independent, as many are right as their share makes of those
    that are, which scipy's own would not take. A total of 0 says nothing: 0 to 1.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical
    inference"; it keeps its promise for a few rows, and near 0 and 1.
    """
    right, total = np.asarray(right, "float64"), np.asarray(total, "float64")
    count = np.maximum(total, 1.0)
    share = right / count
    middle = (share + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    spread = share * (1 - share) / count + _Z**2 / (4 * count**2)
    half = _Z / (1 + _Z**2 / count) * np.sqrt(spread)
    low = np.where(total > 0, np.clip(middle - half, 0.0, 1.0), 0.0)
    high = np.where(total > 0, np.clip(middle + half, 0.0, 1.0), 1.0)
    return np.stack([low, high], axis=-1)


def calibrate(
    confidence: np.ndarray, is_right: np.ndarray, num_bins: int
) -> Calibration:
    """Sorts rows by how sure the model was; the upper edge belongs to a bin."""
    bins = np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)
    counts = np.bincount(bins, minlength=num_bins)
    sure = ratio(np.bincount(bins, confidence, num_bins), counts)
    right = ratio(np.bincount(bins, is_right, num_bins), counts)
    error = np.nansum(np.abs(sure - right) * counts) / len(confidence)
    return Calibration(counts, sure, right, float(error))


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divides; NaN where there is nothing to divide by."""
    found = np.full(np.shape(whole), math.nan)
    return np.divide(part, whole, out=found, where=whole > 0)


@dataclass(frozen=True)
class EpochPoint:
    """An epoch on the curve."""

    loss: float  # mean over its steps
    # Both after it, the larger metric is better; NaN where no rows choose an epoch.
    validation_loss: float
    metric: float
    seconds: float  # that it took, validation included

    def beats(self, other: EpochPoint | None) -> bool:
        """Whether this is the better of the two; the earlier wins a draw.

        Of equal metrics the smaller loss decides. Without rows to choose by, whose
        metrics are NaN, it is the later one.
        """
        if other is None or math.isnan(self.metric):
            return True
        mine, theirs = ((p.metric, -p.validation_loss) for p in (self, other))
        return mine > theirs


def metric_name(is_regression: bool, settings: FinetuneSettings) -> str:
    """What epochs are compared by: classes that count alike do so there, too."""
    if is_regression:
        return "r2"
    is_balanced = settings.class_weights or settings.oversample
    return "macro_f1" if is_balanced else "accuracy"


def metric_of(name: str, outputs: np.ndarray, targets: np.ndarray) -> float:
    """The metric of that name, of logits float `[R, C]`, or of numbers in `[R, 1]`."""
    if name == "r2":
        return r_squared(targets, outputs[:, 0])
    predicted = outputs.argmax(axis=1)
    if name == "macro_f1":
        return macro_f1(targets, predicted)
    return float(np.mean(predicted == targets))


_SEED = 1
_NUM_DRAWS = 1000
_FEWEST_DRAWN = 5  # different texts: one alone would have no doubt at all
_ENDS = (2.5, 97.5)  # percent


@dataclass(frozen=True)
class Comparison:
    """Whether one method is better than another on the same rows, or by chance."""

    only_first: int  # rows that the first alone got right; 0 for numbers
    only_second: int  # rows that the second alone got right; 0 for numbers
    # How often a difference at least as large, either way, would come about if both
    # were equally good; 1 where they never differ.
    chance: float


def macro_f1_interval(
    targets: np.ndarray, predicted: np.ndarray, num_classes: int, texts: np.ndarray
) -> np.ndarray:
    """Where macro-F1 lies.

    The wider of two on each side: a bootstrap, which knows that one mistake lowers the
    F1 of two classes but finds no doubt where all rows are right; and what Wilson's
    intervals of each class give together, which finds it there.

    Source: Efron 1979, "Bootstrap methods: another look at the jackknife", by
    percentiles; Zou and Donner 2008, "Construction of confidence limits about effect
    measures", for a mean of shares with intervals of their own.
    """
    from scipy.sparse import csr_matrix

    def by_class(counts: np.ndarray, classes: np.ndarray) -> Any:
        shape = num_classes, int(texts.max()) + 1
        return csr_matrix((counts, (classes, texts)), shape)

    ones = np.ones(len(texts))
    right = by_class(2.0 * (targets == predicted), targets)
    named = by_class(ones, targets) + by_class(ones, predicted)
    drawn = [(right @ draw, named @ draw) for draw in _draws(named.shape[1])]
    f1 = ratio(*np.moveaxis(np.array(drawn), 1, 0))  # of each draw and class
    low, high = np.percentile(np.nanmean(f1, axis=1), _ENDS)
    f1, ends = _class_intervals(targets, predicted, num_classes, texts)
    below, above = np.sqrt(np.square(ends - f1[:, None]).sum(axis=0)) / len(f1)
    return np.array([min(low, f1.mean() - below), max(high, f1.mean() + above)])


def mean_interval(values: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Where the mean of float `[R]` lies, by bootstrap; NaN of too few texts."""
    sums, sizes = np.bincount(texts, values), np.bincount(texts)
    if len(sums) < _FEWEST_DRAWN:
        return np.full(2, math.nan)
    drawn = [draw @ sums / (draw @ sizes) for draw in _draws(len(sums))]
    return np.percentile(drawn, _ENDS)


def compare_right(
    targets: np.ndarray, first: np.ndarray, second: np.ndarray, texts: np.ndarray
) -> Comparison:
    """Counts rows that one of two methods got right and the other did not.

    Source: McNemar 1947, "Note on the sampling error of the difference between
    correlated proportions or percentages"; in its exact form, a sign test.
    """
    from scipy.stats import binomtest

    gaps = (first == targets).astype(int) - (second == targets)
    signs = np.sign(np.bincount(texts, gaps))
    won, lost = int((signs > 0).sum()), int((signs < 0).sum())
    chance = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    return Comparison(int((gaps > 0).sum()), int((gaps < 0).sum()), chance)


def compare_macro_f1(
    targets: np.ndarray, first: np.ndarray, second: np.ndarray, texts: np.ndarray
) -> Comparison:
    """The same for macro-F1: in each draw, methods swap answers on some texts.

    Source: Yeh 2000, "More accurate tests for the statistical significance of result
    differences": approximate randomisation.
    """

    def difference(is_swapped: np.ndarray, _: np.ndarray) -> float:
        swaps = is_swapped.astype(bool)[texts]
        one, other = np.where(swaps, second, first), np.where(swaps, first, second)
        return macro_f1(targets, one) - macro_f1(targets, other)

    rows = compare_right(targets, first, second, texts)
    chance = _swap_chance(difference, int(texts.max()) + 1)
    return Comparison(rows.only_first, rows.only_second, chance)


def compare_errors(
    first: np.ndarray, second: np.ndarray, texts: np.ndarray
) -> Comparison:
    """The same for means of two numbers a row `[R]`, such as errors of two methods."""
    gaps = np.bincount(texts, np.asarray(first, "float64") - second)

    def difference(is_swapped: np.ndarray, _: np.ndarray) -> float:
        return float(np.mean((1 - 2 * is_swapped) * gaps))

    return Comparison(0, 0, _swap_chance(difference, len(gaps)))


def _swap_chance(difference: Callable[..., float], num_texts: int) -> float:
    """How often swaps part both at least as far; with few texts, of all of them."""
    from scipy.stats import permutation_test

    if num_texts < 2:
        return 1.0
    sides = np.zeros(num_texts), np.ones(num_texts)
    found = permutation_test(
        sides,
        difference,
        permutation_type="samples",
        n_resamples=_NUM_DRAWS,
        rng=np.random.default_rng(_SEED),
    )
    return float(found.pvalue)


def _draws(num_texts: int) -> Iterator[np.ndarray]:
    """How often each text was drawn, int `[G]`, for each draw of as many texts."""
    rng = np.random.default_rng(_SEED)
    for _ in range(_NUM_DRAWS):
        yield np.bincount(rng.integers(num_texts, size=num_texts), minlength=num_texts)


def _f1(confusion: np.ndarray) -> np.ndarray:
    """Of each class, float `[C]`; NaN where it neither occurs nor is named."""
    return ratio(2 * np.diag(confusion), confusion.sum(axis=0) + confusion.sum(axis=1))


def _class_intervals(
    targets: np.ndarray, predicted: np.ndarray, num_classes: int, texts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """F1 of the classes that occur or are named `[K]`, and its ends `[K, 2]`.

    Of the rows that are of a class or called so, Wilson's interval is that of those
    that are both, a share J; and F1 is 2 J / (1 + J).
    """
    shares, sizes = [], []
    for label in range(num_classes):
        is_of_class = (targets == label) | (predicted == label)
        if is_of_class.any():
            shares.append((targets == predicted)[is_of_class].mean())
            sizes.append(len(np.unique(texts[is_of_class])))
    share, size = np.array(shares), np.array(sizes)
    ends = wilson_interval(share * size, size)
    return 2 * share / (1 + share), 2 * ends / (1 + ends)


@dataclass(frozen=True)
class Coverage(FrozenArrays):
    """What K thresholds gain and lose when a model may say that it does not know."""

    thresholds: np.ndarray  # float [K], rising: the least probability of an answer
    coverage: np.ndarray  # float [K], share of the rows that are answered
    accuracy: np.ndarray  # float [K], share of right ones among them; NaN of none
    intervals: np.ndarray  # float [K, 2], of Wilson; equal texts count once


def coverage_at(
    confidence: np.ndarray,
    is_right: np.ndarray,
    thresholds: np.ndarray,
    texts: np.ndarray,
) -> Coverage:
    """Counts answered and right rows; one as sure as a threshold is answered.

    Source: El-Yaniv and Wiener 2010, "On the Foundations of Noise-free Selective
    Classification": the risk-coverage curve.
    """
    order = np.argsort(-confidence, kind="stable")
    falling = -confidence[order]
    right = np.concatenate([[0], np.cumsum(is_right[order])])
    answered = np.searchsorted(falling, -np.asarray(thresholds), side="right")
    share = ratio(right[answered], answered)
    is_first = np.zeros(len(order), int)
    is_first[np.unique(texts[order], return_index=True)[1]] = 1
    different = np.concatenate([[0], np.cumsum(is_first)])[answered]
    return Coverage(
        thresholds=np.array(thresholds, np.float64),
        coverage=answered / len(confidence),
        accuracy=share,
        intervals=wilson_interval(np.nan_to_num(share) * different, different),
    )


NUM_BINS = 10


@dataclass(frozen=True)
class ClassificationReport(FrozenArrays):
    """What the test rows say of a classifier; intervals count equal texts once."""

    labels: tuple[str, ...]  # C class names
    targets: np.ndarray  # int [R]
    predicted: np.ndarray  # int [R]
    probabilities: np.ndarray  # float [R, C]
    rows: np.ndarray  # int [R], where each row stands in its file
    confusion: np.ndarray  # int [C, C]
    accuracy: float  # share of right rows
    accuracy_interval: np.ndarray  # float [2], 95 %, of Wilson
    macro_f1: float  # mean F1 of the classes that occur or were predicted
    macro_f1_interval: np.ndarray  # float [2], 95 %, see `macro_f1_interval`
    # precision, recall, f1: float [C]; NaN where there is nothing to divide by.
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    precision_intervals: np.ndarray  # float [C, 2], 95 %, of Wilson
    recall_intervals: np.ndarray  # float [C, 2], 95 %, of Wilson
    calibration: Calibration  # of the predicted class
    texts: np.ndarray  # int [R], which of the G different texts each row has, from 0

    @property
    def outputs(self) -> np.ndarray:
        return self.probabilities

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
                "precision": defined(self.precision[index]),
                "precision_95": self.precision_intervals[index].tolist(),
                "recall": defined(self.recall[index]),
                "recall_95": self.recall_intervals[index].tolist(),
                "f1": defined(self.f1[index]),
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
    """Everything that the test rows say of predicted numbers."""

    name: str  # what is predicted
    targets: np.ndarray  # float [R], in the unit of the table
    predicted: np.ndarray  # float [R], in the unit of the table
    rows: np.ndarray  # int [R], where each row stands in its file
    residuals: np.ndarray  # float [R], predicted - target
    mae: float  # mean absolute residual
    mae_interval: np.ndarray  # float [2], 95 %, by bootstrap
    rmse: float  # root of the mean square
    r2: float  # share of the spread that is explained; 0 for always saying the mean
    texts: np.ndarray  # see `ClassificationReport`

    @property
    def outputs(self) -> np.ndarray:
        return self.predicted[:, None]

    def largest_residuals(self, count: int) -> np.ndarray:
        """Indices of the rows that are furthest off, the worst first."""
        return np.argsort(-np.abs(self.residuals), kind="stable")[:count]

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": len(self.targets),
            "different_texts": num_texts(self),
            "mae": self.mae,
            "mae_95": None
            if np.isnan(self.mae_interval[0])
            else self.mae_interval.tolist(),
            "rmse": self.rmse,
            "r2": self.r2,
        }


Report = ClassificationReport | RegressionReport


def num_texts(report: Report) -> int:
    """G, the different texts that a report is of."""
    return int(report.texts.max()) + 1


def judge(data: TrainingData, outputs: np.ndarray) -> Report:
    """The report of what was said of the test rows.

    `outputs` are probabilities float `[R, C]`; or numbers, `[R]` or `[R, 1]`.
    """
    part = data.test
    texts = np.unique(text_keys(part), return_inverse=True)[1]
    if data.is_regression:
        numbers = outputs.reshape(len(part))
        return evaluate_numbers(data.labels[0], part.targets, numbers, part.rows, texts)
    return evaluate_classes(data.labels, part.targets, outputs, part.rows, texts)


def compare(first: Report, second: Report, metric: str) -> Comparison:
    """Whether a report is better than another of the same rows, or by chance.

    The metric that epochs were compared by decides: "macro_f1" compares that, another
    the rows that are right; numbers are compared by their errors.
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
    """Judges a classifier on one row or more; without `texts` each has another."""
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
    """Judges predicted numbers, float `[R]`, in the unit of the targets."""
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


def defined(value: float) -> float | None:
    """As JSON holds it: `None` for NaN."""
    return None if math.isnan(value) else float(value)
