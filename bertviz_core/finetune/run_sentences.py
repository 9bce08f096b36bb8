"""The log of a run in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bertviz_core.finetune.events import TrainingEvent
from bertviz_core.finetune.notes import Note, note


def of_start(num_train: int, num_validation: int, num_test: int) -> Note:
    """The run begins."""
    if not num_validation:
        return note(
            "The training begins: {train} training rows, {test} test rows, and too "
            "few for validation. All epochs run, and the last one is kept.",
            train=num_train,
            test=num_test,
        )
    return note(
        "The training begins: {train} training rows, {validation} validation rows, "
        "{test} test rows.",
        train=num_train,
        validation=num_validation,
        test=num_test,
    )


def of_bar(metric: str, value: float | None, chosen: Mapping[str, Any]) -> Note:
    """Words were counted, before anything learns.

    Args:
        metric: "accuracy", "macro_f1" or "r2".
        value: of the metric; `None` where there is none.
        chosen: see `baselines.Baseline`.
    """
    if value is None:
        return note(
            "Word counts (TF-IDF) could not be had, so the report lacks this method."
        )
    if metric == "accuracy":
        return note(
            "The bar to beat: word counts (TF-IDF, {chosen}) get {percent} % of the "
            "test rows right.",
            chosen=chosen_text(chosen),
            percent=round(100 * value, 1),
        )
    return note(
        "The bar to beat: word counts (TF-IDF, {chosen}), with {name} = {value} on the "
        "test rows.",
        chosen=chosen_text(chosen),
        name="macro-F1" if metric == "macro_f1" else "R²",
        value=round(value, 3),
    )


def chosen_text(chosen: Mapping[str, Any]) -> str:
    """What a linear model was given, by scikit-learn's names, such as "C=10"."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in chosen.items()
        if name != "folds" and value is not None
    )


def of_phase(phase: str) -> Note | None:
    """A part of the run begins that needs a word."""
    if phase == "cache":
        return note(
            "The layers that do not learn read every text once; what they say is "
            "kept for all epochs."
        )
    return None


def of_restart(num_epochs: int) -> Note:
    """The process died; this many epochs are kept."""
    if num_epochs:
        return note(
            "The process that trains ended unexpectedly and was started again. The "
            "training goes on after epoch {epoch}.",
            epoch=num_epochs,
        )
    return note(
        "The process that trains ended unexpectedly and was started again. No epoch "
        "was done yet, so the training begins anew."
    )


def of_resume(num_epochs: int) -> Note:
    """Someone asked a run that broke off to go on; this many epochs are kept."""
    if num_epochs:
        return note(
            "The training was asked to go on, and does so after epoch {epoch}.",
            epoch=num_epochs,
        )
    return note(
        "The training was asked to go on. No epoch was done yet, so it begins anew."
    )


def of_epoch(event: TrainingEvent, best_epoch: int, best: float) -> Note:
    """An epoch has ended.

    Args:
        event: of the epoch.
        best_epoch: the best so far, this one counted.
        best: its metric.
    """
    metric, epoch = event.metric_name, event.epoch
    if event.metric is None:
        return note(
            "Epoch {epoch} is done; its mean loss was {loss}.",
            epoch=epoch,
            loss=round(event.loss or 0.0, 3),
        )
    if best_epoch == epoch:
        return _of_best(metric, epoch, event.metric)
    return _of_worse(metric, epoch, event.metric, best_epoch, best)


def of_part(event: TrainingEvent) -> Note:
    """The run was stopped within its first epoch, and there is no better to keep."""
    return note(
        "The training was stopped after step {step}, before its first epoch was "
        "over. The model is as it was then.",
        step=event.step,
    )


