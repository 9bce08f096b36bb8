"""The model beside the least that it has to beat, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.figures.evaluation_scores import Dots, intervals_figure
from bertviz_core.finetune.baselines import Baseline
from bertviz_core.finetune.evaluation import ClassificationReport, RegressionReport
from bertviz_core.finetune.paired import paired_counts
from pages.ui.export import download_csv, show_figure
from pages.ui.language import plain, t

# The usual limit for "hardly by chance".
_RARE = 0.05


def show_baselines(report: ClassificationReport, baselines: Sequence[Baseline]) -> None:
    """Draws accuracies with intervals, and says which differences mean something.

    Args:
        report: of the model.
        baselines: of the simple methods.
    """
    reports = {"model": report} | {b.name: b.report for b in baselines}
    found = {
        name: one
        for name, one in reports.items()
        if isinstance(one, ClassificationReport)
    }
    names = [plain(f"fine_tune_results.method_{name}") for name in found]
    right = [int((one.targets == one.predicted).sum()) for one in found.values()]
    count = len(report.targets)
    dots = Dots(
        plain("fine_tune_results.accuracy"),
        np.array([one.accuracy for one in found.values()]),
        np.stack([one.accuracy_interval for one in found.values()]),
        [plain("fine_tune_results.right_of", right=r, count=count) for r in right],
    )
    best = int(np.argmax(dots.values))
    show_figure(
        intervals_figure(names, [dots]),
        name="ft_eval_baselines",
        description=t(
            "fine_tune_results.baselines_described",
            name=names[best],
            share=float(dots.values[best]),
            rows=count,
        ),
        columns=_class_columns(names, found, right),
    )
    for name, one in found.items():
        if name != "model":
            _say_difference(name, report, one)


def show_number_baselines(
    report: RegressionReport, baselines: Sequence[Baseline]
) -> None:
    """Draws a table of errors.

    Args:
        report: of the model.
        baselines: of the simple methods.
    """
    reports = {"model": report} | {b.name: b.report for b in baselines}
    found = {
        name: one for name, one in reports.items() if isinstance(one, RegressionReport)
    }
    columns: dict[str, list[Any]] = {
        plain("fine_tune_results.method"): [
            plain(f"fine_tune_results.method_{name}") for name in found
        ],
        plain("fine_tune_results.mae"): [one.mae for one in found.values()],
        plain("fine_tune_results.r2"): [one.r2 for one in found.values()],
        plain("fine_tune_results.rmse"): [one.rmse for one in found.values()],
    }
    best = min(found, key=lambda name: found[name].mae)
    said = t(
        "fine_tune_results.number_baselines_described",
        name=plain(f"fine_tune_results.method_{best}"),
        value=found[best].mae,
    )
    st.dataframe(columns, hide_index=True, alt=said)
    st.caption(said)
    download_csv(columns, "ft_eval_baselines")


def _say_difference(
    name: str, report: ClassificationReport, other: ClassificationReport
) -> None:
    counts = paired_counts(report.targets, report.predicted, other.predicted)
    is_better = counts.only_first > counts.only_second
    if counts.p_value > _RARE:
        key, icon = "difference_chance", ":material/casino:"
    elif is_better:
        key, icon = "difference_better", ":material/thumb_up:"
    else:
        key, icon = "difference_worse", ":material/thumb_down:"
    st.markdown(
        f"{icon} "
        + t(
            f"fine_tune_results.{key}",
            name=plain(f"fine_tune_results.method_{name}"),
            model=counts.only_first,
            other=counts.only_second,
            chance=counts.p_value,
        )
    )


def _class_columns(
    names: list[str], found: dict[str, ClassificationReport], right: list[int]
) -> dict[str, list[Any]]:
    reports = list(found.values())
    return {
        plain("fine_tune_results.method"): names,
        plain("fine_tune_results.accuracy"): [one.accuracy for one in reports],
        plain("fine_tune_results.low"): [
            float(one.accuracy_interval[0]) for one in reports
        ],
        plain("fine_tune_results.high"): [
            float(one.accuracy_interval[1]) for one in reports
        ],
        plain("fine_tune_results.macro_f1"): [one.macro_f1 for one in reports],
        plain("fine_tune_results.rows_right"): right,
    }
