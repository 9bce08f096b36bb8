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
from pages.fine_tune.text_boxes import is_of_another
from pages.shared.export import show_figure
from pages.shared.language import plain, t, words_of
from pages.shared.panel import show_numbers

# Points between mean certainty and accuracy that are worth a word.
_NOTABLE = 0.03
# Of the calibration error: with few rows chance alone makes some.
_NOTABLE_ERROR = 0.05
_STEPS = 201
_LEFT_OVER = 0.2
_THRESHOLD = "ft_eval_threshold"


def show_calibration(report: ClassificationReport) -> None:
    """Draws how often rows were right against how sure the model was."""
    found = report.calibration
    sure = float(report.probabilities.max(axis=1).mean())
    shares = {"ece": found.error, "mean_sure": sure, "accuracy": report.accuracy}
    show_numbers(
        {
            f"fine_tune_results.{name}": plain("fine_tune_results.share", share=share)
            for name, share in shares.items()
        },
        bins=NUM_BINS,
    )
    edges = np.linspace(0, 1, NUM_BINS + 1)
    show_figure(
        calibration_figure(
            found.counts,
            found.confidence,
            found.accuracy,
            words_of(ScoreWords, "fine_tune_results"),
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
            plain("fine_tune_results.mean_sure"): found.confidence.tolist(),
            plain("fine_tune_results.accuracy"): found.accuracy.tolist(),
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
    """Draws a slider for the least certainty, and what it leaves."""
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
            curve.thresholds,
            curve.coverage,
            curve.accuracy,
            least,
            words_of(ScoreWords, "fine_tune_results"),
        ),
        name="ft_eval_coverage",
        description=described,
        columns={
            plain("fine_tune_results.figure_threshold"): curve.thresholds.tolist(),
            plain("fine_tune_results.figure_answered"): curve.coverage.tolist(),
            plain(
                "fine_tune_results.figure_right_of_answered"
            ): curve.accuracy.tolist(),
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
    count = round((1 - answered) * len(sure))
    numbers: dict[str, str | tuple[str, str]] = {
        "fine_tune_results.answered": plain("fine_tune_results.share", share=answered),
        "fine_tune_results.left_over": plain("fine_tune_results.rows_of", count=count),
        "fine_tune_results.right_of_answered": "–",
    }
    if not np.isnan(right):
        low, high = interval.tolist()
        numbers["fine_tune_results.right_of_answered"] = (
            plain("fine_tune_results.share", share=right),
            plain("fine_tune_results.interval", low=low, high=high),
        )
    show_numbers(numbers)
