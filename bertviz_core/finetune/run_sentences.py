"""The log of a run in plain words."""

from __future__ import annotations

from bertviz_core.finetune.notes import Note, note


def of_start(num_train: int, num_validation: int) -> Note:
    """The run begins."""
    return note(
        "The training begins: {train} rows to learn from, {validation} rows to judge "
        "by.",
        train=num_train,
        validation=num_validation,
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


def of_epoch(
    metric: str, epoch: int, value: float, best_epoch: int, best: float
) -> Note:
    """An epoch has ended.

    Args:
        metric: "accuracy", "macro_f1" or "r2".
        epoch: from 1.
        value: of the metric.
        best_epoch: the best so far, this one counted.
        best: its metric.
    """
    if best_epoch == epoch:
        return _of_best(metric, epoch, value)
    return _of_worse(metric, epoch, value, best_epoch, best)


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


def of_ending(ending: str, best_epoch: int, num_epochs: int) -> Note:
    """The steps are over; why, and which epoch is kept.

    Args:
        ending: one of `events.ENDINGS`.
        best_epoch: from 1.
        num_epochs: that have ended.
    """
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
        "The finished model reads the validation rows once more, in float32: the "
        "report is of what it says now."
    )


def of_unread(epoch: int, precision: str) -> Note:
    """The last reading was stopped.

    Args:
        epoch: from 1, whose answers stand in the report.
        precision: that they were computed in.
    """
    return note(
        "The last reading of the validation rows was stopped. The report is of what "
        "was said of them after epoch {epoch}, in {precision}. The model is kept.",
        epoch=epoch,
        precision=precision,
    )


def of_left_out(reason: str) -> Note:
    """The model is there, and one method that it was to be held against is not.

    Args:
        reason: one of `baselines.REASONS`.
    """
    if reason == "stopped":
        return note(
            "Counting words (TF-IDF) was stopped, so the report lacks this method. "
            "The model is kept."
        )
    if reason == "memory":
        return note(
            "There was too little memory for counting words (TF-IDF), so the report "
            "lacks this method. The model is kept."
        )
    if reason == "died":
        return note(
            "The process ended unexpectedly while it counted words (TF-IDF), so the "
            "report lacks this method. The model was kept before."
        )
    if reason == "disk":
        return note(
            "The disk has no room for what counting words (TF-IDF) reached, so the "
            "report may lack this method. The model is kept."
        )
    return note(
        "Counting words (TF-IDF) failed, so the report lacks this method. The model "
        "is kept."
    )


def of_lease(minutes: int) -> Note:
    """Nobody asked for so long that the run was stopped."""
    return note(
        "Nobody has looked at this training for {minutes} minutes, so it is being "
        "stopped.",
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
