"""What a report says, for a reader: shares, intervals, rows as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertviz_core.engine.finetune_tasks import report_rows
from bertviz_core.finetune.evaluation import RegressionReport, Report
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.numbers import number_text
from pages.fine_tune.widgets import show_table
from pages.shared.answers import ask
from pages.shared.language import plain, t


def share_text(share: float) -> str:
    """A share in percent."""
    return plain("fine_tune_results.share", share=float(share))


def interval_text(ends: Sequence[float] | np.ndarray, key: str = "interval") -> str:
    """An interval of 95 %; `key` is that of its text."""
    low, high = map(float, ends)
    return plain(f"fine_tune_results.{key}", low=low, high=high)


def show_rows(
    outcome: RunOutcome, report: Report, indices: np.ndarray, name: str, most: int = 50
) -> None:
    """Draws rows in the given order, with their texts.

    `indices` are those of the report, int `[M]`.
    """
    shown = indices[:most]
    rows = ask(report_rows)(outcome.run_id, tuple(shown.tolist()))
    columns = {
        "fine_tune_results.row": [row.row for row in rows],
        "fine_tune_results.text": [row.text for row in rows],
    }
    if outcome.has_pairs:
        columns["fine_tune_results.second_text"] = [row.pair or "" for row in rows]
    if isinstance(report, RegressionReport):
        columns |= {
            f"fine_tune_results.{key}": [float(number_text(v)) for v in values[shown]]
            for key, values in (
                ("true_number", report.targets),
                ("said_number", report.predicted),
                ("residual", report.residuals),
            )
        }
    else:
        sure = report.probabilities.max(axis=1)[shown]
        columns |= {
            f"fine_tune_results.{key}": [report.labels[int(i)] for i in classes[shown]]
            for key, classes in (
                ("true_class", report.targets),
                ("said_class", report.predicted),
            )
        }
        columns["fine_tune_results.sure"] = [share_text(one) for one in sure]
    said = t("fine_tune_results.rows_shown", shown=len(shown), count=len(indices))
    show_table(columns, said, f"ft_eval_{name}")
