"""Step 4: how well the model does on rows that it did not learn from."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.engine.finetuned_tasks import fit_temperature, keep_temperature
from bertviz_core.figures.bars import histogram_figure
from bertviz_core.figures.evaluation_matrix import confusion_figure
from bertviz_core.figures.evaluation_scores import (
    Dots,
    calibration_figure,
    coverage_figure,
    intervals_figure,
    predicted_figure,
)
from bertviz_core.figures.masked_word import percent
from bertviz_core.training.finetune.evaluation import (
    NUM_BINS,
    ClassificationReport,
    Comparison,
    RegressionReport,
    calibrate,
    coverage_at,
    num_texts,
)
from bertviz_core.training.finetune.request import RunOutcome
from bertviz_core.training.finetune.run_history import chosen_text
from bertviz_core.training.finetune.temperature import with_temperature
from pages.fine_tune.compare_runs import show_runs
from pages.fine_tune.mend_rows import show_rows, show_rows_to_correct
from pages.fine_tune.state import SAID, THRESHOLD, TRUE, FineTuneState, offer_step
from pages.fine_tune.widgets import choose_panel, interval_text, share_text
from pages.shared.answers import ask, ask_job, forget_models
from pages.shared.choices import choose_linked, choose_named, choose_number
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure, show_table
from pages.shared.language import Markdown, in_a_row, plain, t, words_of
from pages.shared.page_head import model_at_work
from pages.shared.panel import button, panel, show_numbers

# The usual limit for "hardly by chance".
_RARE = 0.05
_ICONS = {
    "better": ":material/thumb_up:",
    "worse": ":material/thumb_down:",
    "mixed": ":material/balance:",
    "chance": ":material/casino:",
}
# With more classes the picture shows those that do worst.
_MOST_DRAWN = 20
_CLICKED = "ft_eval_matrix"
_UNITS = ("counts", "shares")
# Points between mean certainty and accuracy that are worth a word.
_NOTABLE = 0.03
# Of the calibration error: with few rows chance alone makes some.
_NOTABLE_ERROR = 0.05
# Verdicts that a temperature can mend.
_SCALED = ("too_sure", "too_modest", "uneven")
_NUM_THRESHOLDS = 201
_LEFT_OVER = 0.2


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("results.evaluate_title"), anchor=False)
    with shown_to_user(), model_at_work():
        outcome = ask(training_outcome)(state.run_id)
    st.markdown(t("results.evaluate_intro"))
    count, different = len(outcome.report.targets), num_texts(outcome.report)
    if different < count:  # the others are copies
        st.caption(t("results.evaluate_copies", count=count, different=different))
    if isinstance(outcome.report, ClassificationReport):
        _show_class_numbers(outcome.report)
    else:
        _show_number_numbers(outcome.report)
    _say_epoch(outcome.recipe)
    _explore(outcome)
    offer_step("try", "evaluated")


def _show_class_numbers(report: ClassificationReport) -> None:
    right, count = (report.targets == report.predicted).sum(), len(report.targets)
    show_numbers(
        {
            "results.accuracy": (
                share_text(report.accuracy),
                interval_text(report.accuracy_interval),
            ),
            "results.macro_f1": (
                share_text(report.macro_f1),
                interval_text(report.macro_f1_interval),
            ),
            "results.rows_right": plain(
                "results.right_of", right=int(right), count=count
            ),
        }
    )


def _show_number_numbers(report: RegressionReport) -> None:
    show_numbers(
        {
            "results.mae": (
                plain("results.number", value=report.mae),
                interval_text(report.mae_interval, "number_interval"),
            ),
            "results.r2": plain("results.two_digits", value=report.r2),
            "results.rmse": plain("results.number", value=report.rmse),
        },
        count=len(report.targets),
    )


def _say_epoch(recipe: dict[str, Any]) -> None:
    places = {"best": recipe.get("best_epoch"), "count": recipe.get("epochs_run")}
    said = []
    if step := recipe.get("stopped_at_step"):
        said.append(t("results.evaluate_stopped", step=step))
    if all(places.values()):
        how = "epoch" if recipe["validation_rows"] else "last_epoch"
        said.append(t(f"results.evaluate_{how}", **places))
    if said:
        st.caption(in_a_row(said))


@panel
def _explore(outcome: RunOutcome) -> None:
    is_classes = isinstance(outcome.report, ClassificationReport)
    panels = CLASS_PANELS if is_classes else NUMBER_PANELS
    label = "results.evaluate_panel"
    chosen = choose_panel(label, panels, "ft_eval_panel")
    st.markdown(t(f"results.{chosen}_intro"))
    panels[chosen](outcome, outcome.report)


def _show_baselines(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws scores with intervals, and says which differences mean something."""
    criterion = str(outcome.recipe.get("compared_by", "accuracy"))
    others = outcome.baselines
    names = [_method_name(one) for one in ("model", *(each.name for each in others))]
    accuracy, macro, right = _score_dots([report, *(one.report for one in others)])
    dots = macro if criterion == "macro_f1" else accuracy
    best = int(np.argmax(dots.values))
    show_figure(
        intervals_figure(names, [accuracy, macro]),
        name="ft_eval_baselines",
        description=t(
            f"results.baselines_described_{criterion}",
            name=names[best],
            share=float(dots.values[best]),
            rows=len(report.targets),
        ),
        columns={
            "results.method": names,
            "results.accuracy": accuracy.values,
            "results.low": accuracy.intervals[:, 0],
            "results.high": accuracy.intervals[:, 1],
            "results.macro_f1": macro.values,
            "results.macro_f1_low": macro.intervals[:, 0],
            "results.macro_f1_high": macro.intervals[:, 1],
            "results.rows_right": right,
        },
    )
    st.caption(t(f"results.compared_by_{criterion}"))
    _say_comparisons(outcome)


