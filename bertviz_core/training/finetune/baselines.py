"""What simple methods reach on the same rows: the least that BERT has to beat."""

import dataclasses
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import Report, judge
from bertviz_core.training.finetune.split import text_keys

# Texts without spaces between words are cut into characters and pairs of them.
_CJK_SHARE = 0.2
_MAX_FEATURES = 50_000
# Features times classes: 8 MB of numbers, and some copies of them.
_MAX_COEFFICIENTS = 1_000_000
# What is tried, the mildest first: of equals the first is taken. Of TF-IDF vectors,
# whose length is 1, scikit-learn's default of 1 is far too strong a penalty.
_INVERSE_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)  # C of a classifier
_PENALTIES = (3.0, 1.0, 0.3, 0.1, 0.03)  # alpha, for numbers
_DEFAULT_C, _DEFAULT_ALPHA = 10.0, 1.0
_NUM_FOLDS = 3
# Different texts that tuning looks at: more change little and take minutes.
_MOST_TUNED = 5_000
_MOST_TIMED_ROWS = 500
_SCORINGS = {"accuracy": "accuracy", "macro_f1": "f1_macro", "r2": "r2"}


@dataclass(frozen=True)
class Baseline:
    """A simple method and how it did."""

    # "majority", the commonest class, or "mean", always the mean number; "tfidf", a
    # linear model on weighted word counts.
    name: str
    report: Report  # on the test rows
    # What was found best of what was tried, by scikit-learn's names: "C" and
    # "class_weight", or "alpha"; and "folds" of the cross-validation, 0 where there
    # were too few rows for one and these are defaults.
    chosen: Mapping[str, Any] = field(default_factory=dict)


def simplest(data: TrainingData) -> Baseline:
    """Always the same answer: it takes no time and cannot fail."""
    count, targets = len(data.test), data.train.targets
    if data.is_regression:
        mean = float(np.mean(targets, dtype="float64"))
        return Baseline("mean", judge(data, np.full(count, mean)))
    counts = np.bincount(targets, minlength=len(data.labels))
    return Baseline("majority", judge(data, np.tile(counts / counts.sum(), (count, 1))))


def count_words(
    data: TrainingData, metric: str, tell: Callable[[float], None] = lambda _: None
) -> Baseline | None:
    """A linear model on weighted word counts, tuned and fitted on the training rows.

    Penalty and class weights are chosen by cross-validation over different texts, by
    the metric "accuracy", "macro_f1" or "r2". `None` where it cannot be had: no text
    holds a word, all rows to learn from are of one class, or memory is short. That is
    no error: the trained model is worth more than what it is held against.

    Source: Spärck Jones 1972, "A statistical interpretation of term specificity",
    through scikit-learn's TfidfVectorizer, LogisticRegression and Ridge.
    """
    from sklearn.exceptions import ConvergenceWarning

    tell(0.0)
    targets = data.train.targets
    if len(np.unique(targets)) < 2:
        return None
    try:
        vectorizer = _vectorizer(data)
        train = vectorizer.fit_transform(data.train.joined)
        test = vectorizer.transform(data.test.joined)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            chosen = _tuned(data, train, metric, tell)
            model = _model(data, chosen).fit(train, targets)
    except (MemoryError, ValueError, ArithmeticError):  # such as an empty vocabulary
        return None
    tell(1.0)
    if data.is_regression:
        return Baseline("tfidf", judge(data, model.predict(test)), chosen)
    shares = np.zeros((len(data.test), len(data.labels)))
    shares[:, model.classes_] = model.predict_proba(test)
    return Baseline("tfidf", judge(data, shares), chosen)


def seconds_of_counting(data: TrainingData, metric: str) -> float:
    """How long `count_words` takes, scaled up from some of the rows."""
    part, test = data.train, data.test
    count = min(len(part), _MOST_TIMED_ROWS)
    sample = dataclasses.replace(
        data,
        train=part.spread(count),
        test=test.spread(max(1, len(test) * count // len(part))),
    )
    import sklearn.linear_model  # noqa: F401  # no part of the work

    began_at = time.perf_counter()
    count_words(sample, metric)
    return (time.perf_counter() - began_at) * _work(len(part)) / _work(count)


def _work(num_rows: int) -> int:
    """What takes time: ten tries, thrice, in two thirds of some; once all rows."""
    return 20 * min(num_rows, _MOST_TUNED) + 4 * num_rows


def _vectorizer(data: TrainingData) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    options: dict[str, Any] = {"token_pattern": r"(?u)\b\w+\b"}
    if is_unspaced(data.train.joined):
        options = {"analyzer": "char"}
    most = _MAX_COEFFICIENTS // len(data.labels)
    return TfidfVectorizer(
        ngram_range=(1, 2),
        max_features=min(_MAX_FEATURES, most),
        sublinear_tf=True,
        **options,
    )


def _tuned(
    data: TrainingData, train: Any, metric: str, tell: Callable[[float], None]
) -> dict[str, Any]:
    """What does best in folds of the training rows, or a default."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    rows, kind = _to_tune(data), KFold if data.is_regression else StratifiedKFold
    targets = data.train.targets[rows]
    tried: list[dict[str, Any]] = (
        [{"alpha": alpha} for alpha in _PENALTIES]
        if data.is_regression
        else [
            {"C": penalty, "class_weight": weight}
            for weight in (None, "balanced")
            for penalty in _INVERSE_PENALTIES
        ]
    )
    if len(np.unique(targets)) < 2 or len(rows) < 2 * _NUM_FOLDS:
        if data.is_regression:
            return {"alpha": _DEFAULT_ALPHA, "folds": 0}
        return {"C": _DEFAULT_C, "class_weight": None, "folds": 0}
    folds = kind(_NUM_FOLDS, shuffle=True, random_state=0)
    scores = []
    for index, options in enumerate(tried):
        model = _model(data, options)
        found = cross_val_score(
            model, train[rows], targets, cv=folds, scoring=_SCORINGS[metric]
        )
        scores.append(found.mean().round(6))
        tell((index + 1) / (len(tried) + 1))
    return tried[int(np.argmax(scores))] | {"folds": _NUM_FOLDS}


def _to_tune(data: TrainingData) -> np.ndarray:
    """Rows of different texts, of classes that have one in each fold; int `[S]`."""
    _, rows = np.unique(text_keys(data.train), return_index=True)
    if len(rows) > _MOST_TUNED:
        rows = np.random.default_rng(0).choice(rows, _MOST_TUNED, replace=False)
    rows = np.sort(rows)
    if data.is_regression:
        return rows
    classes, counts = np.unique(data.train.targets[rows], return_counts=True)
    common = classes[counts >= _NUM_FOLDS]
    return rows[np.isin(data.train.targets[rows], common)]


def _model(data: TrainingData, chosen: Mapping[str, Any]) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multiclass import OneVsRestClassifier

    if data.is_regression:
        return Ridge(alpha=chosen["alpha"])
    # A tenth of the time of the default, and as good: coordinate descent in the dual.
    model = LogisticRegression(
        C=chosen["C"],
        class_weight=chosen["class_weight"],
        solver="liblinear",
        dual=True,
        random_state=0,
    )
    return model if len(data.labels) == 2 else OneVsRestClassifier(model)


def is_unspaced(texts: list[str]) -> bool:
    """Whether texts are written without spaces between words, as Chinese is."""
    joined = "".join(texts)[:100_000]
    num_cjk = sum("\u3040" <= character <= "\u9fff" for character in joined)
    return num_cjk > _CJK_SHARE * len(joined)
