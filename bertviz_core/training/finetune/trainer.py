"""One fine-tuning run: epochs, the best one, and going on after an accident."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.training.checkpoint import Checkpoint, read_latest, save_checkpoint
from bertviz_core.training.events import Tell, TrainingEvent
from bertviz_core.training.finetune.batches import (
    Arrays,
    RowInputs,
    epoch_order,
    prepare_inputs,
    tokenize_parts,
    used_words,
)
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import EpochPoint, metric_name, metric_of
from bertviz_core.training.finetune.learner import Learner, finished_copy
from bertviz_core.training.finetune.settings import (
    FinetuneSettings,
    count_steps,
    learning_rates,
    steps_per_epoch,
)

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.model.bert import Bert

# Of a checkpoint.
_POINTS, _NUMBER, _LOSSES = "run/points", "run/best_epoch", "run/losses"
_WEIGHTS = "best/"


@dataclass(frozen=True)
class TrainedModel:
    """What a run leaves."""

    bert: Bert  # with the weights of the best epoch, see `finished_copy`
    points: tuple[EpochPoint, ...]  # of all epochs
    best_epoch: int  # from 1; 0 where none was whole
    ending: str  # one of `events.ENDINGS`
    metric: str  # name of what epochs were compared by
    precision: str  # that products were computed in
    steps: int  # that were taken
    epochs_run: int  # whole ones; 0 where the run was stopped within its first


class Trainer:
    """A run on a copy of a model that rows and settings fit, see `require_fit`.

    Args:
        tell: told each event, from now on: texts become tokens; may raise to cancel.
        should_stop: asked after each step and, where there is an epoch to keep, while
            an epoch is judged; true ends the run with its best.
        work_folder: where every epoch is kept, and the step at which the run was
            stopped, and looked for; `None` keeps none.
        fingerprint: names model, rows and settings; only a run of the same goes on.
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
        self.best_epoch = 0  # before the first
        self.best_weights: Arrays | None = None  # those that learn, by path
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
            self.learner, self._rows, self.data, self.tell
        )
        self._go_on()
        ending = self._epochs(train, validation)
        # Without a best one the first epoch has raised.
        self.learner.set_weights(cast("Arrays", self.best_weights))
        self.learner.restore_unit()
        is_whole = self.step >= self.in_epoch
        # That of the last step, not the one that would be next.
        epoch = len(self.points) + bool(self._losses)
        self._tell("ended", epoch=epoch, fraction=1.0, ending=ending, is_whole=is_whole)
        return TrainedModel(
            bert=finished_copy(self._loaded, self.learner.bert, self._words),
            points=tuple(self.points),
            best_epoch=self.best_epoch if is_whole else 0,
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
            if patience and len(self.points) - self.best_epoch >= patience:
                return "no_better"
            began_at = time.monotonic()
            was_stopped = self._one_epoch(train)
            if not all(map(math.isfinite, self._losses)):
                return self._after_no_number()
            if was_stopped:
                self._save()
            # A stop keeps the best epoch; where none has ended, what there is.
            if was_stopped and self.best_epoch:
                return "asked"
            # Where there is an epoch to keep, a stop need not wait for the judgement.
            ask = self.should_stop if self.best_epoch else lambda: False
            outputs = self.learner.outputs(validation, ask)
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
            left = None
            if num_timed:
                seconds = (time.monotonic() - began_at) / num_timed
                left = seconds * (self.num_steps - self.step)
            else:  # the first step may compile, and tells nothing
                began_at = time.monotonic()
            self._tell("step", loss=loss, learning_rate=rate, seconds_left=left)
            if self.should_stop():
                return True
        return False

    def _judge(self, outputs: np.ndarray, targets: np.ndarray, began_at: float) -> None:
        """Keeps the weights where they are better than before."""
        losses, self._losses = self._losses, []
        judged = metric = math.nan
        if len(targets):
            metric = metric_of(self.metric, outputs, targets)
            judged = self.learner.mean_loss(outputs, targets)
        seconds, mean = time.monotonic() - began_at, float(np.mean(losses))
        point = EpochPoint(mean, judged, metric, seconds)
        best = self.points[self.best_epoch - 1] if self.best_epoch else None
        self.points.append(point)
        if point.beats(best):
            self.best_epoch = len(self.points)
            self.best_weights = self.learner.weights(self.best_weights)
        self._tell(
            "epoch",
            epoch=len(self.points),
            loss=mean,
            metric=metric if len(targets) else None,
            validation_loss=judged if len(targets) else None,
            is_whole=len(losses) == self.in_epoch,
            seconds_left=seconds * (self.settings.epochs - len(self.points)),
        )

    def _after_no_number(self) -> str:
        if self.best_epoch:
            return "not_a_number"
        raise TrainingError(
            "The loss is no longer a number, so the training has stopped in its "
            "first epoch. Received: learning_rate={learning_rate}. Choose a smaller "
            "learning rate and start again.",
            learning_rate=self.settings.learning_rate,
        )

    def _tell(self, kind: str, **fields: Any) -> None:
        event = TrainingEvent(
            kind,
            epoch=min(len(self.points) + 1, self.settings.epochs),
            step=self.step,
            num_steps=self.num_steps,
            fraction=self.step / self.num_steps,
            metric_name=self.metric if len(self.data.validation) else "",
            best_epoch=self.best_epoch,
        )
        self.tell(dataclasses.replace(event, **fields))

    def _save(self) -> None:
        """Keeps the run on the disk; where that fails, memory has it still."""
        if self.work_folder is None:
            return
        points = [dataclasses.astuple(point) for point in self.points]
        best = (self.best_weights or {}).items()
        state = self.learner.state() | {f"{_WEIGHTS}{name}": v for name, v in best}
        state[_POINTS] = np.array(points, "float64")
        state[_NUMBER] = np.array(self.best_epoch, "int64")
        state[_LOSSES] = np.array(self._losses, "float64")
        checkpoint = Checkpoint(self.step, self.fingerprint, state)
        try:
            save_checkpoint(checkpoint, self.work_folder)
        except TrainingError as error:
            if self._is_kept:  # the epochs after it would only say the same again
                reason, done = str(error.details["reason"]), len(self.points)
                kept = self.kept_epoch
                self._tell("unsaved", epoch=done, kept_epoch=kept, reason=reason)
            self._is_kept = False
        else:
            self.kept_epoch, self._is_kept = len(self.points), True

    def _go_on(self) -> None:
        """Takes up what lies in the work folder, if anything does."""
        found = None
        if self.work_folder is not None:
            found = read_latest(self.work_folder, self.fingerprint, anew="--restart")
        if found is not None:
            state = dict(found.state)
            self.points = [EpochPoint(*map(float, row)) for row in state.pop(_POINTS)]
            self._losses = list(map(float, state.pop(_LOSSES)))
            self.best_epoch = int(state.pop(_NUMBER))
            names = [name for name in state if name.startswith(_WEIGHTS)]
            best = {name.removeprefix(_WEIGHTS): state.pop(name) for name in names}
            self.best_weights = best or None
            self.learner.set_state(state)
            self.step, self.kept_epoch = found.step, len(self.points)
        self._tell("begun", epoch=len(self.points), is_whole=not self._losses)


def require_fit(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> None:
    """Compares rows, settings and model before anything is built."""
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
