"""What is gained and lost when a model may say that it does not know.

Shapes: R rows, K thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.scores import ratio, wilson_interval
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class Coverage(FrozenArrays):
    """Answers that are at least so sure.

    Args:
        thresholds: float `[K]`, rising: the least probability of an answer.
        coverage: float `[K]`, share of the rows that are answered.
        accuracy: float `[K]`, share of right ones among them; NaN where there is
            none.
        intervals: float `[K, 2]` of the accuracy, 95 %, of Wilson; a text that stands
            twice counts once.
    """

    thresholds: np.ndarray
    coverage: np.ndarray
    accuracy: np.ndarray
    intervals: np.ndarray


def coverage_at(
    confidence: np.ndarray,
    is_right: np.ndarray,
    thresholds: np.ndarray,
    texts: np.ndarray,
) -> Coverage:
    """Counts answered and right rows at each threshold.

    Args:
        confidence: float `[R]`, probability of the predicted class, R at least 1.
        is_right: bool `[R]`.
        thresholds: float `[K]`; a row as sure as the threshold is answered.
        texts: int `[R]`, which text each row has.

    Source:
        El-Yaniv and Wiener 2010, "On the Foundations of Noise-free Selective
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
