"""One fine-tuning run: epochs, the best one, and going on after an accident."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.finetune.batches import Arrays, epoch_order, used_words
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.inputs import RowInputs, prepare_inputs, tokenize_parts
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.metrics import (
    EpochPoint,
    EpochScore,
    metric_name,
    metric_of,
)
from bertviz_core.finetune.network import with_all_words
from bertviz_core.finetune.settings import (
    FinetuneSettings,
    count_steps,
    learning_rates,
    steps_per_epoch,
)
from bertviz_core.finetune.split import oversampled
from bertviz_core.training.checkpoint import (
    Checkpoint,
    read_latest,
    save_checkpoint,
)
from bertviz_core.training.events import Tell, TrainingEvent

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.model.bert import Bert

_HISTORY = ("loss", "validation_loss", "metric", "seconds")
_POINTS, _NUMBER, _LOSSES = "run/points", "run/best_epoch", "run/losses"
# What checkpoints of earlier versions hold beside these.
_LET_GO = "run/best_outputs"
_WEIGHTS = "best/"


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch so far.

    Args:
        number: from 1.
        score: that made it the best.
        weights: of the variables that learn, by path.
    """

    number: int
    score: EpochScore
    weights: Arrays


def to_arrays(
    points: Sequence[EpochPoint], best: BestEpoch | None, losses: Sequence[float]
) -> Arrays:
    """The epochs as a checkpoint holds them.

    Args:
        points: of all epochs that have ended.
        best: one of them; `None` before the first.
        losses: of the steps of the epoch that has begun.
    """
    rows = [[getattr(point, name) for name in _HISTORY] for point in points]
    weights = {} if best is None else best.weights
    arrays = {f"{_WEIGHTS}{name}": value for name, value in weights.items()}
    arrays[_POINTS] = np.array(rows, "float64")
    arrays[_NUMBER] = np.array(0 if best is None else best.number, "int64")
    arrays[_LOSSES] = np.array(losses, "float64")
    return arrays


def from_arrays(
    state: Arrays,
) -> tuple[list[EpochPoint], BestEpoch | None, list[float]]:
    """Takes points, best epoch and losses out of what a checkpoint holds.

    Args:
        state: from `to_arrays`, among others; those others are what stays in it.
    """
    state.pop(_LET_GO, None)
    points = [EpochPoint(*map(float, row)) for row in state.pop(_POINTS)]
    losses = list(map(float, state.pop(_LOSSES, ())))
    number = int(state.pop(_NUMBER))
    if not number:
        return points, None, losses
    names = [name for name in state if name.startswith(_WEIGHTS)]
    point = points[number - 1]
    best = BestEpoch(
        number=number,
        score=EpochScore(point.metric, point.validation_loss),
        weights={name.removeprefix(_WEIGHTS): state.pop(name) for name in names},
    )
    return points, best, losses


@dataclass(frozen=True)
class TrainedModel:
    """What a run leaves.

    Args:
        bert: with the weights of the best epoch.
        points: of all epochs.
        best_epoch: from 1.
        ending: one of `events.ENDINGS`.
        metric: name of what epochs were compared by.
        precision: that products were computed in.
        steps: that were taken.
        epochs_run: whole ones; 0 where the run was stopped within its first.
    """

    bert: Bert
    points: tuple[EpochPoint, ...]
    best_epoch: int
    ending: str
    metric: str
    precision: str
    steps: int
    epochs_run: int


