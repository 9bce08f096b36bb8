"""What a run has told, kept small: curves with a bound, and a log in plain words."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from bertviz_core.finetune.events import TrainingEvent
from bertviz_core.finetune.notes import Note
from bertviz_core.finetune.run_sentences import (
    of_bar,
    of_ending,
    of_epoch,
    of_part,
    of_phase,
    of_reading,
    of_restart,
    of_resume,
    of_unsaved,
)
from bertviz_core.finetune.training_status import MAX_POINTS

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
    """Takes the events of a run, of which parts may come twice after an accident.

    Args:
        phase, fraction, step, num_steps, epoch, num_epochs, seconds, seconds_left,
        metric_name, best_epoch, num_restarts, resumed_epoch, ending, bar: see
            `TrainingStatus`.
        language: of the model, as `ModelEntry` writes it.
        is_restarted: the log has not told the last restart yet.
        is_asked: someone asked for that restart.
        points: `[step, mean loss, learning rate]` each, at most `MAX_POINTS`.
        stride: steps that a point stands for.
        pending: losses since the last point.
        epochs: `[step, loss, validation loss, metric]` each.
        log: `[seconds, template, details]` each.
    """

    phase: str = "read"
    fraction: float = 0.0
    step: int = 0
    num_steps: int = 0
    epoch: int = 0
    num_epochs: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    metric_name: str = ""
    best_epoch: int = 0
    num_restarts: int = 0
    resumed_epoch: int | None = None
    is_restarted: bool = False
    is_asked: bool = False
    ending: str = ""
    bar: Note | None = None
    language: str = ""
    points: list[list[float]] = field(default_factory=list)
    stride: int = 1
    pending: list[list[float]] = field(default_factory=list)
    epochs: list[list[float]] = field(default_factory=list)
    log: list[list[Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All fields, as JSON holds them."""
        return dataclasses.asdict(self)

    def say(self, sentence: Note) -> None:
        """Adds a line to the log."""
        self.log.append([round(self.seconds, 1), *sentence])

    def enter(self, phase: str) -> None:
        """Begins a phase of `training_status.PHASES`."""
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
            if sentence := of_phase(phase):
                self.say(sentence)
        self.fraction = event.fraction
        if event.kind == "compared":
            self.bar = of_bar(event.metric_name, event.metric, event.chosen)
            self.say(self.bar)
        elif event.kind == "judge":
            self.seconds_left = event.seconds_left
        if event.kind in _AROUND:
            return
        self.step, self.num_steps = event.step, event.num_steps
        self.metric_name = event.metric_name
        self.epoch = event.epoch
        if event.seconds_left is not None:
            self.seconds_left = event.seconds_left
        if event.kind == "resumed":
            self._forget_after(event.step, event.epoch)
            self._say_restart(event.epoch)
        elif event.kind == "step":
            self._take_step(event)
        elif event.kind == "epoch":
            self._take_epoch(event)
        elif event.kind == "unsaved":
            self.say(of_unsaved(event.epoch, event.kept_epoch, event.reason))
        elif event.kind == "ended":
            self.ending, self.fraction = event.ending, 0.0
            self.seconds_left = None
            if event.is_whole:
                self.say(of_ending(event, self.best_epoch, len(self.epochs)))
            else:
                self.say(of_part(event))
            self.say(of_reading())

    def curve(self) -> list[list[float]]:
        """The points, the steps since the last one as a point of their own."""
        return [*self.points, _mean(self.pending)] if self.pending else self.points

    def _take_step(self, event: TrainingEvent) -> None:
        last = self.pending[-1] if self.pending else [0.0]
        if self.points and not self.pending:
            last = self.points[-1]
        if event.step <= last[0]:
            self._forget_after(event.step - 1, event.epoch - 1)
        self._say_restart(0)
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
        self.epochs = self.epochs[: event.epoch - 1]
        values = (event.loss, event.validation_loss, event.metric)
        known = (math.nan if value is None else value for value in values)
        self.epochs.append([float(event.step), *known])
        if event.is_best:
            self.best_epoch = event.epoch
        best = self.epochs[self.best_epoch - 1][3]
        self.say(of_epoch(event, self.best_epoch, best))

    def _forget_after(self, step: int, num_epochs: int) -> None:
        """Drops what was told twice: a run goes on from its last whole epoch."""
        self.points = [point for point in self.points if point[0] <= step]
        self.pending = [point for point in self.pending if point[0] <= step]
        self.epochs = self.epochs[:num_epochs]
        # By metric, then by validation loss; of equals the first, as in training.
        ranks = [(epoch[3], -epoch[2]) for epoch in self.epochs]
        self.best_epoch = ranks.index(max(ranks)) + 1 if ranks else 0
        if ranks and math.isnan(ranks[0][0]):  # nothing chose: it is the last
            self.best_epoch = len(ranks)

    def _say_restart(self, num_epochs: int) -> None:
        if self.is_restarted:
            self.say((of_resume if self.is_asked else of_restart)(num_epochs))
            self.is_restarted = self.is_asked = False
            self.resumed_epoch = num_epochs


def _mean(points: list[list[float]]) -> list[float]:
    """One point for several: the last step and rate, the mean loss."""
    loss = sum(point[1] for point in points) / len(points)
    # Five digits: the file is written again and again.
    return [points[-1][0], float(f"{loss:.5g}"), float(f"{points[-1][2]:.5g}")]