def _method_name(method: str) -> str:
    return plain(f"results.method_{method}")


def _score_dots(reports: Sequence[Any]) -> tuple[Dots, Dots, list[int]]:
    """Accuracy and macro-F1 of each method, as they are drawn, and its right rows."""
    count = len(reports[0].targets)
    right = [int((one.targets == one.predicted).sum()) for one in reports]
    spans = np.stack([one.macro_f1_interval for one in reports])
    accuracy = Dots(
        plain("results.accuracy"),
        np.array([one.accuracy for one in reports]),
        np.stack([one.accuracy_interval for one in reports]),
        [plain("results.right_of", right=r, count=count) for r in right],
    )
    macro = Dots(
        plain("results.macro_f1"),
        np.array([one.macro_f1 for one in reports]),
        spans,
        [interval_text(span) for span in spans],
    )
    return accuracy, macro, right


def _show_number_baselines(outcome: RunOutcome, report: RegressionReport) -> None:
    """Draws a table of errors."""
    found: dict[str, Any] = {one.name: one.report for one in outcome.baselines}
    found = {"model": report, **found}
    low, high = np.stack([one.mae_interval for one in found.values()]).T
    best = min(found, key=lambda name: found[name].mae)
    value = found[best].mae
    columns = {
        "results.method": [_method_name(name) for name in found],
        "results.mae": [one.mae for one in found.values()],
        "results.low": low,
        "results.high": high,
        "results.r2": [one.r2 for one in found.values()],
        "results.rmse": [one.rmse for one in found.values()],
    }
    key = "results.number_baselines_described"
    said = t(key, name=_method_name(best), value=value)
    show_table(columns, said, "ft_eval_baselines", said)
    st.caption(t("results.compared_by_error"))
    _say_comparisons(outcome)


def _say_comparisons(outcome: RunOutcome) -> None:
    """How the model does beside each simple method, and how word counts were tuned."""
    for one, found in zip(outcome.baselines, outcome.comparisons, strict=True):
        sentence, numbers, is_better = _against(outcome, one.report, found)
        gained = numbers.get("model_f1", 0) - numbers.get("other_f1", 0)
        kind = "better" if is_better else "worse"
        if found.chance > _RARE:
            kind = "chance"
        elif kind == "worse" and gained > 0:
            kind = "mixed"  # it finds rare classes, which accuracy hardly counts
        said = t(
            f"results.{sentence}_{kind}",
            name=_method_name(one.name),
            chance=Markdown(percent(found.chance)),
            **numbers,
        )
        st.markdown(f"{_ICONS[kind]} {said}")
    for one in outcome.baselines:
        if one.chosen:
            how = "tuned" if one.chosen["folds"] else "untuned"
            places = {"chosen": chosen_text(one.chosen), "folds": one.chosen["folds"]}
            st.caption(t(f"results.{how}", **places))


