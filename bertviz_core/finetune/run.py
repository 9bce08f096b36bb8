"""A whole fine-tuning run: from a loaded model and rows to a judged model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.baselines import Baseline, count_words, simplest
from bertviz_core.finetune.dataset import TrainingData
from bertviz_core.finetune.disk_room import require_room
from bertviz_core.finetune.evaluation import Report, judge
from bertviz_core.finetune.metrics import EpochPoint, metric_name
from bertviz_core.finetune.network import finished_copy
from bertviz_core.finetune.row_prediction import predict_rows
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.finetune.trainer import TrainedModel, Trainer
from bertviz_core.trace import LoadReport
from bertviz_core.training.checkpoint import read_latest
from bertviz_core.training.events import Tell, TrainingEvent
from bertviz_core.training.settings import fingerprint_of
from bertviz_core.weights import as_numpy


@dataclass(frozen=True)
class FinetuneResult:
    """A trained model and all that is known of it.

    Args:
        loaded: the model with its classifier, float32; opens like any other.
        base_model_id: what it was trained from.
        settings: of the run.
        data: the rows.
        report: on the test rows, of the finished model.
        baselines: simple methods on the same rows.
        points: a point for each epoch.
        best_epoch: from 1; its weights are in `loaded`.
        ending: one of `events.ENDINGS`.
        metric: name of what epochs were compared by.
        precision: that products were computed in.
        steps, epochs_run: see `TrainedModel`.
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
    steps: int
    epochs_run: int
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
    counts_words: bool = True,
) -> FinetuneResult:
    """Counts words, trains a copy of a model on the same rows, and judges both.

    Args:
        loaded: stays as it is.
        data: the rows.
        settings: of the run.
        progress: told each event; may raise to cancel.
        should_stop: asked after each step; true ends the run with its best epoch.
        work_folder: keeps the state after each epoch and at a stop, so that the same
            call goes on; the caller removes it. `None` keeps nothing.
        counts_words: false leaves that out, as where a process died of it.

    Returns:
        The model of the best epoch with its report.

    Raises:
        TrainingError: see `Trainer`; `work_folder` is of another run, or its disk has
            too little room for checkpoints and model.
    """
    began_at = time.monotonic()
    base_hash, data_hash = weights_hash(loaded), data.fingerprint()
    text = f"{fingerprint_of(settings)} {base_hash} {data_hash}"
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    if work_folder is not None:
        # Before the minutes that it may take to count words.
        read_latest(
            work_folder / "checkpoints",
            fingerprint,
            with_state=False,
            anew="--restart",
        )
        require_room(work_folder, loaded, settings, len(data.labels))
    metric = metric_name(data.is_regression, settings)
    baselines = _simple_methods(data, metric, progress, counts_words)
    trained = Trainer(
        loaded, data, settings, progress, should_stop, work_folder, fingerprint
    ).run()
    finished = _as_loaded(loaded, trained, data)
    return FinetuneResult(
        loaded=finished,
        base_model_id=loaded.model_id,
        settings=settings,
        data=data,
        report=judge(data, _answers(finished, data, settings, progress)),
        baselines=baselines,
        points=trained.points,
        best_epoch=trained.best_epoch,
        ending=trained.ending,
        metric=metric,
        precision=trained.precision,
        steps=trained.steps,
        epochs_run=trained.epochs_run,
        data_hash=data_hash,
        base_hash=base_hash,
        seconds=time.monotonic() - began_at,
    )


def weights_hash(loaded: LoadedModel) -> str:
    """SHA-256 of all weights, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for weight in sorted(loaded.model.weights, key=lambda weight: weight.path):
        digest.update(weight.path.encode())
        digest.update(as_numpy(weight).tobytes())
    return digest.hexdigest()


def _simple_methods(
    data: TrainingData, metric: str, tell: Tell, counts_words: bool
) -> tuple[Baseline, ...]:
    """What the model has to beat; `tell` hears of it before anything learns."""

    def told(share: float) -> None:
        tell(TrainingEvent("compare", fraction=share))

    counted = count_words(data, metric, told) if counts_words else None
    if counted is None:
        tell(TrainingEvent("compared"))
        return (simplest(data),)
    score = getattr(counted.report, metric)
    tell(
        TrainingEvent(
            "compared", metric_name=metric, metric=score, chosen=counted.chosen
        )
    )
    return simplest(data), counted


def _answers(
    finished: LoadedModel, data: TrainingData, settings: FinetuneSettings, tell: Tell
) -> np.ndarray:
    """What the finished model says of the test rows, see `judge`.

    The network that learned may have computed in bfloat16: what is reported is
    what the model that is handed out says.
    """
    part, began_at = data.test, time.monotonic()

    def told(share: float, _: str) -> None:
        seconds = time.monotonic() - began_at
        left = seconds * (1 - share) / share if share else None
        tell(TrainingEvent("judge", fraction=share, seconds_left=left))

    return predict_rows(
        Explorer(finished), part.texts, part.pairs, settings.max_tokens, told
    ).outputs


def _as_loaded(
    loaded: LoadedModel, trained: TrainedModel, data: TrainingData
) -> LoadedModel:
    model = finished_copy(loaded, trained.bert)
    report = LoadReport("huggingface", (), (), (), 0, ())
    # A hub name's own slashes and revision would read like a place.
    name = Path(loaded.model_id.split("@")[0]).name or "model"
    return LoadedModel(
        f"{name}-fine-tuned",
        model,
        loaded.tokenizer,
        data.labels,
        report,
        documents=loaded.documents,
    )
