"""A run while it goes and after its end: progress, curves, log, what can be done."""

from pathlib import Path

import numpy as np
import streamlit as st

from bertviz_core.analysis.smoothing import running_mean, spread_out
from bertviz_core.figures.finetune_progress import (
    MAX_POINTS,
    loss_figure,
    metric_figure,
    schedule_figure,
)
from bertviz_core.training.finetune.request import RESUMABLE, TrainingStatus
from bertviz_core.training.finetune.settings import (
    FinetuneSettings,
    count_steps,
    learning_rates,
    steps_per_epoch,
)
from bertviz_core.visitor_files import reading_name
from pages.fine_tune.state import FineTuneState, go_to, offer_step, peek_step, remember
from pages.fine_tune.widgets import duration, lease, say
from pages.shared.engine import client
from pages.shared.errors import sentence, show_error, shown_to_user
from pages.shared.export import show_figure
from pages.shared.file_download import file_link
from pages.shared.language import in_a_row, plain, t, table, words_of
from pages.shared.panel import button, panel, show_number

_POLL_SECONDS = 1.5
_LOG_HEIGHT = 220  # pixels
# Key of the session: the run that a visitor has stopped.
_STOPPED = "ft_stopped"


def show_run(state: FineTuneState) -> None:
    """Draws the run of the state."""
    if state.run_problem is not None:
        show_error(state.run_problem)
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
        if status.is_own:
            st.markdown(t("fine_tune.run_goes_on", time=lease()))
        share(status)
        panel(_watch, _POLL_SECONDS)(status.run_id)
        return
    _show_ending(status)
    share(status)
    _show_results(status)
    if status.state in RESUMABLE:
        panel(_follow, _POLL_SECONDS)(status.run_id)
    if status.has_model:
        offer_step("evaluate", "train")
    if not is_of_other:
        _offer_another(t("fine_tune.train_again"))


def _follow(run_id: str) -> None:
    """Draws the page anew once another tab has let the run go on."""
    if not client().trainings.status(run_id).is_finished:
        st.rerun()


def share(status: TrainingStatus) -> None:
    """Offers a link by which others see all and change nothing, or says it is one."""
    if not status.is_own:
        st.caption(t("fine_tune.reading_only"))
        return
    with st.popover(t("fine_tune.share"), icon=":material/share:"):
        st.markdown(t("fine_tune.share_explained", time=lease()))
        step = "try" if status.has_model else "train"
        link = f"?ft_run_id={reading_name(status.run_id)}&ft_step={step}"
        st.code(f"{st.context.url or ''}{link}", language=None, wrap_lines=True)


def _watch(run_id: str) -> None:
    """Asks how far the run is; that also says that somebody waits for it."""
    status = client().trainings.status(run_id)
    if status.is_finished:
        st.rerun()
    _show_place(status)
    are_steps_over = status.phase in ("evaluate", "pack")
    if status.is_own and not are_steps_over:
        _offer_stop(status)
    _show_results(status)


def _show_results(status: TrainingStatus) -> None:
    """Draws what is known of a run, as far as it is."""
    _show_numbers(status)
    if len(status.curve):
        loss_box, metric_box = st.columns(2)
        with loss_box:
            _show_loss(status)
        with metric_box:
            if status.metric_name and status.epochs:
                _show_metric(status)
            else:
                is_chosen = status.metric_name or not status.num_steps
                key = "no_epoch_yet" if is_chosen else "no_choice"
                st.caption(t(f"fine_tune.{key}"))
    if not status.is_finished and status.step and status.num_epochs:
        settings = status.request.settings
        in_epoch = status.num_steps // status.num_epochs
        show_schedule(settings, in_epoch * settings.batch_size, status.step)
    if status.log:
        st.markdown(f"**{t('fine_tune.log')}**")
        with st.container(height=_LOG_HEIGHT, key="ft_log"):
            lines = [
                f"- {int(seconds) // 60}:{int(seconds) % 60:02d} "
                + say((template, details))
                for seconds, template, details in reversed(status.log)
            ]
            st.markdown("\n".join(lines))
    _show_settings(status.request.settings)


