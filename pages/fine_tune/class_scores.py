"""Class by class: how well, which is taken for which, and how sure the model is."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetuned_tasks import fit_temperature, keep_temperature
from bertviz_core.figures.evaluation_matrix import confusion_figure
from bertviz_core.figures.evaluation_scores import (
    Dots,
    calibration_figure,
    coverage_figure,
    intervals_figure,
)
from bertviz_core.training.finetune.evaluation import (
    NUM_BINS,
    ClassificationReport,
    coverage_at,
    evaluate_classes,
)
from bertviz_core.training.finetune.outcome import RunOutcome
from bertviz_core.training.finetune.temperature import with_temperature
from pages.fine_tune.state import SAID, THRESHOLD, TRUE
from pages.fine_tune.widgets import interval_text, share_text, show_rows
from pages.shared.answers import ask, forget_models
from pages.shared.choices import choose_linked, choose_named, choose_number
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.export import Columns, show_figure, show_table
from pages.shared.jobs import ask_job
from pages.shared.language import in_a_row, plain, t, words_of
from pages.shared.page_head import model_at_work
from pages.shared.panel import button, show_numbers

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
_STEPS = 201
_LEFT_OVER = 0.2


def show_classes(_: RunOutcome, report: ClassificationReport) -> None:
    """Draws precision and recall with 95 % intervals, the weakest class first."""
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
    how = "described" if called[weakest] > 0 else "never_named"
    described = t(
        f"fine_tune_results.classes_{how}",
        label=report.labels[weakest],
        recall=float(np.nan_to_num(report.recall[weakest])),
        precision=float(np.nan_to_num(report.precision[weakest])),
        rows=int(true[weakest]),
    )
    columns = {
        "fine_tune_results.class": report.labels,
        "fine_tune_results.rows": true,
        "fine_tune_results.rows_called": called,
        "fine_tune_results.precision": report.precision.round(4),
        "fine_tune_results.precision_95": _edges(report.precision_intervals),
        "fine_tune_results.recall": report.recall.round(4),
        "fine_tune_results.recall_95": _edges(report.recall_intervals),
        "fine_tune_results.f1": report.f1.round(4),
    }
    show_figure(
        intervals_figure([report.labels[i] for i in drawn.tolist()], dots),
        name="ft_eval_classes",
        description=described,
        columns=columns,
    )
    if len(order) > len(drawn):
        st.caption(t("fine_tune_results.weakest_drawn", count=len(drawn)))
    show_table(columns, described)


def _edges(intervals: np.ndarray) -> list[str]:
    return [interval_text(ends, "interval_short") for ends in intervals]


def show_confusions(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws the matrix; a click on a cell, or two lists, choose whose rows to show."""
    unit = choose_named("fine_tune_results.unit", _UNITS, "unit", key="ft_eval_unit")
    labels, worst = report.labels, _worst(report)
    described = t("fine_tune_results.matrix_no_mistakes")
    if worst is not None:
        described = t(
            "fine_tune_results.matrix_described",
            true=labels[worst[0]],
            said=labels[worst[1]],
            count=int(report.confusion[worst]),
        )
    show_figure(
        confusion_figure(
            report.confusion,
            labels,
            lambda name: plain(f"fine_tune_results.{name}"),
            as_shares=unit == "shares",
        ),
        name=_CLICKED,
        description=described,
        columns=_matrix(report),
        on_select=_take_cell,
    )
    true, said = _choose_cell(report, worst or (0, 0))
    indices = report.cell(true, said)
    sure = report.probabilities.max(axis=1)[indices]
    key = "cell_right" if true == said else "cell_wrong"
    names = {"true": labels[true], "said": labels[said]}
    st.markdown(t(f"fine_tune_results.{key}", **names, count=len(indices)))
    if len(indices):
        order = np.argsort(-sure, kind="stable")
        show_rows(outcome, report, indices[order], "cell")


