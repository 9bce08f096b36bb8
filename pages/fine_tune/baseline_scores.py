"""The model beside the least that it has to beat, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.figures.evaluation_scores import Dots, intervals_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.training.finetune.evaluation import (
    ClassificationReport,
    Comparison,
    RegressionReport,
)
from bertviz_core.training.finetune.outcome import RunOutcome
from bertviz_core.training.finetune.run_history import chosen_text
from pages.fine_tune.widgets import interval_text
from pages.shared.export import show_figure, show_table
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
    others = {
        one.name: one.report
        for one in outcome.baselines
        if isinstance(one.report, ClassificationReport)
    }
    names = [_name("model"), *map(_name, others)]
    accuracy, macro, right = _scores([report, *others.values()])
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
            "fine_tune_results.method": names,
            "fine_tune_results.accuracy": accuracy.values,
            "fine_tune_results.low": accuracy.intervals[:, 0],
            "fine_tune_results.high": accuracy.intervals[:, 1],
            "fine_tune_results.macro_f1": macro.values,
            "fine_tune_results.macro_f1_low": macro.intervals[:, 0],
            "fine_tune_results.macro_f1_high": macro.intervals[:, 1],
            "fine_tune_results.rows_right": right,
        },
    )
    st.caption(t(f"fine_tune_results.compared_by_{criterion}"))
    for (name, other), found in zip(others.items(), outcome.comparisons, strict=True):
        if criterion == "macro_f1":
            kind = _kind(report.macro_f1 > other.macro_f1, found)
            scores = {"model": report.macro_f1, "other": other.macro_f1}
            _say("macro_difference", kind, name, found, **scores)
        else:
            _say_difference(name, report, other, found)
    _say_tuned(outcome)


def _name(method: str) -> str:
    return plain(f"fine_tune_results.method_{method}")


def _scores(reports: Sequence[ClassificationReport]) -> tuple[Dots, Dots, list[int]]:
    """Accuracy and macro-F1 of each method, as they are drawn, and its right rows."""
    count = len(reports[0].targets)
    right = [int((one.targets == one.predicted).sum()) for one in reports]
    spans = np.stack([one.macro_f1_interval for one in reports])
    accuracy = Dots(
        plain("fine_tune_results.accuracy"),
        np.array([one.accuracy for one in reports]),
        np.stack([one.accuracy_interval for one in reports]),
        [plain("fine_tune_results.right_of", right=r, count=count) for r in right],
    )
    macro = Dots(
        plain("fine_tune_results.macro_f1"),
        np.array([one.macro_f1 for one in reports]),
        spans,
        [interval_text(span) for span in spans],
    )
    return accuracy, macro, right


def show_number_baselines(outcome: RunOutcome, report: RegressionReport) -> None:
    """Draws a table of errors."""
    found = {"model": report} | {
        one.name: one.report
        for one in outcome.baselines
        if isinstance(one.report, RegressionReport)
    }
    low, high = np.stack([one.mae_interval for one in found.values()]).T
    best = min(found, key=lambda name: found[name].mae)
    value = found[best].mae
    columns = {
        "fine_tune_results.method": [_name(name) for name in found],
        "fine_tune_results.mae": [one.mae for one in found.values()],
        "fine_tune_results.low": low,
        "fine_tune_results.high": high,
        "fine_tune_results.r2": [one.r2 for one in found.values()],
        "fine_tune_results.rmse": [one.rmse for one in found.values()],
    }
    key = "fine_tune_results.number_baselines_described"
    said = t(key, name=_name(best), value=value)
    show_table(columns, said, "ft_eval_baselines", said)
    del found["model"]
    for (name, other), pair in zip(found.items(), outcome.comparisons, strict=True):
        kind = _kind(report.mae < other.mae, pair)
        errors = {"model": report.mae, "other": other.mae}
        _say("number_difference", kind, name, pair, **errors)
    _say_tuned(outcome)


def _say_tuned(outcome: RunOutcome) -> None:
    """How word counts were tuned; older runs do not tell."""
    for one in outcome.baselines:
        if one.chosen:
            how = "tuned" if one.chosen["folds"] else "untuned"
            said = {"chosen": chosen_text(one.chosen), "folds": one.chosen["folds"]}
            st.caption(t(f"fine_tune_results.{how}", **said))


def _say_difference(
    name: str,
    report: ClassificationReport,
    other: ClassificationReport,
    counts: Comparison,
) -> None:
    kind = _kind(counts.only_first > counts.only_second, counts)
    if kind == "worse" and report.macro_f1 > other.macro_f1:
        # It finds rare classes, which accuracy hardly counts.
        kind = "mixed"
    _say(
        "difference",
        kind,
        name,
        counts,
        model=counts.only_first,
        other=counts.only_second,
        model_f1=report.macro_f1,
        other_f1=other.macro_f1,
    )


def _kind(is_better: bool, found: Comparison) -> str:
    if found.chance > _RARE:
        return "chance"
    return "better" if is_better else "worse"


def _say(
    sentence: str, kind: str, name: str, found: Comparison, **numbers: float
) -> None:
    said = t(
        f"fine_tune_results.{sentence}_{kind}",
        name=_name(name),
        chance=Markdown(percent(found.chance)),
        **numbers,
    )
    st.markdown(f"{_ICONS[kind]} {said}")
