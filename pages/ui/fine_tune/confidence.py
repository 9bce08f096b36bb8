"""How far the model's own certainty can be relied on, and what a threshold buys."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.figures.evaluation_scores import (
    ScoreWords,
    calibration_figure,
    coverage_figure,
)
from bertviz_core.finetune.coverage import coverage_at
from bertviz_core.finetune.evaluation import NUM_BINS, ClassificationReport
from pages.ui.export import show_figure
from pages.ui.fine_tune.filling import is_of_another
from pages.ui.language import plain, t

# Points between mean certainty and accuracy that are worth a word.
_NOTABLE = 0.03
# Of the calibration error: with few rows chance alone makes some.
_NOTABLE_ERROR = 0.05
_STEPS = 201
_LEFT_OVER = 0.2
_THRESHOLD = "ft_eval_threshold"


def _score_words() -> ScoreWords:
    """The texts of the figures in the visitor's language."""
    names = (
        "sure",
        "right",
        "exact",
        "rows",
        "threshold",
        "share",
        "answered",
        "right_of_answered",
    )
    return ScoreWords(
        **{name: plain(f"fine_tune_results.figure_{name}") for name in names}
    )


def show_calibration(report: ClassificationReport) -> None:
    """Draws how often rows were right against how sure the model was.

    Args:
        report: of the model.
    """
    found = report.calibration
    sure = float(report.probabilities.max(axis=1).mean())
    boxes = st.columns(3)
    boxes[0].metric(
        t("fine_tune_results.ece"),
        plain("fine_tune_results.share", share=found.error),
        help=t("fine_tune_results.ece_help", bins=NUM_BINS),
    )
    boxes[1].metric(
        t("fine_tune_results.mean_sure"),
        plain("fine_tune_results.share", share=sure),
    )
    boxes[2].metric(
        t("fine_tune_results.accuracy"),
        plain("fine_tune_results.share", share=report.accuracy),
    )
    edges = np.linspace(0, 1, NUM_BINS + 1)
    show_figure(
        calibration_figure(
            found.counts, found.confidence, found.accuracy, _score_words()
        ),
        name="ft_eval_calibration",
        description=t(
            f"fine_tune_results.{_verdict(sure, report)}",
            sure=sure,
            right=report.accuracy,
            error=found.error,
        ),
        columns={
            plain("fine_tune_results.low"): edges[:-1].tolist(),
            plain("fine_tune_results.high"): edges[1:].tolist(),
            plain("fine_tune_results.rows"): found.counts.tolist(),
            plain("fine_tune_results.mean_sure"): _known(found.confidence),
            plain("fine_tune_results.accuracy"): _known(found.accuracy),
        },
    )


def _verdict(sure: float, report: ClassificationReport) -> str:
    """The sentence that the chart bears out, by its key."""
    gap = sure - report.accuracy
    if abs(gap) > _NOTABLE:
        return "too_sure" if gap > 0 else "too_modest"
    # Too sure at one certainty and too modest at another cancel out in the mean.
    return "uneven" if report.calibration.error > _NOTABLE_ERROR else "calibrated"


def show_threshold(run: str, report: ClassificationReport) -> None:
    """Draws a slider for the least certainty, and what it leaves.

    Args:
        run: its id.
        report: of its model.
    """
    sure = report.probabilities.max(axis=1)
    least = _choose_threshold(run, sure)
    is_right = report.targets == report.predicted
    chosen = coverage_at(sure, is_right, np.array([least]))
    _show_chosen(
        float(chosen.coverage[0]), float(chosen.accuracy[0]), chosen.intervals[0], sure
    )
    curve = coverage_at(sure, is_right, np.linspace(0, 1, _STEPS))
    described = t(
        "fine_tune_results.threshold_described",
        least=least,
        answered=float(chosen.coverage[0]),
        all=report.accuracy,
    )
    show_figure(
        coverage_figure(
            curve.thresholds, curve.coverage, curve.accuracy, least, _score_words()
        ),
        name="ft_eval_coverage",
        description=described,
        columns={
            plain("fine_tune_results.figure_threshold"): curve.thresholds.tolist(),
            plain("fine_tune_results.figure_answered"): curve.coverage.tolist(),
            plain("fine_tune_results.figure_right_of_answered"): _known(curve.accuracy),
        },
    )


def _choose_threshold(run: str, sure: np.ndarray) -> float:
    """At first a threshold that leaves a fifth of the rows to a person."""
    usual = int(100 * np.quantile(sure, _LEFT_OVER))
    if is_of_another(_THRESHOLD, run):
        st.session_state[_THRESHOLD] = usual
    percent = st.slider(
        t("fine_tune_results.threshold"),
        0,
        100,
        usual,
        format="%d%%",
        key=_THRESHOLD,
        bind="query-params",
        help=t("fine_tune_results.threshold_help"),
    )
    return percent / 100


def _show_chosen(
    answered: float, right: float, interval: np.ndarray, sure: np.ndarray
) -> None:
    boxes = st.columns(3)
    boxes[0].metric(
        t("fine_tune_results.answered"),
        plain("fine_tune_results.share", share=answered),
    )
    boxes[1].metric(
        t("fine_tune_results.left_over"),
        plain("fine_tune_results.rows_of", count=round((1 - answered) * len(sure))),
        help=t("fine_tune_results.left_over_help"),
    )
    if np.isnan(right):
        boxes[2].metric(t("fine_tune_results.right_of_answered"), "–")
        return
    low, high = interval.tolist()
    boxes[2].metric(
        t("fine_tune_results.right_of_answered"),
        plain("fine_tune_results.share", share=right),
        plain("fine_tune_results.interval", low=low, high=high),
        delta_color="off",
        delta_arrow="off",
    )


def _known(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]