def lead_on_after_stop(state: FineTuneState) -> None:
    """Opens the next step when the run that was stopped here has left its best.

    Call it before the row of steps is drawn.
    """
    if state.status is None or not state.status.is_finished:
        return
    was_stopped = st.session_state.pop(_STOPPED, "") == state.run_id
    if was_stopped and state.is_trained and peek_step(state) == "train":
        ending = state.status.ending or "asked"
        st.toast(t(f"fine_tune.ended_{ending}"), icon=":material/check_circle:")
        go_to("evaluate")


def _offer_stop(status: TrainingStatus) -> None:
    run_id, said = status.run_id, t("fine_tune.stop_help")
    label = t(f"fine_tune.{'stop' if status.best_epoch else 'stop_early'}")
    button(label, "ft_stop", "stop_circle", _stop, run_id, help=said)
    if st.session_state.get(_STOPPED) == run_id:
        st.info(t("fine_tune.stopping"), icon=":material/hourglass_top:")


def _stop(run_id: str) -> None:
    with shown_to_user(stop=False):
        client().trainings.stop(run_id)
        st.session_state[_STOPPED] = run_id


def _show_place(status: TrainingStatus) -> None:
    if status.state == "waiting":
        said = t("fine_tune.waiting", place=status.place)
        st.info(said, icon=":material/hourglass_top:")
        return
    text = t(f"fine_tune.phase_{status.phase or 'read'}")
    if status.phase == "train":
        places = {"step": status.step, "steps": status.num_steps, "epoch": status.epoch}
        text = t("fine_tune.training_now", **places, epochs=status.num_epochs)
    st.progress(min(1.0, max(0.0, status.fraction)), text)


def _show_ending(status: TrainingStatus) -> None:
    if status.has_model and status.state in ("done", "stopped"):
        key = "stopped" if status.state == "stopped" else status.ending or "finished"
        st.success(t(f"fine_tune.ended_{key}"), icon=":material/check_circle:")
        _offer_to_go_on(status)
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
    _offer_to_go_on(status)
    offer_log(status, "ft_run_log")


def offer_log(status: TrainingStatus, key: str) -> None:
    """Draws a link to the curves of a run, where it keeps them."""
    if status.has_log:
        # The disk that ended a run may have no room for the packed log, either.
        with shown_to_user(stop=False):
            file_link(
                "results.download_log",
                Path(client().trainings.log(status.run_id)),
                plain("results.log_file", name=file_stem(status)),
                key,
                "monitoring",
            )


def file_stem(status: TrainingStatus) -> str:
    """What files of a run are called."""
    title = status.request.title or "bert-fine-tuned"
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in Path(title).stem)
    return stem.strip("-")[:60] or "bert-fine-tuned"


def _offer_to_go_on(status: TrainingStatus) -> None:
    if not status.can_go_on:
        return
    name = "resume" if status.has_epoch else "resume_anew"
    said = None
    if status.has_epoch and status.state == "stopped":
        name, said = "go_on", t("fine_tune.go_on_help", step=status.step)
    label = t(f"fine_tune.{name}")
    button(label, "ft_resume", "resume", _resume, status.run_id, help=said)


def _resume(run_id: str) -> None:
    with shown_to_user(stop=False):
        client().trainings.resume(run_id)


def _show_numbers(status: TrainingStatus) -> None:
    if status.num_restarts:
        said = [t("fine_tune.restarted", count=status.num_restarts)]
        if status.resumed_epoch:
            said.append(t("fine_tune.went_on", epoch=status.resumed_epoch))
        elif status.resumed_epoch == 0:
            said.append(t("fine_tune.began_anew"))
        st.info(in_a_row(said), icon=":material/restart_alt:")
    if status.bar is not None:
        st.info(say(status.bar), icon=":material/flag:")
    boxes = st.columns(4)
    epochs = f"{status.epoch} / {status.num_epochs}" if status.num_epochs else "–"
    boxes[0].metric(t("fine_tune.epoch"), epochs)
    left = status.seconds_left
    if status.is_finished:
        boxes[1].metric(t("fine_tune.took"), duration(status.seconds))
    else:
        time, said_of_it = t("fine_tune.time_left"), t("fine_tune.time_left_help")
        shown = "–" if left is None else duration(left)
        boxes[1].metric(time, shown, help=said_of_it)
    curve = status.curve
    rate = f"{curve[-1, 2]:.3g}" if len(curve) else "–"
    boxes[2].metric(t("fine_tune.option_learning_rate"), rate)
    if status.best_epoch and status.metric_name:
        show_number(
            boxes[3],
            t("fine_tune.best_so_far", name=_metric_name(status)),
            plain("fine_tune.score", value=status.epochs[status.best_epoch - 1][3]),
            t("fine_tune.of_epoch", epoch=status.best_epoch),
            t(f"fine_tune.metric_{status.metric_name}_help"),
        )


