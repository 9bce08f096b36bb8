"""Step 4: how well the model does on rows that it did not learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.figures.bars import histogram_figure
from bertviz_core.figures.evaluation_scores import predicted_figure
from bertviz_core.training.finetune.evaluation import (
    ClassificationReport,
    RegressionReport,
    num_texts,
)
from bertviz_core.training.finetune.outcome import RunOutcome
from pages.fine_tune.baseline_scores import show_baselines, show_number_baselines
from pages.fine_tune.class_scores import (
    show_calibration,
    show_classes,
    show_confusions,
    show_threshold,
)
from pages.fine_tune.compare_runs import show_runs
from pages.fine_tune.mend_rows import show_rows_to_correct
from pages.fine_tune.state import FineTuneState, offer_step
from pages.fine_tune.widgets import choose_panel, interval_text, share_text
from pages.shared.answers import ask
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure
from pages.shared.language import in_a_row, plain, t
from pages.shared.page_head import model_at_work
from pages.shared.panel import panel, show_numbers


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("fine_tune_results.evaluate_title"), anchor=False)
    with shown_to_user(), model_at_work():
        outcome = ask(training_outcome)(state.run_id)
    _say_rows(outcome)
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
            "fine_tune_results.accuracy": (
                share_text(report.accuracy),
                interval_text(report.accuracy_interval),
            ),
            "fine_tune_results.macro_f1": (
                share_text(report.macro_f1),
                interval_text(report.macro_f1_interval),
            ),
            "fine_tune_results.rows_right": plain(
                "fine_tune_results.right_of", right=int(right), count=count
            ),
        }
    )


def _show_number_numbers(report: RegressionReport) -> None:
    show_numbers(
        {
            "fine_tune_results.mae": (
                plain("fine_tune_results.number", value=report.mae),
                interval_text(report.mae_interval, "number_interval"),
            ),
            "fine_tune_results.r2": plain(
                "fine_tune_results.two_digits", value=report.r2
            ),
            "fine_tune_results.rmse": plain(
                "fine_tune_results.number", value=report.rmse
            ),
        },
        count=len(report.targets),
    )


def _say_rows(outcome: RunOutcome) -> None:
    """What the rows were kept for; in trainings of before, they chose the epoch."""
    is_tested = "test_rows" in outcome.recipe
    st.markdown(t(f"fine_tune_results.evaluate_intro{'' if is_tested else '_old'}"))
    count, different = len(outcome.report.targets), num_texts(outcome.report)
    if different < count:
        places = {"count": count, "different": different}
        st.caption(t("fine_tune_results.evaluate_copies", **places))


def _say_epoch(recipe: dict[str, Any]) -> None:
    places = {"best": recipe.get("best_epoch"), "count": recipe.get("epochs_run")}
    said = []
    if step := recipe.get("stopped_at_step"):
        said.append(t("fine_tune_results.evaluate_stopped", step=step))
    if all(places.values()):
        # Older recipes always had rows to choose by.
        how = "epoch" if recipe.get("validation_rows", 1) else "last_epoch"
        said.append(t(f"fine_tune_results.evaluate_{how}", **places))
    if said:
        st.caption(in_a_row(said))


@panel
def _explore(outcome: RunOutcome) -> None:
    is_classes = isinstance(outcome.report, ClassificationReport)
    panels = CLASS_PANELS if is_classes else NUMBER_PANELS
    label = "fine_tune_results.evaluate_panel"
    chosen = choose_panel(label, panels, "ft_eval_panel")
    st.markdown(t(f"fine_tune_results.{chosen}_intro"))
    panels[chosen](outcome, outcome.report)


def _show_mistakes(outcome: RunOutcome, report: ClassificationReport) -> None:
    wrong = report.confidently_wrong(len(report.targets))
    if len(wrong):
        show_rows_to_correct(outcome, report, wrong, "mistakes")
    else:
        st.success(t("fine_tune_results.no_mistakes"), icon=":material/check_circle:")


def _show_largest(outcome: RunOutcome, report: RegressionReport) -> None:
    order = report.largest_residuals(len(report.targets))
    show_rows_to_correct(outcome, report, order, "largest")


def _show_residuals(_: RunOutcome, report: RegressionReport) -> None:
    columns = {
        "fine_tune_results.row": report.rows,
        "fine_tune_results.true_number": report.targets,
        "fine_tune_results.said_number": report.predicted,
        "fine_tune_results.residual": report.residuals,
    }
    x_title, y_title = (
        plain(f"fine_tune_results.{name}") for name in ("true_number", "said_number")
    )
    hints = [plain("fine_tune_results.row_number", row=row) for row in report.rows]
    value = {"value": report.r2, "name": report.name}
    show_figure(
        predicted_figure(
            report.targets, report.predicted, hints, x_title=x_title, y_title=y_title
        ),
        name="ft_eval_predicted",
        description=t("fine_tune_results.predicted_described", **value),
        columns=columns,
    )
    mean = float(np.mean(report.residuals))
    bins = min(20, max(4, len(report.rows) // 4))
    key = "residuals_high" if mean > 0 else "residuals_low"
    show_figure(
        histogram_figure(
            *np.histogram(report.residuals, bins),
            x_title=plain("fine_tune_results.residual"),
            y_title=plain("fine_tune_results.figure_rows"),
        ),
        name="ft_eval_residuals",
        description=t(f"fine_tune_results.{key}", value=abs(mean), typical=report.mae),
        columns=columns,
    )


# What each question below the numbers draws; the first one is asked at first.
Panels = dict[str, Callable[[RunOutcome, Any], None]]
CLASS_PANELS: Panels = {
    "baselines": show_baselines,
    "classes": show_classes,
    "confusion": show_confusions,
    "mistakes": _show_mistakes,
    "calibration": show_calibration,
    "threshold": show_threshold,
    "runs": show_runs,
}
NUMBER_PANELS: Panels = {
    "baselines": show_number_baselines,
    "numbers": _show_residuals,
    "largest": _show_largest,
    "runs": show_runs,
}