def _against(
    outcome: RunOutcome, other: Any, found: Comparison
) -> tuple[str, dict[str, float], bool]:
    """The sentence that compares both, its numbers, and whether the model is better."""
    own: Any = outcome.report
    if isinstance(own, RegressionReport):
        errors = {"model": own.mae, "other": other.mae}
        return "number_difference", errors, own.mae < other.mae
    f1, other_f1 = own.macro_f1, other.macro_f1
    if outcome.recipe.get("compared_by") == "macro_f1":
        return "macro_difference", {"model": f1, "other": other_f1}, f1 > other_f1
    rows: dict[str, float] = {"model": found.only_first, "other": found.only_second}
    rows |= {"model_f1": f1, "other_f1": other_f1}
    return "difference", rows, found.only_first > found.only_second


def _show_classes(_: RunOutcome, report: ClassificationReport) -> None:
    """Draws precision and recall with 95 % intervals, the weakest class first."""
    order = np.argsort(np.nan_to_num(report.f1, nan=2.0), kind="stable")
    drawn = order[:_MOST_DRAWN]
    right = np.diag(report.confusion)
    called, true = report.confusion.sum(axis=0), report.confusion.sum(axis=1)
    dots = [
        Dots(
            plain(f"results.{name}"),
            values[drawn],
            intervals[drawn],
            [
                plain("results.right_of", right=right[i], count=whole[i])
                for i in drawn.tolist()
            ],
        )
        for name, values, intervals, whole in (
            ("precision", report.precision, report.precision_intervals, called),
            ("recall", report.recall, report.recall_intervals, true),
        )
    ]
    weakest = int(order[0])
    how = "described" if called[weakest] > 0 else "never_named"
    described = t(
        f"results.classes_{how}",
        label=report.labels[weakest],
        recall=float(np.nan_to_num(report.recall[weakest])),
        precision=float(np.nan_to_num(report.precision[weakest])),
        rows=int(true[weakest]),
    )
    columns = {
        "results.class": report.labels,
        "results.rows": true,
        "results.rows_called": called,
        "results.precision": report.precision.round(4),
        "results.precision_95": _edges(report.precision_intervals),
        "results.recall": report.recall.round(4),
        "results.recall_95": _edges(report.recall_intervals),
        "results.f1": report.f1.round(4),
    }
    show_figure(
        intervals_figure([report.labels[i] for i in drawn.tolist()], dots),
        name="ft_eval_classes",
        description=described,
        columns=columns,
    )
    if len(order) > len(drawn):
        st.caption(t("results.weakest_drawn", count=len(drawn)))
    show_table(columns, described)


def _edges(intervals: np.ndarray) -> list[str]:
    return [interval_text(ends, "interval_short") for ends in intervals]


