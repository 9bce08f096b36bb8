"""Step 4: how well the model does on rows that it did not learn from."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.finetune.evaluation import ClassificationReport, RegressionReport
from bertviz_core.finetune.outcome import RunOutcome
from pages.fine_tune.baseline_scores import show_baselines, show_number_baselines
from pages.fine_tune.class_scores import show_classes
from pages.fine_tune.confidence import show_calibration, show_threshold
from pages.fine_tune.confusions import show_confusions
from pages.fine_tune.number_scores import show_largest, show_residuals
from pages.fine_tune.result_rows import show_rows
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.steps import offer_step
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.errors import shown_to_user
from pages.shared.language import plain, t
from pages.shared.page_head import model_at_work
from pages.shared.panel import panel, show_numbers

_NUM_MISTAKES = 50


def _show_mistakes(outcome: RunOutcome, report: ClassificationReport) -> None:
    wrong = report.confidently_wrong(len(report.targets))
    if not len(wrong):
        st.success(t("fine_tune_results.no_mistakes"), icon=":material/check_circle:")
        return
    show_rows(outcome, report, wrong, "mistakes", _NUM_MISTAKES)


# What each question below the numbers draws; the first one is asked at first.
CLASS_PANELS: dict[str, Callable[[RunOutcome, ClassificationReport], None]] = {
    "baselines": show_baselines,
    "classes": lambda _, report: show_classes(report),
    "confusion": show_confusions,
    "mistakes": _show_mistakes,
    "calibration": lambda _, report: show_calibration(report),
    "threshold": lambda outcome, report: show_threshold(outcome.run_id, report),
}
NUMBER_PANELS: dict[str, Callable[[RunOutcome, RegressionReport], None]] = {
    "baselines": show_number_baselines,
    "numbers": lambda _, report: show_residuals(report),
    "largest": show_largest,
}


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("fine_tune_results.evaluate_title"), anchor=False)
    st.markdown(t("fine_tune_results.evaluate_intro"))
    with shown_to_user(), model_at_work():
        outcome = ask(training_outcome)(state.run_id)
    if isinstance(outcome.report, ClassificationReport):
        _show_class_numbers(outcome.report)
    else:
        _show_number_numbers(outcome.report)
    _say_epoch(outcome)
    _explore(outcome)
    offer_step("try", "evaluated")


def _say_epoch(outcome: RunOutcome) -> None:
    best, count = (outcome.recipe.get(name) for name in ("best_epoch", "epochs_run"))
    if best and count:
        st.caption(t("fine_tune_results.evaluate_epoch", best=best, count=count))
    if not outcome.recipe.get("read_again", True):
        precision = outcome.recipe["precision"]
        st.info(
            t("fine_tune_results.evaluate_unread", best=best, precision=precision),
            icon=":material/info:",
        )


@panel
def _explore(outcome: RunOutcome) -> None:
    is_classes = isinstance(outcome.report, ClassificationReport)
    chosen = choose_named(
        "fine_tune_results.evaluate_panel",
        list(CLASS_PANELS if is_classes else NUMBER_PANELS),
        "panel",
        key="ft_eval_panel",
        widget=st.pills,
    )
    st.markdown(t(f"fine_tune_results.{chosen}_intro"))
    if isinstance(outcome.report, ClassificationReport):
        CLASS_PANELS[chosen](outcome, outcome.report)
    else:
        NUMBER_PANELS[chosen](outcome, outcome.report)


def _show_class_numbers(report: ClassificationReport) -> None:
    low, high = report.accuracy_interval.tolist()
    low_f1, high_f1 = report.macro_f1_interval.tolist()
    right = int((report.targets == report.predicted).sum())
    count = len(report.targets)
    show_numbers(
        {
            "fine_tune_results.accuracy": (
                plain("fine_tune_results.share", share=report.accuracy),
                plain("fine_tune_results.interval", low=low, high=high),
            ),
            "fine_tune_results.macro_f1": (
                plain("fine_tune_results.share", share=report.macro_f1),
                plain("fine_tune_results.interval", low=low_f1, high=high_f1),
            ),
            "fine_tune_results.rows_right": plain(
                "fine_tune_results.right_of", right=right, count=count
            ),
        }
    )


def _show_number_numbers(report: RegressionReport) -> None:
    low, high = report.mae_interval.tolist()
    show_numbers(
        {
            "fine_tune_results.mae": (
                plain("fine_tune_results.number", value=report.mae),
                plain("fine_tune_results.number_interval", low=low, high=high),
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
