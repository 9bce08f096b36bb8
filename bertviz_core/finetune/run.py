"""A whole fine-tuning run: from a loaded model and rows to a judged model."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.baselines import Baseline, count_words, simplest
from bertviz_core.finetune.disk_room import require_room
from bertviz_core.finetune.evaluation import Report, judge
from bertviz_core.finetune.events import Tell, TrainingEvent
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.network import finished_copy
from bertviz_core.finetune.row_prediction import predict_rows
from bertviz_core.finetune.selection import EpochPoint
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.finetune.trainer import TrainedModel, Trainer
from bertviz_core.trace import LoadReport
from bertviz_core.weights import as_numpy


@dataclass(frozen=True)
class FinetuneResult:
    """A trained model and all that is known of it.

    Args:
        loaded: the model with its classifier, float32; opens like any other.
        base_model_id: what it was trained from.
        settings: of the run.
        data: the rows.
        report: on the validation rows.
        baselines: simple methods on the same rows.
        points: a point for each epoch.
        best_epoch: from 1; its weights are in `loaded`.
        ending: one of `events.ENDINGS`.
        metric: name of what epochs were compared by.
        precision: that products were computed in.
        is_read_again: whether `report` is of the finished model, in float32; else it
            is of the network that learned, after the best epoch, in `precision`.
        data_hash: SHA-256 of the rows.
        base_hash: SHA-256 of the weights that the run began with.
        seconds: that this go took.
    """

    loaded: LoadedModel
    base_model_id: str
    settings: FinetuneSettings
    data: TrainingData
    report: Report
    baselines: tuple[Baseline, ...]
    points: tuple[EpochPoint, ...]
    best_epoch: int
    ending: str
    metric: str
    precision: str
    is_read_again: bool
    data_hash: str
    base_hash: str
    seconds: float


def finetune(
    loaded: LoadedModel,
    data: TrainingData,
    settings: FinetuneSettings,
    progress: Tell = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    work_folder: Path | None = None,
    keep: Callable[[FinetuneResult], object] = lambda _: None,
) -> FinetuneResult:
    """Trains a copy of a model on rows, judges it, and counts words beside it.

    Args:
        loaded: stays as it is.
        data: rows to learn from and to judge by.
        settings: of the run.
        progress: told each event; may raise to cancel.
        should_stop: asked after each step; true ends the run with its best epoch.
            Who has not stopped the training may stop the last reading of the
            validation rows: the report is then of what the best epoch said of them.
        work_folder: keeps the state after each epoch, so that the same call goes
            on after a crash; the caller removes it. `None` keeps nothing.
        keep: given the result before words are counted, which may take as much
            memory as a training: nothing is lost when the process dies of it.

    Returns:
        The model of the best epoch with its report.

    Raises:
        TrainingError: see `Trainer`; or the disk of `work_folder` has too little
            room for checkpoints and model.
    """
    began_at = time.monotonic()
    if work_folder is not None:
        sizes = len(data.labels), len(data.validation)
        require_room(work_folder, loaded, settings, *sizes)
    base_hash, data_hash = weights_hash(loaded), data.fingerprint()
    # The last word: checkpoints hold the table of the words that occur, no other.
    text = f"{settings.to_json()} {base_hash} {data_hash} words"
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    trained = Trainer(
        loaded, data, settings, progress, should_stop, work_folder, fingerprint
    ).run()
    finished = _as_loaded(loaded, trained, data)
    answers, is_read_again = _answers(
        finished, trained, data, settings, progress, should_stop
    )
    result = FinetuneResult(
        loaded=finished,
        base_model_id=loaded.model_id,
        settings=settings,
        data=data,
        report=judge(data, answers),
        baselines=(simplest(data),),
        points=trained.points,
        best_epoch=trained.best_epoch,
        ending=trained.ending,
        metric=trained.metric,
        precision=trained.precision,
        is_read_again=is_read_again,
        data_hash=data_hash,
        base_hash=base_hash,
        seconds=time.monotonic() - began_at,
    )
    keep(result)
    return _with_counted_words(result, progress, should_stop)


def weights_hash(loaded: LoadedModel) -> str:
    """SHA-256 of all weights, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for weight in sorted(loaded.model.weights, key=lambda weight: weight.path):
        digest.update(weight.path.encode())
        digest.update(as_numpy(weight).tobytes())
    return digest.hexdigest()


def _with_counted_words(
    result: FinetuneResult, tell: Tell, should_stop: Callable[[], bool]
) -> FinetuneResult:
    """Adds a linear model on word counts; where that fails, `tell` hears of it."""
    gc.collect()  # what trained, full of cycles
    # Who stopped the training has asked already, and meant the training.
    was_stopped = result.ending == "asked"
    counted, reason = count_words(
        result.data,
        lambda share: tell(TrainingEvent("compare", fraction=share)),
        (lambda: False) if was_stopped else should_stop,
    )
    if reason:
        tell(TrainingEvent("left_out", reason=reason))
    if counted is None:
        return result
    return dataclasses.replace(result, baselines=(*result.baselines, counted))


class _ReadingStoppedError(Exception):
    """Someone asked to stop while the finished model was reading."""


def _answers(
    finished: LoadedModel,
    trained: TrainedModel,
    data: TrainingData,
    settings: FinetuneSettings,
    tell: Tell,
    should_stop: Callable[[], bool],
) -> tuple[np.ndarray, bool]:
    """What the finished model says of the validation rows, see `judge`.

    The network that learned may have computed in bfloat16: what is reported is
    what the model that is handed out says.

    Returns:
        The answers, and whether they are those of the finished model: where someone
        stops it, they are what was said in training, if that is known.
    """
    part, began_at = data.validation, time.monotonic()
    # Who stopped the training has asked already, and meant the training.
    known = None if trained.ending == "asked" else trained.outputs

    def told(share: float, _: str) -> None:
        seconds = time.monotonic() - began_at
        left = seconds * (1 - share) / share if share else None
        tell(TrainingEvent("judge", fraction=share, seconds_left=left))
        if known is not None and should_stop():
            raise _ReadingStoppedError

    try:
        found = predict_rows(
            Explorer(finished), part.texts, part.pairs, settings.max_tokens, told
        )
    except _ReadingStoppedError:
        if known is None:
            raise
        epoch, precision = trained.best_epoch, trained.precision
        tell(TrainingEvent("unread", kept_epoch=epoch, reason=precision))
        return known, False
    return found.outputs, True


def _as_loaded(
    loaded: LoadedModel, trained: TrainedModel, data: TrainingData
) -> LoadedModel:
    model = finished_copy(loaded, trained.bert)
    report = LoadReport("huggingface", (), (), (), 0, ())
    # A hub name's own slashes and revision would read like a place.
    name = Path(loaded.model_id.split("@")[0]).name or "model"
    return LoadedModel(
        f"{name}-fine-tuned", model, loaded.tokenizer, data.labels, report
    )
