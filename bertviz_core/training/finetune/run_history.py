"""What a run has told, kept small: curves with a bound, and a log in plain words."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertviz_core.training.events import TrainingEvent
from bertviz_core.training.finetune.notes import Note, note

# What a running run is at: the model and the table are read; a simple method learns
# from the rows; texts become tokens; frozen layers are computed once; steps; the best
# epoch is judged; the zip is made.
PHASES = ("read", "compare", "tokenize", "cache", "train", "evaluate", "pack")
# Points that a curve keeps at most: more than a screen has columns.
MAX_POINTS = 1000
_PHASE_OF_KIND = {
    "compare": "compare",
    "compared": "compare",
    "tokenize": "tokenize",
    "cache": "cache",
    "ended": "evaluate",
    "judge": "evaluate",
}
# Events that are no part of the training itself.
_AROUND = ("compare", "compared", "tokenize", "cache", "judge")


@dataclass
class RunHistory:
    """Takes the events of a run, of which parts may come twice after an accident."""

    phase: str = "read"  # one of `PHASES` while it runs, else ""
    fraction: float = 0.0  # of the phase, 0 to 1; of "train", of all steps
    step: int = 0  # optimiser steps done
    num_steps: int = 0  # optimiser steps of all epochs
    epoch: int = 0  # from 1, the one that runs or ran last; 0 before
    num_epochs: int = 0  # that were asked for
    seconds: float = 0.0  # since it began to run; 0 while it waits
    seconds_left: float | None = None  # estimate; `None` when not known
    # "accuracy", "macro_f1" or "r2"; "" before the first event, and where no rows
    # choose an epoch.
    metric_name: str = ""
    best_epoch: int = 0  # from 1; 0 before the first
    num_restarts: int = 0  # how often its process died and it went on
    # After which the last restart went on; 0 where it began anew, `None` while that is
    # not known.
    resumed_epoch: int | None = None
    is_restarted: bool = False  # the log has not told the last restart yet
    is_asked: bool = False  # someone asked for that restart
    ending: str = ""  # one of `events.ENDINGS`, or ""
    # What word counts reach on the test rows; `None` before they are counted.
    bar: Note | None = None
    language: str = ""  # of the model, as `ModelEntry` writes it
    # [step, mean loss, learning rate] each, at most `MAX_POINTS`: of a long run for
    # every second, fourth … step.
    points: list[list[float]] = field(default_factory=list)
    stride: int = 1  # steps that a point stands for
    # Losses since the last point.
    pending: list[list[float]] = field(default_factory=list)
    # [step, loss, validation loss, metric] each; the last two NaN where no rows choose
    # an epoch.
    epochs: list[list[float]] = field(default_factory=list)
    # [seconds, template, details] each, in plain words.
    log: list[list[Any]] = field(default_factory=list)

    @property
    def curve(self) -> np.ndarray:
        """Float64 `[S, 3]`: the points, what is pending as a point of its own."""
        last = [_mean(self.pending)] if self.pending else []
        return np.array([*self.points, *last], "float64").reshape(-1, 3)

    @property
    def judged(self) -> np.ndarray:
        """Float64 `[E, 4]`, the epochs."""
        return np.array(self.epochs, "float64").reshape(-1, 4)

    def to_dict(self) -> dict[str, Any]:
        """All fields, as JSON holds them."""
        return dataclasses.asdict(self)

    def say(self, sentence: Note) -> None:
        """Adds a line to the log."""
        self.log.append([round(self.seconds, 1), *sentence])

    def enter(self, phase: str) -> None:
        """Begins one of `PHASES`."""
        self.phase, self.fraction, self.seconds_left = phase, 0.0, None

    def restart(self) -> None:
        """Another process goes on: that before it died, or someone asked for it."""
        if not self.is_asked:
            self.num_restarts += 1
        self.is_restarted, self.resumed_epoch = True, None
        self.enter("read")

    def take(self, event: TrainingEvent) -> None:
        """Takes what the trainer tells."""
        phase = _PHASE_OF_KIND.get(event.kind, "train")
        if phase != self.phase:
            self.enter(phase)
            if phase == "cache":
                self.say(said("cache"))
        self.fraction = event.fraction
        if event.kind == "compared":
            self.bar = of_bar(event)
            self.say(self.bar)
        elif event.kind == "judge":
            self.seconds_left = event.seconds_left
        if event.kind in _AROUND:
            return
        self.step, self.num_steps = event.step, event.num_steps
        self.metric_name = event.metric_name
        self.epoch = event.epoch or 1
        if event.seconds_left is not None:
            self.seconds_left = event.seconds_left
        if event.kind == "begun":
            self._take_beginning(event)
        elif event.kind == "step":
            self._take_step(event)
        elif event.kind == "epoch":
            self._take_epoch(event)
        elif event.kind == "unsaved":
            self.say(of_unsaved(event))
        elif event.kind == "ended":
            self.ending, self.fraction = event.ending, 0.0
            self.seconds_left = None
            self.say(of_ending(event, self.best_epoch, len(self.epochs)))
            self.say(said("reading"))

    def _take_step(self, event: TrainingEvent) -> None:
        rate, loss = event.learning_rate or 0.0, event.loss or 0.0
        self.pending.append([event.step, loss, rate])
        if len(self.pending) >= self.stride:
            self.points.append(_mean(self.pending))
            self.pending = []
        if len(self.points) >= MAX_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [_mean([first, second]) for first, second in pairs]
            self.stride *= 2

    def _take_epoch(self, event: TrainingEvent) -> None:
        if not event.is_whole:  # the first of a run that was stopped: no epoch
            return
        values = (event.loss, event.validation_loss, event.metric)
        known = (math.nan if value is None else value for value in values)
        self.epochs.append([float(event.step), *known])
        before, self.best_epoch = self.best_epoch, event.best_epoch
        is_best = event.best_epoch == event.epoch
        if is_best and before and self.epochs[before - 1][3] == event.metric:
            self.say(said("best_of_equals", epoch=event.epoch, best=before))
            return
        best = self.epochs[self.best_epoch - 1][3]
        self.say(of_epoch(event, self.best_epoch, best))

    def _take_beginning(self, event: TrainingEvent) -> None:
        """Drops what will be told twice, and says why the run goes on."""
        self.points = [point for point in self.points if point[0] <= event.step]
        self.pending = [point for point in self.pending if point[0] <= event.step]
        self.epochs, self.best_epoch = self.epochs[: event.epoch], event.best_epoch
        if not self.is_restarted:
            return
        name = "asked_on" if self.is_asked else "restarted"
        if not event.is_whole:
            self.say(said("on_within", step=event.step))
        elif event.epoch:
            self.say(said(name, epoch=event.epoch))
        else:
            self.say(said(f"{name}_anew"))
        self.is_restarted = self.is_asked = False
        self.resumed_epoch = event.epoch if event.is_whole or event.epoch else None


def _mean(points: list[list[float]]) -> list[float]:
    """One point for several: the last step and rate, the mean loss."""
    loss = sum(point[1] for point in points) / len(points)
    # Five digits: the file is written again and again.
    return [points[-1][0], float(f"{loss:.5g}"), float(f"{points[-1][2]:.5g}")]


# What the log says, by name. Behind "best" and "worse" stands the metric.
_SAID: Mapping[str, Note] = {
    "begins": note(
        "The training begins: {train} training rows, {validation} validation rows, "
        "{test} test rows."
    ),
    "begins_without_validation": note(
        "The training begins: {train} training rows, {test} test rows, and too "
        "few for validation. All epochs run, and the last one is kept."
    ),
    "no_bar": note(
        "Word counts (TF-IDF) could not be had, so the report lacks this method."
    ),
    "bar_accuracy": note(
        "The baseline to beat: word counts (TF-IDF, {chosen}) get {percent}% of the "
        "test rows right."
    ),
    "bar": note(
        "The baseline to beat: word counts (TF-IDF, {chosen}), with {name} = {value} "
        "on the test rows."
    ),
    "cache": note(
        "The frozen layers read every text once; their output is kept for all epochs."
    ),
    "restarted": note(
        "The process that trains ended unexpectedly and was started again. The "
        "training goes on after epoch {epoch}."
    ),
    "restarted_anew": note(
        "The process that trains ended unexpectedly and was started again. No epoch "
        "was done yet, so the training begins anew."
    ),
    "asked_on": note(
        "The training was asked to go on, and does so after epoch {epoch}."
    ),
    "asked_on_anew": note(
        "The training was asked to go on. No epoch was done yet, so it begins anew."
    ),
    "on_within": note("The training goes on after step {step}."),
    "epoch": note("Epoch {epoch} is done; its mean loss was {loss}."),
    "best_accuracy": note(
        "Epoch {epoch}: {percent}% of the validation rows are right, the best so far."
    ),
    "best_macro_f1": note(
        "Epoch {epoch}: macro-F1 on the validation rows is {value}, the best so far."
    ),
    "best_r2": note(
        "Epoch {epoch}: R² on the validation rows is {value}, the best so far."
    ),
    "best_of_equals": note(
        "Epoch {epoch}: as good as epoch {best} on the validation rows, with a lower "
        "loss, and so the best so far."
    ),
    "worse_accuracy": note(
        "Epoch {epoch}: {percent}% of the validation rows are right. Epoch {best} "
        "with {most}% stays the best."
    ),
    "worse_macro_f1": note(
        "Epoch {epoch}: macro-F1 on the validation rows is {value}. Epoch {best} "
        "with {most} stays the best."
    ),
    "worse_r2": note(
        "Epoch {epoch}: R² on the validation rows is {value}. Epoch {best} with {most} "
        "stays the best."
    ),
    "unsaved": note(
        "Epoch {epoch} cannot be written to the disk. Received: {reason}. The "
        "training goes on and keeps its best weights in memory; if it breaks off, "
        "it can go on after epoch {kept} only."
    ),
    "never_saved": note(
        "Epoch {epoch} cannot be written to the disk. Received: {reason}. The "
        "training goes on and keeps its best weights in memory; if it breaks off, it "
        "begins anew."
    ),
    "part": note(
        "The training was stopped after step {step}, before its first epoch was "
        "over. The model is as it was then."
    ),
    "over": note("All steps are done. The model is as it was after epoch {epoch}."),
    "no_better": note(
        "No epoch was better for {count} epochs, so the training ends early. The "
        "model is that of epoch {epoch}."
    ),
    "not_a_number": note(
        "The loss was no longer a number, so the training ends. The model is that "
        "of epoch {epoch}."
    ),
    "asked": note(
        "The training was stopped. The model is that of epoch {epoch}, the best so far."
    ),
    "finished": note(
        "All epochs are done. The model is that of epoch {epoch}, the best one."
    ),
    "reading": note(
        "The finished model reads the test rows, in float32: the report is of what it "
        "says of them."
    ),
    "lease": note(
        "Nobody has looked at this training for {minutes} minutes, so it is being "
        "stopped."
    ),
    "time_up": note(
        "A training may take {minutes} minutes on this server. They are over, so it is "
        "being stopped."
    ),
    "stopped_early": note(
        "The training was stopped before its first step, so there is no model."
    ),
}


def said(name: str, /, **details: str | float) -> Note:
    """A sentence of the log."""
    return _SAID[name][0], details


def of_bar(event: TrainingEvent) -> Note:
    """Words were counted, before anything learns."""
    if event.metric is None:
        return said("no_bar")
    chosen = chosen_text(event.chosen)
    if event.metric_name == "accuracy":
        return said("bar_accuracy", chosen=chosen, percent=round(100 * event.metric, 1))
    name = "macro-F1" if event.metric_name == "macro_f1" else "R²"
    return said("bar", chosen=chosen, name=name, value=round(event.metric, 3))


def chosen_text(chosen: Mapping[str, Any]) -> str:
    """What a linear model was given, by scikit-learn's names, such as "C=10"."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in chosen.items()
        if name != "folds" and value is not None
    )