def _metric_name(status: TrainingStatus) -> str:
    return plain(f"fine_tune.metric_{status.metric_name}")


def _show_loss(status: TrainingStatus) -> None:
    numbers, losses, rates = status.curve.T
    steps, smooth = numbers.astype(int), running_mean(losses)
    judged = status.judged[:, 0].astype(int), status.judged[:, 2]
    words = words_of("fine_tune")
    places = {"step": int(steps[-1]), "first": float(losses[0])}
    show_figure(
        loss_figure(steps, losses, *judged, words),
        name="fine_tune_loss",
        description=t("fine_tune.loss_described", **places, last=float(smooth[-1])),
        columns={
            "fine_tune.figure_step": steps,
            "fine_tune.figure_loss": losses,
            "fine_tune.figure_smooth": smooth,
            "fine_tune.figure_learning_rate": rates,
        },
    )


def _show_metric(status: TrainingStatus) -> None:
    name = _metric_name(status)
    _, losses, validation_losses, metrics = status.judged.T
    best = max(status.best_epoch, 1)
    value = float(metrics[best - 1])
    words = words_of("fine_tune")
    show_figure(
        metric_figure(metrics, best, name, words),
        name="fine_tune_metric",
        description=t("fine_tune.metric_described", name=name, epoch=best, value=value),
        columns={
            "fine_tune.figure_epoch": range(1, len(metrics) + 1),
            f"fine_tune.metric_{status.metric_name}": metrics,
            "fine_tune.figure_raw": losses,
            "fine_tune.figure_validation": validation_losses,
        },
    )


def show_schedule(
    settings: FinetuneSettings, num_rows: int, step: int | None = None
) -> None:
    """Draws the learning rate; of many steps, as many as the picture has points.

    `num_rows` are those of an epoch; `step` is marked on the curve.
    """
    num_steps = count_steps(settings, num_rows)
    drawn = spread_out(num_steps, MAX_POINTS - 1)
    said = t(
        f"fine_tune.schedule_described_{settings.decay}",
        steps=num_steps,
        epochs=settings.epochs,
        peak=f"{settings.learning_rate:g}",
        warmup=settings.warmup_rate,
        rest=settings.final_rate,
    )
    if step is not None:
        place = np.array([min(step, num_steps) - 1])
        drawn = np.union1d(drawn, place)
        (now,) = learning_rates(settings, num_rows, place)
        said += f" {t('fine_tune.schedule_now', step=step, rate=f'{now:.3g}')}"
    rates = learning_rates(settings, num_rows, drawn)
    in_epoch = steps_per_epoch(num_rows, settings.batch_size)
    words = words_of("fine_tune")
    show_figure(
        schedule_figure(rates, in_epoch, words, step, drawn + 1),
        name="fine_tune_schedule",
        description=said,
        columns={
            "fine_tune.figure_step": drawn + 1,
            "fine_tune.figure_learning_rate": rates,
        },
    )


def _show_settings(settings: FinetuneSettings) -> None:
    with st.expander(t("fine_tune.settings_of_run")):
        rows = [
            [plain(f"fine_tune.option_{name}"), setting_value(name, value)]
            for name, value in settings.to_dict().items()
            if name != "num_top_layers"
        ]
        header = [plain("fine_tune.setting"), plain("fine_tune.value")]
        st.markdown(table(header, rows))


def choice_name(setting: str, choice: str) -> str:
    """What a choice of "level", "decay" or "precision" is called, as plain text."""
    # The other precisions are names of number formats, in any language.
    if setting == "precision" and choice != "auto":
        return choice
    return plain(f"fine_tune.option_{setting}_{choice}")


def setting_value(name: str, value: object) -> str:
    """A setting of a run for a reader, as plain text."""
    if isinstance(value, str):
        return choice_name(name, value)
    if isinstance(value, bool):
        return plain(f"fine_tune.{'yes' if value else 'no'}")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _offer_another(label: str) -> None:
    button(label, "ft_again", "refresh", remember, kwargs={"run_id": ""})
