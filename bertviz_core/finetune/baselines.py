"""What simple methods reach on the same rows: the least that BERT has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.finetune.evaluation import Report, judge
from bertviz_core.finetune.examples import TrainingData

# Texts without spaces between words are cut into characters and pairs of them.
_CJK_SHARE = 0.2
_MAX_FEATURES = 50_000
_MAX_ITERATIONS = 1000


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


def run_baselines(data: TrainingData) -> tuple[Baseline, ...]:
    """Learns from the training rows and judges on the validation rows.

    Where no text holds a word, "tfidf" is absent.

    Source:
        Spärck Jones 1972, "A statistical interpretation of term specificity",
        through scikit-learn's TfidfVectorizer, LogisticRegression and Ridge with
        their default penalties.
    """
    counts = _weighted_counts(data)
    if data.is_regression:
        simple = _mean(data)
        linear = None if counts is None else _ridge(data, *counts)
    else:
        simple = _majority(data)
        linear = None if counts is None else _logistic(data, *counts)
    return (simple,) if linear is None else (simple, linear)


def _majority(data: TrainingData) -> Baseline:
    counts = np.bincount(data.train.targets, minlength=len(data.labels))
    shares = np.tile(counts / counts.sum(), (len(data.validation), 1))
    return Baseline("majority", judge(data, shares))


def _mean(data: TrainingData) -> Baseline:
    mean = float(np.mean(data.train.targets, dtype="float64"))
    return Baseline("mean", judge(data, np.full(len(data.validation), mean)))


def _weighted_counts(data: TrainingData) -> tuple[Any, Any] | None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = data.train.joined
    options: dict[str, Any] = {"token_pattern": r"(?u)\b\w+\b"}
    if _share_of_cjk(texts) > _CJK_SHARE:
        options = {"analyzer": "char"}
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), max_features=_MAX_FEATURES, sublinear_tf=True, **options
    )
    try:
        train = vectorizer.fit_transform(texts)
    except ValueError:  # nothing but punctuation: an empty vocabulary
        return None
    return train, vectorizer.transform(data.validation.joined)


def _logistic(data: TrainingData, train: Any, validation: Any) -> Baseline | None:
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(data.train.targets)) < 2:
        return None
    model = LogisticRegression(max_iter=_MAX_ITERATIONS).fit(train, data.train.targets)
    shares = np.zeros((len(data.validation), len(data.labels)))
    shares[:, model.classes_] = model.predict_proba(validation)
    return Baseline("tfidf", judge(data, shares))


def _ridge(data: TrainingData, train: Any, validation: Any) -> Baseline:
    from sklearn.linear_model import Ridge

    model = Ridge().fit(train, np.asarray(data.train.targets, "float64"))
    return Baseline("tfidf", judge(data, model.predict(validation)))


def _share_of_cjk(texts: list[str]) -> float:
    """Of the characters, how many are Chinese, Japanese kana or the like."""
    joined = "".join(texts)[:100_000]
    num_cjk = sum("\u3040" <= character <= "\u9fff" for character in joined)
    return num_cjk / max(len(joined), 1)
