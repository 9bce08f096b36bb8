"""Step 4: how well the model does on rows that it did not learn from."""

from __future__ import annotations

import streamlit as st

from bertviz_core.finetune.evaluation import ClassificationReport, RegressionReport
from bertviz_core.finetune.outcome import RunOutcome
from pages.ui.address import choose_linked
from pages.ui.errors import shown_to_user
from pages.ui.fine_tune.baseline_scores import show_baselines, show_number_baselines
from pages.ui.fine_tune.class_scores import show_classes
from pages.ui.fine_tune.confidence import show_calibration, show_threshold
from pages.ui.fine_tune.confusions import show_confusions
from pages.ui.fine_tune.number_scores import show_largest, show_numbers
from pages.ui.fine_tune.result_answers import training_outcome
from pages.ui.fine_tune.result_rows import show_rows
from pages.ui.fine_tune.state import FineTuneState
from pages.ui.fine_tune.steps import offer_step
from pages.ui.head import model_at_work
from pages.ui.language import plain, t

CLASS_PANELS = (
    "baselines",
    "classes",
    "confusion",
    "mistakes",
    "calibration",
    "threshold",
)
NUMBER_PANELS = ("baselines", "numbers", "largest")
_NUM_MISTAKES = 50


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`.

    Args:
        state: its `run_id` is that of a run that has left a model.
    """
    st.header(t("fine_tune_results.evaluate_title"), anchor=False)
    st.markdown(t("fine_tune_results.evaluate_intro"))
    with shown_to_user(), model_at_work():
        outcome = training_outcome(state.run_id)
    if isinstance(outcome.report, ClassificationReport):
        _show_class_numbers(outcome.report)
        panels: tuple[str, ...] = CLASS_PANELS
    else:
        _show_number_numbers(outcome.report)
        panels = NUMBER_PANELS
    _say_epoch(outcome)
    _explore(outcome, panels)
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


@st.fragment
def _explore(outcome: RunOutcome, panels: tuple[str, ...]) -> None:
    panel = choose_linked(
        st.pills,
        t("fine_tune_results.evaluate_panel"),
        panels,
        key="ft_eval_panel",
        required=True,
        format_func=lambda name: plain(f"fine_tune_results.panel_{name}"),
    )
    st.markdown(t(f"fine_tune_results.{panel}_intro"))
    with shown_to_user(), model_at_work(at_start_only=True):
        if isinstance(outcome.report, ClassificationReport):
            _show_class_panel(panel, outcome, outcome.report)
        else:
            _show_number_panel(panel, outcome, outcome.report)


def _show_class_panel(
    panel: str, outcome: RunOutcome, report: ClassificationReport
) -> None:
    if panel == "baselines":
        show_baselines(outcome, report)
    elif panel == "classes":
        show_classes(report)
    elif panel == "confusion":
        show_confusions(outcome, report)
    elif panel == "mistakes":
        _show_mistakes(outcome, report)
    elif panel == "calibration":
        show_calibration(report)
    else:
        show_threshold(outcome.run_id, report)


def _show_number_panel(
    panel: str, outcome: RunOutcome, report: RegressionReport
) -> None:
    if panel == "baselines":
        show_number_baselines(outcome, report)
    elif panel == "numbers":
        show_numbers(report)
    else:
        show_largest(outcome, report)


def _show_mistakes(outcome: RunOutcome, report: ClassificationReport) -> None:
    wrong = report.confidently_wrong(len(report.targets))
    if not len(wrong):
        st.success(t("fine_tune_results.no_mistakes"), icon=":material/check_circle:")
        return
    show_rows(outcome, report, wrong, "mistakes", _NUM_MISTAKES)


def _show_class_numbers(report: ClassificationReport) -> None:
    boxes = st.columns(3)
    low, high = report.accuracy_interval.tolist()
    low_f1, high_f1 = report.macro_f1_interval.tolist()
    boxes[0].metric(
        t("fine_tune_results.accuracy"),
        plain("fine_tune_results.share", share=report.accuracy),
        plain("fine_tune_results.interval", low=low, high=high),
        delta_color="off",
        delta_arrow="off",
        help=t("fine_tune_results.accuracy_help"),
    )
    boxes[1].metric(
        t("fine_tune_results.macro_f1"),
        plain("fine_tune_results.share", share=report.macro_f1),
        plain("fine_tune_results.interval", low=low_f1, high=high_f1),
        delta_color="off",
        delta_arrow="off",
        help=t("fine_tune_results.macro_f1_help"),
    )
    right = int((report.targets == report.predicted).sum())
    boxes[2].metric(
        t("fine_tune_results.rows_right"),
        plain("fine_tune_results.right_of", right=right, count=len(report.targets)),
        help=t("fine_tune_results.rows_right_help"),
    )


def _show_number_numbers(report: RegressionReport) -> None:
    low, high = report.mae_interval.tolist()
    boxes = st.columns(3)
    boxes[0].metric(
        t("fine_tune_results.mae"),
        plain("fine_tune_results.number", value=report.mae),
        plain("fine_tune_results.number_interval", low=low, high=high),
        delta_color="off",
        delta_arrow="off",
        help=t("fine_tune_results.mae_help"),
    )
    boxes[1].metric(
        t("fine_tune_results.r2"),
        plain("fine_tune_results.two_digits", value=report.r2),
        help=t("fine_tune_results.r2_help"),
    )
    boxes[2].metric(
        t("fine_tune_results.rmse"),
        plain("fine_tune_results.number", value=report.rmse),
        help=t("fine_tune_results.rmse_help", count=len(report.targets)),
    )
