"""What simple methods reach on the same rows: the least that BERT has to beat."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.finetune.evaluation import Report, judge
from bertviz_core.finetune.examples import TrainingData

# Texts without spaces between words are cut into characters and pairs of them.
_CJK_SHARE = 0.2
_MAX_FEATURES = 50_000
# Features times classes. L-BFGS holds about 25 numbers for each, its last ten steps
# and gradients among them: 200 MB at most, where 150 classes would take 1.5 GB.
_MAX_COEFFICIENTS = 1_000_000
_BYTES_PER_COEFFICIENT = 8 * 25
_MAX_ITERATIONS = 1000
# Between two questions whether to stop.
_ITERATIONS_AT_ONCE = 25
_TEXTS_AT_ONCE = 1000
_MOST_TIMED_ROWS = 500
# Why counting words gave nothing: someone asked, memory, an accident of arithmetic;
# the process ended in the midst of it; the disk took the model and not this.
REASONS = ("stopped", "memory", "failed", "died", "disk")


@dataclass(frozen=True)
class Baseline:
    """A simple method and how it did.

    Args:
        name: "majority", the commonest class, or "mean", always the mean number;
            "tfidf", a linear model on weighted word counts.
        report: on the validation rows.
    """

    name: str
    report: Report


class _StoppedError(Exception):
    """Someone asked to stop in the midst of a step."""


def simplest(data: TrainingData) -> Baseline:
    """Always the same answer: it takes no time and cannot fail."""
    return _mean(data) if data.is_regression else _majority(data)


def count_words(
    data: TrainingData,
    tell: Callable[[float], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Baseline | None, str]:
    """A linear model on weighted word counts, from the training rows.

    A failure is no error: the trained model is worth more than what it is held
    against.

    Args:
        data: the rows; judged by those of validation.
        tell: told the fraction done; may raise to cancel.
        should_stop: asked between steps.

    Returns:
        The method and "". `None` and one of `REASONS` where it was broken off;
        `None` and "" where it has nothing to say: no text holds a word, or all rows
        to learn from are of one class.

    Source:
        Spärck Jones 1972, "A statistical interpretation of term specificity",
        through scikit-learn's TfidfVectorizer, LogisticRegression and Ridge with
        their default penalties.
    """
    steps = _steps(data, should_stop)
    while True:
        # Around the step alone: what `tell` raises is no failure of the method.
        try:
            fraction, found = next(steps)
        except _StoppedError:
            return None, "stopped"
        except MemoryError:
            return None, "memory"
        except (ValueError, ArithmeticError):
            return None, "failed"
        if fraction is None:
            return found, ""
        tell(fraction)
        if should_stop():
            return None, "stopped"


def seconds_of_counting(data: TrainingData) -> float:
    """How long `count_words` takes, scaled up from some of the rows."""
    part = data.train
    count = min(len(part), _MOST_TIMED_ROWS)
    rows = np.linspace(0, len(part) - 1, count).astype("int64")
    sample = dataclasses.replace(data, train=part.select(rows))
    import sklearn.linear_model  # noqa: F401  # no part of the work

    began_at = time.perf_counter()
    count_words(sample)
    return (time.perf_counter() - began_at) * len(part) / count


def counting_bytes(data: TrainingData) -> int:
    """The most memory that the linear model takes, by arithmetic."""
    chars = sum(map(len, data.train.joined))
    num_features = min(_num_features(data), chars)
    return _BYTES_PER_COEFFICIENT * num_features * _num_outputs(data)


def _num_features(data: TrainingData) -> int:
    return min(_MAX_FEATURES, _MAX_COEFFICIENTS // _num_outputs(data))


def _num_outputs(data: TrainingData) -> int:
    # Two classes need the coefficients of one.
    return len(data.labels) if len(data.labels) > 2 else 1


def _steps(
    data: TrainingData, should_stop: Callable[[], bool]
) -> Iterator[tuple[float | None, Baseline | None]]:
    """Works piece by piece: a fraction after each, at the end what was found."""
    yield 0.0, None
    counts = _weighted_counts(data, should_stop)
    if counts is None:
        yield None, None
    elif data.is_regression:
        yield 0.5, None
        yield None, _ridge(data, *counts)
    else:
        yield from _logistic(data, *counts)


def _majority(data: TrainingData) -> Baseline:
    counts = np.bincount(data.train.targets, minlength=len(data.labels))
    shares = np.tile(counts / counts.sum(), (len(data.validation), 1))
    return Baseline("majority", judge(data, shares))


def _mean(data: TrainingData) -> Baseline:
    mean = float(np.mean(data.train.targets, dtype="float64"))
    return Baseline("mean", judge(data, np.full(len(data.validation), mean)))


def _weighted_counts(
    data: TrainingData, should_stop: Callable[[], bool]
) -> tuple[Any, Any] | None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = data.train.joined
    options: dict[str, Any] = {"token_pattern": r"(?u)\b\w+\b"}
    if _share_of_cjk(texts) > _CJK_SHARE:
        options = {"analyzer": "char"}
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2),
        max_features=_num_features(data),
        sublinear_tf=True,
        **options,
    )
    try:
        train = vectorizer.fit_transform(_asking(texts, should_stop))
    except ValueError:  # nothing but punctuation: an empty vocabulary
        return None
    return train, vectorizer.transform(data.validation.joined)


def _asking(texts: list[str], should_stop: Callable[[], bool]) -> Iterator[str]:
    """The texts; ends in the midst of them where someone asks for it."""
    for index, text in enumerate(texts):
        if index % _TEXTS_AT_ONCE == 0 and should_stop():
            raise _StoppedError
        yield text


def _logistic(
    data: TrainingData, train: Any, validation: Any
) -> Iterator[tuple[float | None, Baseline | None]]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(data.train.targets)) < 2:
        yield None, None
        return
    # The solver takes no questions: it is called for some iterations at a time, and
    # begins where it was.
    model = LogisticRegression(max_iter=_ITERATIONS_AT_ONCE, warm_start=True)
    for done in range(0, _MAX_ITERATIONS, _ITERATIONS_AT_ONCE):
        # Of loss and iterations nobody knows how many are left: half of the rest.
        yield 1 - 0.5 ** (1 + done / _ITERATIONS_AT_ONCE), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(train, data.train.targets)
        if model.n_iter_.max() < _ITERATIONS_AT_ONCE:
            break
    shares = np.zeros((len(data.validation), len(data.labels)))
    shares[:, model.classes_] = model.predict_proba(validation)
    yield None, Baseline("tfidf", judge(data, shares))


def _ridge(data: TrainingData, train: Any, validation: Any) -> Baseline:
    from sklearn.linear_model import Ridge

    model = Ridge().fit(train, np.asarray(data.train.targets, "float64"))
    return Baseline("tfidf", judge(data, model.predict(validation)))


def _share_of_cjk(texts: list[str]) -> float:
    """Of the characters, how many are Chinese, Japanese kana or the like."""
    joined = "".join(texts)[:100_000]
    num_cjk = sum("\u3040" <= character <= "\u9fff" for character in joined)
    return num_cjk / max(len(joined), 1)
