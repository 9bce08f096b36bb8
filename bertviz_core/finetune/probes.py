"""What can be read off vectors by the simplest of means: a linear probe."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertviz_core.analysis.geometry import is_rounding
from bertviz_core.finetune.scores import r_squared

_MAX_ITERATIONS = 1000


def probe_classes(
    vectors: np.ndarray, targets: np.ndarray, judged: np.ndarray
) -> np.ndarray:
    """Learns classes from vectors, and names those of others.

    Logistic regression on numbers that are brought to mean 0 and spread 1, with
    the default penalty of scikit-learn.

    Args:
        vectors: float `[R, H]` to learn from.
        targets: int `[R]`.
        judged: float `[M, H]`.

    Returns:
        int `[M]`, the classes it names.

    Source:
        Alain and Bengio 2016 (arXiv:1610.01644), linear classifier probes.
    """
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(targets)) < 2:
        return np.full(len(judged), targets[0])
    known, asked = _standard(vectors, judged)
    probe = LogisticRegression(max_iter=_MAX_ITERATIONS).fit(known, targets)
    named: np.ndarray = probe.predict(asked)
    return named


def probe_numbers(
    vectors: np.ndarray, targets: np.ndarray, judged: np.ndarray, truth: np.ndarray
) -> float:
    """Learns numbers from vectors; the R² of those that it says for others.

    Ridge regression on numbers of mean 0 and spread 1, default penalty.

    Args:
        vectors: float `[R, H]` to learn from.
        targets: float `[R]`.
        judged: float `[M, H]`.
        truth: float `[M]`.
    """
    from sklearn.linear_model import Ridge

    known, asked = _standard(vectors, judged)
    probe: Any = Ridge().fit(known, np.asarray(targets, np.float64))
    return r_squared(truth, probe.predict(asked))


def _standard(vectors: np.ndarray, judged: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both, with the mean and the spread of what is learned from.

    Brought to a spread of 1, rounding would look like something to learn from.
    """
    wide = vectors.astype(np.float64)
    mean, spread = wide.mean(axis=0), wide.std(axis=0)
    told = 1 / np.where(is_rounding(wide, spread), np.inf, spread)
    return (wide - mean) * told, (judged.astype(np.float64) - mean) * told
