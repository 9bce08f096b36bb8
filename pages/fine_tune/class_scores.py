"""Precision and recall of each class, with what they were counted from."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.figures.evaluation_scores import Dots, intervals_figure
from bertviz_core.finetune.evaluation import ClassificationReport
from pages.shared.export import show_figure
from pages.shared.language import plain, t

# With more classes the picture shows those that do worst.
_MOST_DRAWN = 20


def show_classes(report: ClassificationReport) -> None:
    """Draws both with 95 % intervals, the weakest class first."""
    order = np.argsort(np.nan_to_num(report.f1, nan=2.0), kind="stable")
    drawn = order[:_MOST_DRAWN]
    right = np.diag(report.confusion)
    called, true = report.confusion.sum(axis=0), report.confusion.sum(axis=1)
    dots = [
        Dots(
            plain(f"fine_tune_results.{name}"),
            values[drawn],
            intervals[drawn],
            [
                plain("fine_tune_results.right_of", right=right[i], count=whole[i])
                for i in drawn.tolist()
            ],
        )
        for name, values, intervals, whole in (
            ("precision", report.precision, report.precision_intervals, called),
            ("recall", report.recall, report.recall_intervals, true),
        )
    ]
    weakest = int(order[0])
    is_named = called[weakest] > 0
    described = t(
        f"fine_tune_results.classes_{'described' if is_named else 'never_named'}",
        label=report.labels[weakest],
        recall=float(np.nan_to_num(report.recall[weakest])),
        precision=float(np.nan_to_num(report.precision[weakest])),
        rows=int(true[weakest]),
    )
    show_figure(
        intervals_figure([report.labels[i] for i in drawn.tolist()], dots),
        name="ft_eval_classes",
        description=described,
        columns=_columns(report),
    )
    if len(order) > len(drawn):
        st.caption(t("fine_tune_results.weakest_drawn", count=len(drawn)))
    st.dataframe(_columns(report), hide_index=True, alt=described)


def _columns(report: ClassificationReport) -> dict[str, list[Any]]:
    def edges(intervals: np.ndarray) -> list[str]:
        return [
            plain("fine_tune_results.interval_short", low=low, high=high)
            for low, high in intervals.tolist()
        ]

    return {
        plain("fine_tune_results.class"): list(report.labels),
        plain("fine_tune_results.rows"): report.confusion.sum(axis=1).tolist(),
        plain("fine_tune_results.rows_called"): report.confusion.sum(axis=0).tolist(),
        plain("fine_tune_results.precision"): report.precision.round(4).tolist(),
        plain("fine_tune_results.precision_95"): edges(report.precision_intervals),
        plain("fine_tune_results.recall"): report.recall.round(4).tolist(),
        plain("fine_tune_results.recall_95"): edges(report.recall_intervals),
        plain("fine_tune_results.f1"): report.f1.round(4).tolist(),
    }
