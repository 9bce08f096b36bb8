"""A run while it goes and after its end: progress, curves, log, what can be done."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from bertviz_core.finetune.training_status import TrainingStatus
from pages.fine_tune.progress import (
    metric_name,
    show_curves,
    show_schedule_so_far,
)
from pages.fine_tune.state import FineTuneState, change, go_to
from pages.fine_tune.steps import offer_step, peek_step
from pages.fine_tune.wording import choice_name, duration, lease, say
from pages.shared.engine import client
from pages.shared.errors import sentence, shown_to_user
from pages.shared.file_download import file_link
from pages.shared.language import in_a_row, plain, t
from pages.shared.markdown import table

_POLL_SECONDS = 1.5
_LOG_HEIGHT = 220  # pixels
# Endings that leave a run which can go on from its last epoch.
_RESUMABLE = ("failed", "interrupted")
# What follows the training and can be left out: the word on the button.
_EXTRAS = {"evaluate": "stop_reading", "compare": "stop_compare"}
# Key of the session: the run that a visitor has stopped.
_STOPPED = "ft_stopped"
_NOT_SHOWN = ("level", "num_top_layers", "epoch_factor")


def show_run(state: FineTuneState) -> None:
    """Draws the run of the state."""
    if state.run_problem is not None:
        with shown_to_user(stop=False):
            raise state.run_problem
        _offer_another(t("fine_tune.start_anew"))
        return
    status = state.status
    if status is None:
        return
    is_of_other = bool(state.table) and not status.request.is_of(state.table)
    if is_of_other:
        title = status.request.title or plain("fine_tune.your_table")
        st.info(t("fine_tune.other_table", title=title), icon=":material/info:")
        _offer_another(t("fine_tune.train_this_table"))
    if not status.is_finished:
        st.markdown(t("fine_tune.run_goes_on", time=lease()))
        _watch(status.run_id)
        return
    _show_ending(status)
    _show_numbers(status)
    show_curves(status)
    _show_log(status)
    _show_settings(status)
    if status.has_model:
        offer_step("evaluate", "train")
    if not is_of_other:
        _offer_another(t("fine_tune.train_again"))


@st.fragment(run_every=_POLL_SECONDS)
def _watch(run_id: str) -> None:
    """Asks how far the run is; that also says that somebody waits for it."""
    with shown_to_user():
        status = client().training(run_id)
    if status.is_finished:
        st.rerun()
    _show_place(status)
    # Who has stopped the training waits for the report.
    is_over = status.phase in _EXTRAS and status.ending == "asked"
    if status.phase != "pack" and not is_over:
        _offer_stop(status)
    _show_numbers(status)
    show_curves(status)
    show_schedule_so_far(status)
    _show_log(status)
    _show_settings(status)


def lead_on_after_stop(state: FineTuneState) -> None:
    """Opens the next step when the run that was stopped here has left its best.

    Call it before the row of steps is drawn.
    """
    if state.status is None or not state.status.is_finished:
        return
    was_stopped = st.session_state.pop(_STOPPED, "") == state.run_id
    if was_stopped and state.is_trained and peek_step() == "train":
        ending = state.status.ending or "asked"
        st.toast(t(f"fine_tune.ended_{ending}"), icon=":material/check_circle:")
        go_to("evaluate")


def _offer_stop(status: TrainingStatus) -> None:
    extra = _EXTRAS.get(status.phase)
    name = extra or ("stop" if status.best_epoch else "stop_early")
    stop = st.button(
        t(f"fine_tune.{name}"),
        key="ft_stop",
        icon=":material/stop_circle:",
        help=t(f"fine_tune.{extra or 'stop'}_help"),
    )
    if stop:
        with shown_to_user(stop=False):
            client().stop_training(status.run_id)
            st.session_state[_STOPPED] = status.run_id
            st.info(t("fine_tune.stopping"), icon=":material/hourglass_top:")


def _show_place(status: TrainingStatus) -> None:
    if status.state == "waiting":
        st.info(
            t("fine_tune.waiting", place=status.place), icon=":material/hourglass_top:"
        )
        return
    text = t(f"fine_tune.phase_{status.phase or 'read'}")
    if status.phase == "train":
        text = t(
            "fine_tune.training_now",
            step=status.step,
            steps=status.num_steps,
            epoch=status.epoch,
            epochs=status.num_epochs,
        )
    st.progress(min(1.0, max(0.0, status.fraction)), text)


def _show_ending(status: TrainingStatus) -> None:
    if status.has_model:
        key = "stopped" if status.state == "stopped" else status.ending or "finished"
        st.success(t(f"fine_tune.ended_{key}"), icon=":material/check_circle:")
        return
    if status.state == "stopped":
        st.info(t("fine_tune.ended_without_model"), icon=":material/stop_circle:")
    elif status.state == "interrupted":
        key = "interrupted" if status.has_epoch else "interrupted_early"
        st.warning(t(f"fine_tune.ended_{key}"), icon=":material/power_off:")
    else:
        st.error(t("fine_tune.ended_failed"), icon=":material/error:")
    if status.error is not None:
        st.markdown(sentence(status.error.template, status.error.details))
    if status.state in _RESUMABLE and st.button(
        t("fine_tune.resume" if status.has_epoch else "fine_tune.resume_anew"),
        key="ft_resume",
        icon=":material/resume:",
    ):
        with shown_to_user(stop=False):
            client().resume_training(status.run_id)
            st.rerun()
    if status.has_log:
        # The disk that ended the run may have no room for the packed log, either.
        with shown_to_user(stop=False):
            _offer_log(status)


def _offer_log(status: TrainingStatus) -> None:
    """Draws the way to the curves of a run that has left no model."""
    file_link(
        t("fine_tune.download_log"),
        Path(client().training_log(status.run_id)),
        name=plain("fine_tune.log_file"),
        key="ft_run_log",
        icon=":material/monitoring:",
    )


def _show_numbers(status: TrainingStatus) -> None:
    if status.num_restarts:
        said = [t("fine_tune.restarted", count=status.num_restarts)]
        if status.resumed_epoch:
            said.append(t("fine_tune.went_on", epoch=status.resumed_epoch))
        elif status.resumed_epoch == 0:
            said.append(t("fine_tune.began_anew"))
        st.info(in_a_row(said), icon=":material/restart_alt:")
    boxes = st.columns(4)
    boxes[0].metric(
        t("fine_tune.epoch"),
        f"{status.epoch} / {status.num_epochs}" if status.num_epochs else "–",
    )
    left = status.seconds_left
    if status.is_finished:
        boxes[1].metric(t("fine_tune.took"), duration(status.seconds))
    else:
        time = "–" if left is None else duration(left)
        boxes[1].metric(
            t("fine_tune.time_left"), time, help=t("fine_tune.time_left_help")
        )
    rates = status.learning_rates
    rate = f"{rates[-1]:.3g}" if len(rates) else "–"
    boxes[2].metric(t("fine_tune.option_learning_rate"), rate)
    if status.best_epoch:
        boxes[3].metric(
            t("fine_tune.best_so_far", name=metric_name(status)),
            plain("fine_tune.score", value=status.metrics[status.best_epoch - 1]),
            t("fine_tune.of_epoch", epoch=status.best_epoch),
            delta_color="off",
            delta_arrow="off",
            help=t(f"fine_tune.metric_{status.metric_name}_help"),
        )


def _show_log(status: TrainingStatus) -> None:
    if not status.log:
        return
    st.markdown(f"**{t('fine_tune.log')}**")
    with st.container(height=_LOG_HEIGHT, key="ft_log"):
        st.markdown(
            "\n".join(
                f"- {_clock(entry.seconds)} {say(entry.sentence)}"
                for entry in reversed(status.log)
            )
        )


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _show_settings(status: TrainingStatus) -> None:
    request = status.request
    with st.expander(t("fine_tune.settings_of_run")):
        level = plain(f"fine_tune.level_{request.settings.level}")
        rows = [[plain("fine_tune.column_level"), level]]
        rows += [
            [plain(f"fine_tune.option_{name}"), _value(name, value)]
            for name, value in request.settings.to_dict().items()
            if name not in _NOT_SHOWN
        ]
        header = [plain("fine_tune.setting"), plain("fine_tune.value")]
        st.markdown(table(header, rows))


def _value(name: str, value: object) -> str:
    if isinstance(value, str):
        return choice_name(name, value)
    if isinstance(value, bool):
        return plain(f"fine_tune.{'yes' if value else 'no'}")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _offer_another(label: str) -> None:
    st.button(
        label,
        key="ft_again",
        icon=":material/refresh:",
        on_click=change,
        kwargs={"run_id": ""},
    )