def of_epoch(event: TrainingEvent, best_epoch: int, best: float) -> Note:
    """An epoch has ended; the best so far, this one counted, has the metric `best`."""
    metric, epoch, value = event.metric_name, event.epoch, event.metric
    if value is None:
        return said("epoch", epoch=epoch, loss=round(event.loss or 0.0, 3))
    details: dict[str, float] = {"value": round(value, 3), "most": round(best, 3)}
    if metric == "accuracy":
        details = {"percent": round(100 * value, 1), "most": round(100 * best, 1)}
    if best_epoch == epoch:
        del details["most"]
        return said(f"best_{metric}", epoch=epoch, **details)
    return said(f"worse_{metric}", epoch=epoch, best=best_epoch, **details)


def of_unsaved(event: TrainingEvent) -> Note:
    """An epoch cannot be written to the disk, and the run goes on."""
    about: dict[str, str | float] = {"epoch": event.epoch, "reason": event.reason}
    if event.kept_epoch:
        return said("unsaved", kept=event.kept_epoch, **about)
    return said("never_saved", **about)


def of_ending(event: TrainingEvent, best_epoch: int, num_epochs: int) -> Note:
    """No step follows: why, and which epoch is kept of those that have ended."""
    if not event.is_whole:  # there is no better to keep
        return said("part", step=event.step)
    if not event.metric_name and event.ending != "not_a_number":
        return said("over", epoch=best_epoch)
    if event.ending == "no_better":
        return said("no_better", count=num_epochs - best_epoch, epoch=best_epoch)
    return said(event.ending, epoch=best_epoch)
