"""The model beside the least that it has to beat, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.figures.evaluation_scores import Dots, intervals_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.finetune.evaluation import ClassificationReport, RegressionReport
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.paired import paired_counts
from bertviz_core.finetune.resampling import macro_f1_chance, mean_difference_chance
from pages.shared.export import download_csv, show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown

# The usual limit for "hardly by chance".
_RARE = 0.05
_ICONS = {
    "better": ":material/thumb_up:",
    "worse": ":material/thumb_down:",
    "mixed": ":material/balance:",
    "chance": ":material/casino:",
}


def show_baselines(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws scores with intervals, and says which differences mean something."""
    criterion = str(outcome.recipe.get("compared_by", "accuracy"))
    reports = {"model": report} | {b.name: b.report for b in outcome.baselines}
    found = {
        name: one
        for name, one in reports.items()
        if isinstance(one, ClassificationReport)
    }
    names = [plain(f"fine_tune_results.method_{name}") for name in found]
    right = [int((one.targets == one.predicted).sum()) for one in found.values()]
    accuracy, macro = _shares(list(found.values()), right)
    dots = macro if criterion == "macro_f1" else accuracy
    best = int(np.argmax(dots.values))
    show_figure(
        intervals_figure(names, [accuracy, macro]),
        name="ft_eval_baselines",
        description=t(
            f"fine_tune_results.baselines_described_{criterion}",
            name=names[best],
            share=float(dots.values[best]),
            rows=len(report.targets),
        ),
        columns={
            plain("fine_tune_results.method"): names,
            plain("fine_tune_results.accuracy"): accuracy.values.tolist(),
            plain("fine_tune_results.low"): accuracy.intervals[:, 0].tolist(),
            plain("fine_tune_results.high"): accuracy.intervals[:, 1].tolist(),
            plain("fine_tune_results.macro_f1"): macro.values.tolist(),
            plain("fine_tune_results.macro_f1_low"): macro.intervals[:, 0].tolist(),
            plain("fine_tune_results.macro_f1_high"): macro.intervals[:, 1].tolist(),
            plain("fine_tune_results.rows_right"): right,
        },
    )
    st.caption(t(f"fine_tune_results.compared_by_{criterion}"))
    for name, one in found.items():
        if name == "model":
            continue
        if criterion == "macro_f1":
            chance = _macro_difference_chance(outcome.run_id, name, report, one)
            kind = _kind(report.macro_f1 > one.macro_f1, chance)
            scores = {"model": report.macro_f1, "other": one.macro_f1}
            _say("macro_difference", kind, name, chance, **scores)
        else:
            _say_difference(name, report, one)


def _shares(
    reports: Sequence[ClassificationReport], right: Sequence[int]
) -> tuple[Dots, Dots]:
    """Accuracy and macro-F1 of each method, as they are drawn."""
    count = len(reports[0].targets)
    spans = np.stack([one.macro_f1_interval for one in reports])
    return Dots(
        plain("fine_tune_results.accuracy"),
        np.array([one.accuracy for one in reports]),
        np.stack([one.accuracy_interval for one in reports]),
        [plain("fine_tune_results.right_of", right=r, count=count) for r in right],
    ), Dots(
        plain("fine_tune_results.macro_f1"),
        np.array([one.macro_f1 for one in reports]),
        spans,
        [
            plain("fine_tune_results.interval", low=low, high=high)
            for low, high in spans.tolist()
        ],
    )


def show_number_baselines(outcome: RunOutcome, report: RegressionReport) -> None:
    """Draws a table of errors."""
    reports = {"model": report} | {b.name: b.report for b in outcome.baselines}
    found = {
        name: one for name, one in reports.items() if isinstance(one, RegressionReport)
    }
    low, high = np.stack([one.mae_interval for one in found.values()]).T.tolist()
    columns = {
        plain("fine_tune_results.method"): [
            plain(f"fine_tune_results.method_{name}") for name in found
        ],
        plain("fine_tune_results.mae"): [one.mae for one in found.values()],
        plain("fine_tune_results.low"): low,
        plain("fine_tune_results.high"): high,
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
    for name, one in found.items():
        if name != "model":
            chance = _number_difference_chance(outcome.run_id, name, report, one)
            kind = _kind(report.mae < one.mae, chance)
            _say(
                "number_difference",
                kind,
                name,
                chance,
                model=report.mae,
                other=one.mae,
            )


def _say_difference(
    name: str, report: ClassificationReport, other: ClassificationReport
) -> None:
    counts = paired_counts(report.targets, report.predicted, other.predicted)
    kind = _kind(counts.only_first > counts.only_second, counts.p_value)
    if kind == "worse" and report.macro_f1 > other.macro_f1:
        # It finds rare classes, which accuracy hardly counts.
        kind = "mixed"
    _say(
        "difference",
        kind,
        name,
        model=counts.only_first,
        other=counts.only_second,
        chance=counts.p_value,
        model_f1=report.macro_f1,
        other_f1=other.macro_f1,
    )


def _kind(is_better: bool, chance: float) -> str:
    if chance > _RARE:
        return "chance"
    return "better" if is_better else "worse"


def _say(sentence: str, kind: str, name: str, chance: float, **numbers: float) -> None:
    said = t(
        f"fine_tune_results.{sentence}_{kind}",
        name=plain(f"fine_tune_results.method_{name}"),
        chance=Markdown(percent(chance)),
        **numbers,
    )
    st.markdown(f"{_ICONS[kind]} {said}")


# Of a large table, a chance takes seconds of draws. Streamlit leaves arguments that
# begin with "_" out of the key: the run and the method say which reports they are.
@st.cache_data(max_entries=64, ttl=600, show_spinner=False)
def _macro_difference_chance(
    run: str,
    method: str,
    _report: ClassificationReport,
    _other: ClassificationReport,
) -> float:
    """How often chance alone parts the macro-F1 of a run and a simple method so far."""
    return macro_f1_chance(
        _report.targets, _report.predicted, _other.predicted, len(_report.labels)
    )


@st.cache_data(max_entries=64, ttl=600, show_spinner=False)
def _number_difference_chance(
    run: str, method: str, _report: RegressionReport, _other: RegressionReport
) -> float:
    """The same for their mean errors."""
    return mean_difference_chance(np.abs(_report.residuals), np.abs(_other.residuals))
