"""Rows of the report as a table: what they say, what they are, what the model says."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import validation_rows
from bertviz_core.finetune.evaluation import (
    RegressionReport,
    Report,
)
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.numbers import number_text
from pages.shared.answers import ask
from pages.shared.export import download_csv
from pages.shared.language import plain, t


def show_rows(
    outcome: RunOutcome, report: Report, indices: np.ndarray, name: str, most: int = 50
) -> None:
    """Draws rows in the given order, with their texts.

    `indices` are those of the report, int `[M]`.
    """
    shown = tuple(indices[:most].tolist())
    rows = ask(validation_rows)(outcome.run_id, shown)
    columns: dict[str, list[Any]] = {
        plain("fine_tune_results.row"): [row.row for row in rows],
        plain("fine_tune_results.text"): [row.text for row in rows],
    }
    if outcome.has_pairs:
        column = plain("fine_tune_results.second_text")
        columns[column] = [row.pair or "" for row in rows]
    columns |= _said(report, list(shown))
    said = t("fine_tune_results.rows_shown", shown=len(shown), count=len(indices))
    st.dataframe(columns, hide_index=True, alt=said)
    st.caption(said)
    download_csv(columns, f"ft_eval_{name}")


def _said(report: Report, shown: list[int]) -> dict[str, list[Any]]:
    if isinstance(report, RegressionReport):
        return {
            plain("fine_tune_results.true_number"): _rounded(report.targets, shown),
            plain("fine_tune_results.said_number"): _rounded(report.predicted, shown),
            plain("fine_tune_results.residual"): _rounded(report.residuals, shown),
        }
    sure = report.probabilities.max(axis=1)
    return {
        plain("fine_tune_results.true_class"): [
            report.labels[int(report.targets[i])] for i in shown
        ],
        plain("fine_tune_results.said_class"): [
            report.labels[int(report.predicted[i])] for i in shown
        ],
        plain("fine_tune_results.sure"): [
            plain("fine_tune_results.share", share=float(sure[i])) for i in shown
        ],
    }


def _rounded(values: np.ndarray, shown: list[int]) -> list[float]:
    return [float(number_text(values[i])) for i in shown]