def _choose_cell(report: ClassificationReport, first: tuple[int, int]) -> list[int]:
    """The cell of the two lists; at first the commonest mistake."""
    keys, names = (TRUE, SAID), ("true_class", "said_class")
    answers = [
        choose_linked(
            box.selectbox,
            f"fine_tune_results.{name}",
            [str(index) for index in range(len(report.labels))],
            str(start),
            key=key,
            format_func=lambda option: report.labels[int(option)],
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


def _worst(report: ClassificationReport) -> tuple[int, int] | None:
    """The commonest mistake; `None` where there is none."""
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    if not wrong.any():
        return None
    row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return int(row), int(column)


def _matrix(report: ClassificationReport) -> Columns:
    table: dict[str, Any] = {"fine_tune_results.true_class": report.labels}
    for name, counts in zip(report.labels, report.confusion.T, strict=True):
        column = plain("fine_tune_results.said_as", label=name)
        table[column] = counts.tolist()
    return table


def show_calibration(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws how often rows were right against how sure the model was."""
    verdict = _draw_calibration(report, "ft_eval_calibration")
    kept = outcome.recipe.get("temperature")
    if kept:
        places = {"value": kept["value"], "count": kept["validation_rows"]}
        before = kept["calibration_error_before"]
        after = report.calibration.error
        change = t("fine_tune_results.ece_change", before=before, after=after)
        said = in_a_row([t("fine_tune_results.has_temperature", **places), change])
        st.success(said, icon=":material/thermostat:")
    elif verdict in _SCALED and outcome.recipe.get("validation_rows"):
        _offer_temperature(outcome, report)


def _draw_calibration(report: ClassificationReport, name: str) -> str:
    """Draws numbers and the reliability picture; the verdict on them, by its key."""
    found, right = report.calibration, report.accuracy
    sure = float(report.probabilities.max(axis=1).mean())
    shares = {"ece": found.error, "mean_sure": sure, "accuracy": right}
    texts = {f"fine_tune_results.{key}": share_text(shares[key]) for key in shares}
    show_numbers(texts, bins=NUM_BINS)
    verdict = _verdict(sure - right, found.error)
    edges = np.linspace(0, 1, NUM_BINS + 1)
    words = words_of("fine_tune_results")
    show_figure(
        calibration_figure(found.counts, found.confidence, found.accuracy, words),
        name=name,
        description=t(
            f"fine_tune_results.{verdict}", sure=sure, right=right, error=found.error
        ),
        columns={
            "fine_tune_results.low": edges[:-1],
            "fine_tune_results.high": edges[1:],
            "fine_tune_results.rows": found.counts,
            "fine_tune_results.mean_sure": found.confidence,
            "fine_tune_results.accuracy": found.accuracy,
        },
    )
    return verdict


def _offer_temperature(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Fits a temperature when asked to, shows what it does, and keeps it if wanted."""
    st.subheader(t("fine_tune_results.temperature_title"), anchor=False)
    st.markdown(t("fine_tune_results.temperature_intro"))
    count = int(outcome.recipe["validation_rows"])
    found = ask_job(
        "ft_eval_temperature",
        t("fine_tune_results.temperature_fit", count=count),
        ask(fit_temperature).about(outcome.run_id),
        at_once=False,
    )
    if found is None:
        return
    scaled = evaluate_classes(
        report.labels,
        report.targets,
        with_temperature(report.probabilities, found.value),
        report.rows,
        report.texts,
    )
    places = {"value": found.value, "count": found.num_rows}
    before, after = report.calibration.error, scaled.calibration.error
    change = t("fine_tune_results.ece_change", before=before, after=after)
    found_it = t("fine_tune_results.temperature_found", **places)
    st.markdown(in_a_row([found_it, change]))
    _draw_calibration(scaled, "ft_eval_scaled")
    if not client().trainings.status(outcome.run_id).is_own:
        st.caption(t("fine_tune_results.temperature_of_owner"))
        return
    label = t("fine_tune_results.temperature_keep")
    help_of_it = t("fine_tune_results.temperature_keep_help")
    if button(label, "ft_eval_keep_temperature", "thermostat", help=help_of_it):
        with shown_to_user(stop=False), model_at_work():
            client().ask(keep_temperature)(outcome.run_id, found)
            forget_models()
            st.rerun()


def _verdict(gap: float, error: float) -> str:
    """The sentence that the chart bears out, by its key."""
    if abs(gap) > _NOTABLE:
        return "too_sure" if gap > 0 else "too_modest"
    # Too sure at one certainty and too modest at another cancel out in the mean.
    return "uneven" if error > _NOTABLE_ERROR else "calibrated"


def show_threshold(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws a slider for the least certainty, and what it leaves."""
    sure = report.probabilities.max(axis=1)
    least = _choose_threshold(sure)
    is_right = report.targets == report.predicted
    chosen = coverage_at(sure, is_right, np.array([least]), report.texts)
    answered, right = float(chosen.coverage[0]), float(chosen.accuracy[0])
    count = round((1 - answered) * len(sure))
    known = share_text(right), interval_text(chosen.intervals[0])
    show_numbers(
        {
            "fine_tune_results.answered": share_text(answered),
            "fine_tune_results.left_over": plain(
                "fine_tune_results.rows_of", count=count
            ),
            "fine_tune_results.right_of_answered": "–" if np.isnan(right) else known,
        }
    )
    curve = coverage_at(sure, is_right, np.linspace(0, 1, _STEPS), report.texts)
    shares = curve.thresholds, curve.coverage, curve.accuracy
    places = {"least": least, "answered": answered, "all": report.accuracy}
    show_figure(
        coverage_figure(*shares, least, words_of("fine_tune_results")),
        name="ft_eval_coverage",
        description=t("fine_tune_results.threshold_described", **places),
        columns={
            "fine_tune_results.figure_threshold": curve.thresholds,
            "fine_tune_results.figure_answered": curve.coverage,
            "fine_tune_results.figure_right_of_answered": curve.accuracy,
        },
    )


def _choose_threshold(sure: np.ndarray) -> float:
    """At first a threshold that leaves a fifth of the rows to a person."""
    usual = int(100 * np.quantile(sure, _LEFT_OVER))
    percent = choose_number(
        st.slider,
        "fine_tune_results.threshold",
        0,
        100,
        usual,
        format="%d%%",
        key=THRESHOLD,
    )
    return percent / 100
