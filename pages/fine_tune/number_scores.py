"""Predicted numbers against true ones, and where they are furthest apart."""

from __future__ import annotations

import numpy as np

from bertviz_core.figures.evaluation_numbers import (
    NumberWords,
    predicted_figure,
    residuals_figure,
)
from bertviz_core.finetune.evaluation import RegressionReport
from bertviz_core.finetune.outcome import RunOutcome
from pages.fine_tune.result_rows import show_rows
from pages.shared.export import show_figure
from pages.shared.language import plain, t, words_of

_NUM_LARGEST = 50


def show_residuals(report: RegressionReport) -> None:
    """Draws the two pictures of residuals."""
    columns = {
        plain("fine_tune_results.row"): report.rows.tolist(),
        plain("fine_tune_results.true_number"): report.targets.tolist(),
        plain("fine_tune_results.said_number"): report.predicted.tolist(),
        plain("fine_tune_results.residual"): report.residuals.tolist(),
    }
    hints = [plain("fine_tune_results.row_number", row=row) for row in report.rows]
    show_figure(
        predicted_figure(
            report.targets,
            report.predicted,
            hints,
            words_of(NumberWords, "fine_tune_results"),
        ),
        name="ft_eval_predicted",
        description=t(
            "fine_tune_results.predicted_described",
            value=report.r2,
            name=report.name,
        ),
        columns=columns,
    )
    mean = float(np.mean(report.residuals))
    key = "residuals_high" if mean > 0 else "residuals_low"
    show_figure(
        residuals_figure(report.residuals, words_of(NumberWords, "fine_tune_results")),
        name="ft_eval_residuals",
        description=t(f"fine_tune_results.{key}", value=abs(mean), typical=report.mae),
        columns=columns,
    )


def show_largest(outcome: RunOutcome, report: RegressionReport) -> None:
    """Draws the rows that are furthest off."""
    order = report.largest_residuals(len(report.targets))
    show_rows(outcome, report, order, "largest", _NUM_LARGEST)
