"""A whole fine-tuning run: from a model and rows to a judged model in a folder."""

import contextlib
import dataclasses
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core import visitor_files
from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.errors import BertVizError, CheckpointError, reason_of
from bertviz_core.explorer import Explorer
from bertviz_core.trace import LoadReport
from bertviz_core.training.checkpoint import keep_newest, read_latest
from bertviz_core.training.events import Tell, TensorBoardLog, TrainingEvent
from bertviz_core.training.finetune import run_files
from bertviz_core.training.finetune.baselines import Baseline, count_words, simplest
from bertviz_core.training.finetune.bundle import pack_model, write_model_folder
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.estimate import require_room
from bertviz_core.training.finetune.evaluation import Report, judge, metric_name
from bertviz_core.training.finetune.row_prediction import predict_rows
from bertviz_core.training.finetune.run_history import said
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.finetune.split import oversampled
from bertviz_core.training.finetune.trainer import TrainedModel, Trainer, require_fit
from bertviz_core.training.precision import chosen_precision
from bertviz_core.training.settings import fingerprint_of
from bertviz_core.weights import as_numpy
from bertviz_core.whole_files import new_folder


@dataclass(frozen=True)
class FinetuneResult(TrainedModel):
    """A trained model and all that is known of it, beside what `TrainedModel` says."""

    loaded: LoadedModel  # `bert` with its words and labels; opens like any other
    base_model_id: str  # what it was trained from
    settings: FinetuneSettings  # of the run
    data: TrainingData  # the rows
    report: Report  # on the test rows, of the finished model
    baselines: tuple[Baseline, ...]  # simple methods on the same rows
    data_hash: str  # SHA-256 of the rows
    base_hash: str  # SHA-256 of the weights that the run began with


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
        progress: told each event; may raise to cancel.
        should_stop: asked after each step; true ends the run with its best epoch.
        work_folder: keeps the state after each epoch and at a stop, so that the same
            call goes on; the caller removes it. `None` keeps nothing.
        counts_words: false leaves that out, as where a process died of it.

    Returns:
        The model of the best epoch with its report.

    Raises:
        TrainingError: see `Trainer.run`; rows, settings and model do not fit each
            other; `work_folder` is of another run, or its disk has too little room for
            checkpoints and model.
    """
    # Refusals come before the minutes that it may take to count words.
    require_fit(loaded, data, settings)
    repeated = oversampled(data, settings.seed) if settings.oversample else data
    base_hash, data_hash = weights_hash(loaded), data.fingerprint()
    text = f"{fingerprint_of(settings)} {base_hash} {data_hash}"
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    precision = settings.precision
    if work_folder is not None:
        there = read_latest(work_folder, f"{fingerprint} ", False, anew="--restart")
        if there is not None:
            precision = there.fingerprint.rpartition(" ")[2]
        require_room(work_folder, loaded, settings, len(data.labels))
    precision = chosen_precision(precision)
    metric = metric_name(data.is_regression, settings)
    baselines = _simple_methods(data, metric, progress, counts_words)
    trained = Trainer(
        loaded,
        repeated,
        dataclasses.replace(settings, precision=precision),
        progress,
        should_stop,
        work_folder,
        f"{fingerprint} {precision}",
    ).run()
    finished = _as_loaded(loaded, trained, data)
    return FinetuneResult(
        **vars(trained),
        loaded=finished,
        base_model_id=loaded.model_id,
        settings=settings,
        data=data,
        report=judge(data, _answers(finished, data, settings, progress)),
        baselines=baselines,
        data_hash=data_hash,
        base_hash=base_hash,
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
    reached = {"metric_name": metric, "metric": getattr(counted.report, metric)}
    tell(TrainingEvent("compared", chosen=counted.chosen, **reached))
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
    )[0]


def _as_loaded(
    loaded: LoadedModel, trained: TrainedModel, data: TrainingData
) -> LoadedModel:
    report = LoadReport("huggingface", (), (), (), 0, ())
    # A hub name's own slashes and revision would read like a place.
    name = Path(loaded.model_id.split("@")[0]).name or "model"
    return LoadedModel(
        f"{name}-fine-tuned",
        trained.bert,
        loaded.tokenizer,
        data.labels,
        report,
        documents=loaded.documents,
    )


# The file that pages read is written no more often than this.
WRITE_SECONDS = 0.5
# Beside these, the file is written when one of them is told.
_TURNS = ("compared", "epoch", "unsaved", "ended", "begun")


class _StoppedEarlyError(Exception):
    """Someone asked to stop before there was anything to keep."""


class TrainingRun:
    """Trains what a run's folder asks for and leaves everything in it.

    A folder in which a run broke off goes on from its last epoch; see `run_files`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.request = run_files.read_request(folder)
        self._written_at = float("-inf")
        self._logs: list[TensorBoardLog] = []
        self.history = run_files.read_history(folder)
        self._began_at = time.monotonic() - self.history.seconds
        # The process died of it: once words are counted, there is a bar.
        self._was_comparing = self.history.phase == "compare" and not self.history.bar
        if self.history.log:
            self.history.restart()
        else:  # it has only waited
            self.history.is_asked = False
        self.history.num_epochs = self.request.settings.epochs

    def run(
        self,
        open_model: Callable[[str], LoadedModel],
        read_data: Callable[[], TrainingData],
    ) -> None:
        """Runs to the end, which the folder then tells; a `BertVizError` it tells, too.

        The two functions give the model to begin with and the rows.
        """
        with self._ended_in_the_folder():
            self.history.language = _language_of(self.request.model)
            self._write()
            if (self.folder / run_files.KEPT).exists():  # it broke off after that
                self._end_well(self.history.ending)
                return
            loaded = open_model(self.request.model)
            data = read_data()
            if not self.history.log:
                rows = {"train": len(data.train), "test": len(data.test)}
                if len(data.validation):
                    told = said("begins", validation=len(data.validation), **rows)
                else:
                    told = said("begins_without_validation", **rows)
                self.history.say(told)
            if self.request.tensorboard:
                self._logs.append(TensorBoardLog(self.folder / run_files.LOG_FOLDER))
            result = finetune(
                loaded,
                data,
                self.request.settings,
                self._take,
                self._should_stop,
                self.folder / run_files.WORK,
                counts_words=not self._was_comparing,  # the same might kill it again
            )
            self._keep(result)
            self._end_well(result.ending)

    @contextlib.contextmanager
    def _ended_in_the_folder(self) -> Iterator[None]:
        try:
            yield
        except _StoppedEarlyError:
            self._tell_stop()
            self.history.say(said("stopped_early"))
            self._end("stopped")
        except BertVizError as error:
            self._end("failed", error)
            raise
        except OSError as error:
            told = run_files.cannot_write(reason_of(error))
            self._end("failed", told)
            raise told from error
        finally:
            for log in self._logs:
                log.close()

    def _take(self, event: TrainingEvent) -> None:
        self.history.seconds = time.monotonic() - self._began_at
        if event.ending == "asked":
            self._tell_stop()
        self.history.take(event)
        for log in self._logs:
            log.take(event)
        is_before = event.kind in ("compare", "tokenize", "cache")
        # After an accident there may be an epoch to keep, which the trainer takes up.
        if is_before and self._should_stop() and not run_files.has_epoch(self.folder):
            raise _StoppedEarlyError
        is_due = time.monotonic() - self._written_at >= WRITE_SECONDS
        # Of the last ones a process that goes on has to know.
        is_turn = event.kind in _TURNS
        if is_due or is_turn or (event.kind == "compare" and not event.fraction):
            self._write()

    def _should_stop(self) -> bool:
        return run_files.reason_to_stop(self.folder) is not None

    def _tell_stop(self) -> None:
        reason = run_files.reason_to_stop(self.folder)
        if reason == run_files.ABANDONED:
            minutes = round(visitor_files.lease_seconds() / 60)
            self.history.say(said("lease", minutes=minutes))
        elif reason == run_files.TIME_UP:
            minutes = round(visitor_files.max_training_seconds() / 60)
            self.history.say(said("time_up", minutes=minutes))

    def _keep(self, result: FinetuneResult) -> None:
        """Writes what the run leaves; the model appears last."""
        self.history.enter("pack")
        self._write()
        outputs = self.folder / f"new.{run_files.OUTPUTS}"
        # Of this model and of simple methods, each by its name.
        said: dict[str, Any] = {"model": result.report.outputs}
        said |= {one.name: one.report.outputs for one in result.baselines}
        np.savez(outputs, **said)
        # What an earlier stop has left stays until all is there.
        with new_folder(self.folder / visitor_files.MODEL) as scratch:
            try:
                write_model_folder(result, scratch, self.request.title)
            except CheckpointError as error:  # whose advice is for a command
                reason = str(error.details.get("reason", error))
                raise run_files.cannot_write(reason) from error
            pack_model(scratch, self.folder / run_files.BUNDLE)
            outputs.replace(self.folder / run_files.OUTPUTS)
        (self.folder / run_files.KEPT).touch()

    def _end_well(self, ending: str) -> None:
        """Packs the log and removes what only a run that goes on needs."""
        while self._logs:
            self._logs.pop().close()
        run_files.pack_log_of(self.folder)
        if ending == "asked":
            keep_newest(self.folder / run_files.WORK)
        else:
            for name in (run_files.LOG_FOLDER, run_files.WORK):
                shutil.rmtree(self.folder / name, ignore_errors=True)
        self._end("stopped" if ending == "asked" else "done")
        (self.folder / run_files.KEPT).unlink(missing_ok=True)

    def _end(self, state: str, error: BertVizError | None = None) -> None:
        self.history.seconds = time.monotonic() - self._began_at
        self.history.phase, self.history.seconds_left = "", None
        # Where the disk is full, this fails too, and the engine tells the error.
        with contextlib.suppress(OSError):
            run_files.write_progress(self.folder, self.history, state, error)
            visitor_files.renew(self.folder)

    def _write(self) -> None:
        self._written_at = time.monotonic()
        self.history.seconds = self._written_at - self._began_at
        try:
            run_files.write_progress(self.folder, self.history)
        except OSError:
            # A full disk ends nothing: the next word may find room. Where the owner
            # has removed the run, there is nobody left to train for.
            if not (self.folder / visitor_files.REQUEST).is_file():
                raise


def _language_of(model: str) -> str:
    """Of the model that a run begins with, which may be that of another run."""
    from bertviz_core.checkpoints.catalogue import language_of

    if not model.startswith(visitor_files.RUN_PREFIX):
        return language_of(model)
    before = visitor_files.run_folder(model.removeprefix(visitor_files.RUN_PREFIX))
    return run_files.read_history(before).language