def _show_confusions(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws the matrix; a click on a cell, or two lists, choose whose rows to show."""
    unit = choose_named("results.unit", _UNITS, "unit", key="ft_eval_unit")
    labels, worst = report.labels, _commonest_mistake(report)
    described = t("results.matrix_no_mistakes")
    if worst is not None:
        described = t(
            "results.matrix_described",
            true=labels[worst[0]],
            said=labels[worst[1]],
            count=int(report.confusion[worst]),
        )
    show_figure(
        confusion_figure(
            report.confusion,
            labels,
            lambda name: plain(f"results.{name}"),
            as_shares=unit == "shares",
        ),
        name=_CLICKED,
        description=described,
        columns={"results.true_class": labels}
        | {
            plain("results.said_as", label=name): counts.tolist()
            for name, counts in zip(labels, report.confusion.T, strict=True)
        },
        on_select=_take_cell,
    )
    true, said = _choose_cell(report, worst or (0, 0))
    indices = report.cell(true, said)
    sure = report.probabilities.max(axis=1)[indices]
    key = "cell_right" if true == said else "cell_wrong"
    names = {"true": labels[true], "said": labels[said]}
    st.markdown(t(f"results.{key}", **names, count=len(indices)))
    if len(indices):
        order = np.argsort(-sure, kind="stable")
        show_rows(outcome, report, indices[order], "cell")


def _choose_cell(report: ClassificationReport, first: tuple[int, int]) -> list[int]:
    """The cell of the two lists; at first the commonest mistake."""
    keys, names = (TRUE, SAID), ("true_class", "said_class")
    answers = [
        choose_linked(
            box.selectbox,
            f"results.{name}",
            {str(index): label for index, label in enumerate(report.labels)},
            str(start),
            key=key,
        )
        for box, key, name, start in zip(st.columns(2), keys, names, first, strict=True)
    ]
    return list(map(int, answers))


def _take_cell() -> None:
    """Puts the cell that was clicked into the two lists. A callback."""
    clicked: Any = st.session_state.get(f"{_CLICKED}_figure")
    points = clicked.selection.points if clicked else []
    if points:
        true, said = points[0]["customdata"]
        st.session_state[TRUE], st.session_state[SAID] = str(true), str(said)


def _commonest_mistake(report: ClassificationReport) -> tuple[int, int] | None:
    """The commonest mistake; `None` where there is none."""
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    if not wrong.any():
        return None
    row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return int(row), int(column)


def _show_calibration(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws how often rows were right against how sure the model was."""
    verdict = _draw_calibration(report, "ft_eval_calibration")
    kept = outcome.recipe.get("temperature")
    if kept:
        places = {"value": kept["value"], "count": kept["validation_rows"]}
        before = kept["calibration_error_before"]
        after = report.calibration.error
        change = t("results.ece_change", before=before, after=after)
        said = in_a_row([t("results.has_temperature", **places), change])
        st.success(said, icon=":material/thermostat:")
    elif verdict in _SCALED and outcome.recipe.get("validation_rows"):
        _offer_temperature(outcome, report)


def _draw_calibration(report: ClassificationReport, name: str) -> str:
    """Draws numbers and the reliability picture; the verdict on them, by its key."""
    found, right = report.calibration, report.accuracy
    sure = float(report.probabilities.max(axis=1).mean())
    shares = {"ece": found.error, "mean_sure": sure, "accuracy": right}
    texts = {f"results.{key}": share_text(shares[key]) for key in shares}
    show_numbers(texts, bins=NUM_BINS)
    # Too sure at one certainty and too modest at another cancel out in the mean.
    verdict = "uneven" if found.error > _NOTABLE_ERROR else "calibrated"
    if abs(sure - right) > _NOTABLE:
        verdict = "too_sure" if sure > right else "too_modest"
    edges = np.linspace(0, 1, NUM_BINS + 1)
    words = words_of("results")
    show_figure(
        calibration_figure(found.counts, found.confidence, found.accuracy, words),
        name=name,
        description=t(f"results.{verdict}", sure=sure, right=right, error=found.error),
        columns={
            "results.low": edges[:-1],
            "results.high": edges[1:],
            "results.rows": found.counts,
            "results.mean_sure": found.confidence,
            "results.accuracy": found.accuracy,
        },
    )
    return verdict


def _offer_temperature(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Fits a temperature when asked to, shows what it does, and keeps it if wanted."""
    st.subheader(t("results.temperature_title"), anchor=False)
    st.markdown(t("results.temperature_intro"))
    count = int(outcome.recipe["validation_rows"])
    found = ask_job(
        "ft_eval_temperature",
        t("results.temperature_fit", count=count),
        ask(fit_temperature).about(outcome.run_id),
        at_once=False,
    )
    if found is None:
        return
    shares = with_temperature(report.probabilities, found.value)
    is_right = report.targets == report.predicted
    calibration = calibrate(shares.max(axis=1), is_right, NUM_BINS)
    scaled = dataclasses.replace(report, probabilities=shares, calibration=calibration)
    places = {"value": found.value, "count": found.num_rows}
    before, after = report.calibration.error, scaled.calibration.error
    change = t("results.ece_change", before=before, after=after)
    found_it = t("results.temperature_found", **places)
    st.markdown(in_a_row([found_it, change]))
    _draw_calibration(scaled, "ft_eval_scaled")
    if not client().trainings.status(outcome.run_id).is_own:
        st.caption(t("results.temperature_of_owner"))
        return
    label = "results.temperature_keep"
    if button(label, "ft_eval_keep_temperature", "thermostat"):
        with shown_to_user(stop=False), model_at_work():
            client().ask(keep_temperature)(outcome.run_id, found)
            forget_models()
            st.rerun()


def _show_threshold(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws a slider for the least certainty, and what it leaves."""
    sure = report.probabilities.max(axis=1)
    # At first one that leaves a fifth of the rows to a person.
    bounds = 0, 100, int(100 * np.quantile(sure, _LEFT_OVER))
    label, key = "results.threshold", THRESHOLD
    least = choose_number(st.slider, label, *bounds, key=key, format="%d%%") / 100
    is_right = report.targets == report.predicted
    chosen = coverage_at(sure, is_right, np.array([least]), report.texts)
    answered, right = float(chosen.coverage[0]), float(chosen.accuracy[0])
    count = round((1 - answered) * len(sure))
    known = share_text(right), interval_text(chosen.intervals[0])
    show_numbers(
        {
            "results.answered": share_text(answered),
            "results.left_over": plain("results.rows_of", count=count),
            "results.right_of_answered": "–" if np.isnan(right) else known,
        }
    )
    thresholds = np.linspace(0, 1, _NUM_THRESHOLDS)
    curve = coverage_at(sure, is_right, thresholds, report.texts)
    shares = curve.thresholds, curve.coverage, curve.accuracy
    places = {"least": least, "answered": answered, "all": report.accuracy}
    show_figure(
        coverage_figure(*shares, least, words_of("results")),
        name="ft_eval_coverage",
        description=t("results.threshold_described", **places),
        columns={
            "results.figure_threshold": curve.thresholds,
            "results.figure_answered": curve.coverage,
            "results.figure_right_of_answered": curve.accuracy,
        },
    )


def _show_mistakes(outcome: RunOutcome, report: ClassificationReport) -> None:
    wrong = report.confidently_wrong(len(report.targets))
    if len(wrong):
        show_rows_to_correct(outcome, report, wrong, "mistakes")
    else:
        st.success(t("results.no_mistakes"), icon=":material/check_circle:")


def _show_residuals(_: RunOutcome, report: RegressionReport) -> None:
    columns = {
        "results.row": report.rows,
        "results.true_number": report.targets,
        "results.said_number": report.predicted,
        "results.residual": report.residuals,
    }
    x_title, y_title = plain("results.true_number"), plain("results.said_number")
    hints = [plain("results.row_number", row=row) for row in report.rows]
    value = {"value": report.r2, "name": report.name}
    show_figure(
        predicted_figure(
            report.targets, report.predicted, hints, x_title=x_title, y_title=y_title
        ),
        name="ft_eval_predicted",
        description=t("results.predicted_described", **value),
        columns=columns,
    )
    mean = float(np.mean(report.residuals))
    bins = min(20, max(4, len(report.rows) // 4))
    key = "residuals_high" if mean > 0 else "residuals_low"
    show_figure(
        histogram_figure(
            *np.histogram(report.residuals, bins),
            x_title=plain("results.residual"),
            y_title=plain("results.figure_rows"),
        ),
        name="ft_eval_residuals",
        description=t(f"results.{key}", value=abs(mean), typical=report.mae),
        columns=columns,
    )


# What each question below the numbers draws; the first one is asked at first.
Panels = dict[str, Callable[[RunOutcome, Any], None]]
CLASS_PANELS: Panels = {
    "baselines": _show_baselines,
    "classes": _show_classes,
    "confusion": _show_confusions,
    "mistakes": _show_mistakes,
    "calibration": _show_calibration,
    "threshold": _show_threshold,
    "runs": show_runs,
}
NUMBER_PANELS: Panels = {
    "baselines": _show_number_baselines,
    "numbers": _show_residuals,
    "largest": lambda outcome, report: show_rows_to_correct(
        outcome, report, report.largest_residuals(len(report.targets)), "largest"
    ),
    "runs": show_runs,
}
