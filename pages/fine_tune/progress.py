"""Pictures of a run: its learning rate before the start, its curves while it goes."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.smoothing import running_mean, spread_out
from bertviz_core.figures.finetune_progress import (
    MAX_POINTS,
    ProgressWords,
    loss_figure,
    metric_figure,
    schedule_figure,
)
from bertviz_core.finetune.schedule import count_steps, learning_rates
from bertviz_core.finetune.settings import FinetuneSettings, steps_per_epoch
from bertviz_core.finetune.training_status import TrainingStatus
from pages.shared.export import show_figure
from pages.shared.language import plain, t, words_of


def show_schedule_so_far(status: TrainingStatus) -> None:
    """Draws the learning rate of a run, with a mark where it is."""
    settings = status.request.settings
    if status.step and status.num_epochs:
        in_epoch = status.num_steps // status.num_epochs
        show_schedule(settings, in_epoch * settings.batch_size, status.step)


def show_schedule(
    settings: FinetuneSettings, num_rows: int, step: int | None = None
) -> None:
    """Draws the learning rate; of many steps, as many as the picture has points.

    `num_rows` are those of an epoch; `step` is marked on the curve.
    """
    num_steps = count_steps(settings, num_rows)
    drawn = spread_out(num_steps, MAX_POINTS - 1)
    now = None
    if step is not None:
        place = min(step, num_steps) - 1
        drawn = np.union1d(drawn, [place])
        now = float(learning_rates(settings, num_rows, np.array([place]))[0])
    rates = learning_rates(settings, num_rows, drawn)
    in_epoch = steps_per_epoch(num_rows, settings.batch_size)
    show_figure(
        schedule_figure(
            rates, in_epoch, step, words_of(ProgressWords, "fine_tune"), drawn + 1
        ),
        name="fine_tune_schedule",
        description=_described(settings, num_steps, step, now),
        columns={
            plain("fine_tune.figure_step"): (drawn + 1).tolist(),
            plain("fine_tune.figure_learning_rate"): rates.tolist(),
        },
    )


def _described(
    settings: FinetuneSettings, num_steps: int, step: int | None, now: float | None
) -> str:
    said = t(
        f"fine_tune.schedule_described_{settings.decay}",
        steps=num_steps,
        epochs=settings.epochs,
        peak=f"{settings.learning_rate:g}",
        warmup=settings.warmup_rate,
    )
    if step is None or now is None:
        return said
    return f"{said} {t('fine_tune.schedule_now', step=step, rate=f'{now:.3g}')}"


def show_curves(status: TrainingStatus) -> None:
    """Draws loss and metric of a run, as far as it is."""
    if not len(status.steps):
        return
    loss_box, metric_box = st.columns(2)
    with loss_box:
        _show_loss(status)
    with metric_box:
        if len(status.metrics):
            _show_metric(status)
        else:
            st.caption(t("fine_tune.no_epoch_yet"))


def metric_name(status: TrainingStatus) -> str:
    """What epochs are compared by, for the reader."""
    return plain(f"fine_tune.metric_{status.metric_name}")


def _show_loss(status: TrainingStatus) -> None:
    show_figure(
        loss_figure(
            status.steps,
            status.losses,
            status.epoch_steps,
            status.validation_losses,
            words_of(ProgressWords, "fine_tune"),
        ),
        name="fine_tune_loss",
        description=t(
            "fine_tune.loss_described",
            step=int(status.steps[-1]),
            first=float(status.losses[0]),
            last=float(running_mean(status.losses)[-1]),
        ),
        columns={
            plain("fine_tune.figure_step"): status.steps.tolist(),
            plain("fine_tune.figure_loss"): status.losses.tolist(),
            plain("fine_tune.figure_smooth"): running_mean(status.losses).tolist(),
            plain("fine_tune.figure_learning_rate"): status.learning_rates.tolist(),
        },
    )


def _show_metric(status: TrainingStatus) -> None:
    name = metric_name(status)
    best = max(status.best_epoch, 1)
    show_figure(
        metric_figure(status.metrics, best, name, words_of(ProgressWords, "fine_tune")),
        name="fine_tune_metric",
        description=t(
            "fine_tune.metric_described",
            name=name,
            epoch=best,
            value=float(status.metrics[best - 1]),
        ),
        columns={
            plain("fine_tune.figure_epoch"): list(range(1, len(status.metrics) + 1)),
            name: status.metrics.tolist(),
            plain("fine_tune.figure_raw"): status.epoch_losses.tolist(),
            plain("fine_tune.figure_validation"): status.validation_losses.tolist(),
        },
    )