class Trainer:
    """A run on a copy of a model.

    Args:
        loaded: stays as it is.
        data: rows.
        settings: of the run.
        tell: told each event, from now on: texts become tokens; may raise to cancel.
        should_stop: asked after each step and, where there is an epoch to keep, while
            an epoch is judged; true ends the run with its best.
        work_folder: where every epoch is kept, and the step at which the run was
            stopped, and looked for; `None` keeps none.
        fingerprint: names model, rows and settings; only a run of the same goes on.

    Raises:
        TrainingError: rows, settings and model do not fit each other.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        data: TrainingData,
        settings: FinetuneSettings,
        tell: Tell = lambda _: None,
        should_stop: Callable[[], bool] = lambda: False,
        work_folder: Path | None = None,
        fingerprint: str = "",
    ) -> None:
        require_fit(loaded, data, settings)
        if settings.oversample:
            data = oversampled(data, settings.seed)
        self.data, self.settings = data, settings
        self.tell, self.should_stop = tell, should_stop
        self.work_folder, self.fingerprint = work_folder, fingerprint
        rows = tokenize_parts(loaded.tokenizer, data, settings, tell)
        self._loaded, self._words = loaded, used_words(rows)
        self._rows = [part.renumbered(self._words) for part in rows]
        self.learner = Learner(loaded, data, settings, self._words)
        self.metric = metric_name(data.is_regression, settings)
        self.num_steps = count_steps(settings, len(data.train))
        self._rates = functools.partial(learning_rates, settings, len(data.train))
        self.in_epoch = steps_per_epoch(len(data.train), settings.batch_size)
        self.points: list[EpochPoint] = []
        self.best: BestEpoch | None = None
        self._losses: list[float] = []  # of the epoch that has begun
        self.step = self.kept_epoch = 0
        self._is_kept = True

    def run(self) -> TrainedModel:
        """Runs to the end, to a stop, or until no epoch is better any more.

        Raises:
            TrainingError: the loss is no number before any epoch ended; the
                checkpoint in the work folder is damaged or of another run.
        """
        train, validation = prepare_inputs(
            self.learner, self._rows, self.data, self.settings, self.tell
        )
        self._go_on()
        ending = self._epochs(train, validation)
        best = cast("BestEpoch", self.best)  # else the first epoch has raised
        self.learner.set_weights(best.weights)
        self.learner.restore_unit()
        is_whole = self.step >= self.in_epoch
        self.tell(self._event("ended", fraction=1.0, ending=ending, is_whole=is_whole))
        return TrainedModel(
            bert=with_all_words(self._loaded, self.learner.bert, self._words),
            points=tuple(self.points),
            best_epoch=best.number,
            ending=ending,
            metric=self.metric,
            precision=self.learner.precision,
            steps=self.step,
            epochs_run=len(self.points) if is_whole else 0,
        )

    def _epochs(self, train: RowInputs, validation: RowInputs) -> str:
        """Runs epochs; says why there is no other."""
        # Without rows to choose by, no epoch is better than another.
        patience = self.settings.patience if len(self.data.validation) else 0
        while len(self.points) < self.settings.epochs:
            best_epoch = 0 if self.best is None else self.best.number
            if patience and len(self.points) - best_epoch >= patience:
                return "no_better"
            began_at = time.monotonic()
            was_stopped = self._one_epoch(train)
            if not all(map(math.isfinite, self._losses)):
                return self._after_no_number()
            if was_stopped:
                self._save()
            # A stop keeps the best epoch; where none has ended, what there is.
            if was_stopped and self.best is not None:
                return "asked"
            outputs = self._look_at(validation)
            if outputs is None:
                self._save()
                return "asked"
            if not np.isfinite(outputs).all():
                return self._after_no_number()
            self._judge(outputs, validation.targets, began_at)
            if was_stopped:
                return "asked"
            self._save()
        return "finished"

    def _one_epoch(self, train: RowInputs) -> bool:
        """Runs what is left of an epoch's steps; says whether it was stopped."""
        epoch = len(self.points)
        settings = self.settings
        order = epoch_order(train.lengths, settings.batch_size, settings.seed, epoch)
        order = order[len(self._losses) :]
        began_at = time.monotonic()
        rates = self._rates(np.arange(self.step, self.step + len(order))).tolist()
        pairs = zip(order, rates, strict=True)
        for num_timed, (chosen, rate) in enumerate(pairs):
            loss = self.learner.step(train.batch(chosen), train.targets[chosen], rate)
            self.step += 1
            self._losses.append(loss)
            if not math.isfinite(loss):
                break
            seconds = None
            if num_timed:
                seconds = (time.monotonic() - began_at) / num_timed
            else:  # the first step may compile, and tells nothing
                began_at = time.monotonic()
            self._tell_step(loss, rate, seconds)
            if self.should_stop():
                return True
        return False

    def _tell_step(
        self, loss: float, rate: float, seconds_per_step: float | None
    ) -> None:
        num_left = self.num_steps - self.step
        self.tell(
            self._event(
                "step",
                loss=loss,
                learning_rate=rate,
                fraction=self.step / self.num_steps,
                seconds_left=None
                if seconds_per_step is None
                else seconds_per_step * num_left,
            )
        )

    def _look_at(self, validation: RowInputs) -> np.ndarray | None:
        """What is said of the rows; `None` where a stop leaves an earlier epoch."""
        if self.best is None:
            return self.learner.outputs(validation)
        return self.learner.outputs(validation, self.should_stop)

    def _judge(self, outputs: np.ndarray, targets: np.ndarray, began_at: float) -> None:
        """Keeps the weights where they are better than before."""
        losses, self._losses = self._losses, []
        score = EpochScore(math.nan, math.nan)
        if len(targets):
            metric = metric_of(self.metric, outputs, targets)
            score = EpochScore(metric, self.learner.mean_loss(outputs, targets))
        seconds = time.monotonic() - began_at
        mean = float(np.mean(losses))
        self.points.append(EpochPoint(mean, score.loss, score.metric, seconds))
        before = self.best
        is_best = score.beats(None if before is None else before.score)
        if is_best:
            weights = self.learner.weights(None if before is None else before.weights)
            self.best = BestEpoch(len(self.points), score, weights)
        self.tell(
            self._event(
                "epoch",
                epoch=len(self.points),
                loss=mean,
                metric=score.metric if len(targets) else None,
                validation_loss=score.loss if len(targets) else None,
                is_best=is_best,
                is_whole=len(losses) == self.in_epoch,
                fraction=self.step / self.num_steps,
                seconds_left=seconds * (self.settings.epochs - len(self.points)),
            )
        )

    def _after_no_number(self) -> str:
        if self.best is not None:
            return "not_a_number"
        raise TrainingError(
            "The loss is no longer a number, so the training has stopped in its "
            "first epoch. Received: learning_rate={learning_rate}. Choose a smaller "
            "learning rate and start again.",
            learning_rate=self.settings.learning_rate,
        )

    def _event(self, kind: str, **fields: float | bool | str | None) -> TrainingEvent:
        base: dict[str, float | bool | str | None] = {
            "epoch": min(len(self.points) + 1, self.settings.epochs),
            "step": self.step,
            "num_steps": self.num_steps,
            "metric_name": self.metric if len(self.data.validation) else "",
        }
        return TrainingEvent(kind, **(base | fields))  # type: ignore[arg-type]

    def _save(self) -> None:
        """Keeps the run on the disk; where that fails, memory has it still."""
        if self.work_folder is None:
            return
        kept = to_arrays(self.points, self.best, self._losses)
        state = self.learner.state() | kept
        checkpoint = Checkpoint(self.step, self.fingerprint, state)
        try:
            save_checkpoint(checkpoint, self.work_folder / "checkpoints")
        except TrainingError as error:
            self._tell_unsaved(str(error.details["reason"]))
        else:
            self.kept_epoch, self._is_kept = len(self.points), True

    def _tell_unsaved(self, reason: str) -> None:
        if self._is_kept:  # the epochs after it would only say the same again
            self.tell(
                self._event(
                    "unsaved",
                    epoch=len(self.points),
                    fraction=self.step / self.num_steps,
                    kept_epoch=self.kept_epoch,
                    reason=reason,
                )
            )
        self._is_kept = False

    def _go_on(self) -> None:
        """Takes up what lies in the work folder, if anything does."""
        folder = self.work_folder
        if folder is None:
            return
        found = read_latest(folder / "checkpoints", self.fingerprint, anew="--restart")
        if found is None:
            return
        state = dict(found.state)
        self.points, self.best, self._losses = from_arrays(state)
        self.learner.set_state(state)
        self.step, self.kept_epoch = found.step, len(self.points)
        fraction = self.step / self.num_steps
        self.tell(
            self._event(
                "resumed",
                epoch=len(self.points),
                fraction=fraction,
                is_whole=not self._losses,
            )
        )


def require_fit(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> None:
    """Compares rows, settings and model before anything is built.

    Raises:
        TrainingError: no rows, too many tokens, or pairs for a model that knows one
            segment.
    """
    config = loaded.model.config
    if not len(data.train) or not len(data.test):
        raise TrainingError(
            "There is nothing to learn from or nothing to test on. Received: "
            "{train} training rows, {test} test rows. Give more rows.",
            train=len(data.train),
            test=len(data.test),
        )
    if settings.max_tokens > config.max_position_embeddings:
        raise TrainingError(
            "The training texts may be longer than the model reads. Received: "
            "max_tokens={max_tokens}; the model has {positions} positions. Choose a "
            "smaller length.",
            max_tokens=settings.max_tokens,
            positions=config.max_position_embeddings,
        )
    if data.has_pairs and config.type_vocab_size < 2:
        raise TrainingError(
            "The model {model} knows one text at a time, so it cannot learn from "
            "pairs. Take the second text column away, or choose another model.",
            model=loaded.model_id,
        )