def of_unsaved(epoch: int, kept_epoch: int, reason: str) -> Note:
    """An epoch cannot be written to the disk, and the run goes on.

    Args:
        epoch: from 1.
        kept_epoch: the last one that was written; 0 for none.
        reason: as the system says it.
    """
    if kept_epoch:
        return note(
            "Epoch {epoch} cannot be written to the disk. Received: {reason}. The "
            "training goes on and keeps its best weights in memory; if it breaks off, "
            "it can go on after epoch {kept} only.",
            epoch=epoch,
            reason=reason,
            kept=kept_epoch,
        )
    return note(
        "Epoch {epoch} cannot be written to the disk. Received: {reason}. The "
        "training goes on and keeps its best weights in memory; if it breaks off, it "
        "begins anew.",
        epoch=epoch,
        reason=reason,
    )


def of_ending(event: TrainingEvent, best_epoch: int, num_epochs: int) -> Note:
    """The steps are over; why, and which epoch is kept.

    Args:
        event: of the kind "ended".
        best_epoch: from 1.
        num_epochs: that have ended.
    """
    ending = event.ending
    if not event.metric_name and ending != "not_a_number":
        return note(
            "The steps are over. The model is as it was after epoch {epoch}.",
            epoch=best_epoch,
        )
    if ending == "no_better":
        return note(
            "No epoch was better for {count} epochs, so the training ends early. The "
            "model is that of epoch {epoch}.",
            count=num_epochs - best_epoch,
            epoch=best_epoch,
        )
    if ending == "not_a_number":
        return note(
            "The loss was no longer a number, so the training ends. The model is that "
            "of epoch {epoch}.",
            epoch=best_epoch,
        )
    if ending == "asked":
        return note(
            "The training was stopped. The model is that of epoch {epoch}, the best so "
            "far.",
            epoch=best_epoch,
        )
    return note(
        "All epochs are done. The model is that of epoch {epoch}, the best one.",
        epoch=best_epoch,
    )


def of_reading() -> Note:
    """The steps are over, and the report is made."""
    return note(
        "The finished model reads the test rows, in float32: the report is of what it "
        "says of them."
    )


def of_lease(minutes: int) -> Note:
    """Nobody asked for so long that the run was stopped."""
    return note(
        "Nobody has looked at this training for {minutes} minutes, so it is being "
        "stopped.",
        minutes=minutes,
    )


def of_time_up(minutes: int) -> Note:
    """The host gives a training no longer time."""
    return note(
        "A training may take {minutes} minutes on this server, and these are over, so "
        "it is being stopped.",
        minutes=minutes,
    )


def of_early_stop() -> Note:
    """Stopped before the first step."""
    return note("The training was stopped before its first step, so there is no model.")


def _of_best(metric: str, epoch: int, value: float) -> Note:
    if metric == "accuracy":
        return note(
            "Epoch {epoch}: {percent} % of the validation rows are right, the best "
            "so far.",
            epoch=epoch,
            percent=round(100 * value, 1),
        )
    if metric == "macro_f1":
        return note(
            "Epoch {epoch}: macro-F1 on the validation rows is {value}, the best "
            "so far.",
            epoch=epoch,
            value=round(value, 3),
        )
    return note(
        "Epoch {epoch}: R² on the validation rows is {value}, the best so far.",
        epoch=epoch,
        value=round(value, 3),
    )


def _of_worse(
    metric: str, epoch: int, value: float, best_epoch: int, best: float
) -> Note:
    if metric == "accuracy":
        return note(
            "Epoch {epoch}: {percent} % of the validation rows are right. Epoch {best} "
            "with {most} % stays the best.",
            epoch=epoch,
            percent=round(100 * value, 1),
            best=best_epoch,
            most=round(100 * best, 1),
        )
    if metric == "macro_f1":
        return note(
            "Epoch {epoch}: macro-F1 on the validation rows is {value}. Epoch {best} "
            "with {most} stays the best.",
            epoch=epoch,
            value=round(value, 3),
            best=best_epoch,
            most=round(best, 3),
        )
    return note(
        "Epoch {epoch}: R² on the validation rows is {value}. Epoch {best} with {most} "
        "stays the best.",
        epoch=epoch,
        value=round(value, 3),
        best=best_epoch,
        most=round(best, 3),
    )
