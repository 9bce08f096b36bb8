"""What a training tells while it goes, and how it is asked to stop; nothing heavy."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Why a run ended: all epochs done; no better epoch for `patience` epochs; someone
# asked; the loss was no number any more, and an epoch before it was kept.
ENDINGS = ("finished", "no_better", "asked", "not_a_number")


@dataclass(frozen=True)
class TrainingEvent:
    """A moment of a run."""

    # What it is about, in the order of a run: "compare", a simple method learns from
    # the rows; "compared", what it reached; "tokenize", texts become tokens; "cache",
    # frozen layers are computed once; "begun", steps begin, or go on; "step"; "epoch",
    # one has ended; "unsaved", it could not be written to the disk; "ended", and why;
    # "judge", the finished model reads the test rows.
    kind: str
    epoch: int = 0  # from 1; 0 before the first
    step: int = 0  # optimiser steps done
    num_steps: int = 0  # of all epochs; a run may end before
    fraction: float = 0.0  # of what `kind` is about, 0 to 1; for steps, of the run
    # Mean loss of the step, for "epoch" of its steps; `None` elsewhere.
    loss: float | None = None
    learning_rate: float | None = None  # of the step; `None` elsewhere
    # "accuracy", "macro_f1" or "r2". "" where no rows choose an epoch.
    metric_name: str = ""
    # For "epoch", on the validation rows, `None` where there are none; for "compared",
    # on the test rows, `None` where it could not be had.
    metric: float | None = None
    validation_loss: float | None = None  # for "epoch", as `metric`
    best_epoch: int = 0  # the best so far, from 1; 0 before the first
    # Whether all steps of an epoch were taken: for "epoch", of this one, for "ended",
    # of any, for "begun", of the last that had begun.
    is_whole: bool = True
    # Estimate for the rest of the run, for "judge" of the reading; `None` when unknown.
    seconds_left: float | None = None
    ending: str = ""  # one of `ENDINGS` for "ended", "" elsewhere
    kept_epoch: int = 0  # the last epoch on the disk, for "unsaved"; 0 for none
    reason: str = ""  # why there is no later one, as the system says it
    # For "compared", see `baselines.Baseline`.
    chosen: Mapping[str, Any] = field(default_factory=dict)


Tell = Callable[[TrainingEvent], None]


# DATA_CLASS_SCALAR of tensorflow/core/framework/summary.proto.
_SCALAR = 1


class TensorBoardLog:
    """Writes a summary of every step and every epoch.

    A run that goes on after an accident adds a file: TensorBoard takes the steps
    that come twice from the later one.
    """

    def __init__(self, folder: Path) -> None:
        import tensorflow as tf

        self._tf = tf
        # What `tf.summary.scalar` writes, which needs TensorBoard itself.
        kind = tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
        self._metadata = tf.compat.v1.SummaryMetadata(
            plugin_data=kind, data_class=_SCALAR
        )
        self._writer = tf.summary.create_file_writer(str(folder))
        self._is_broken = False

    def take(self, event: TrainingEvent) -> None:
        """Writes what an event tells; nothing any more once the disk took no more."""
        if self._is_broken:
            return
        if event.kind == "step":
            values = {
                "train/loss": event.loss,
                "train/learning_rate": event.learning_rate,
            }
        elif event.kind == "epoch":
            values = {
                "train/epoch_loss": event.loss,
                "validation/loss": event.validation_loss,
                f"validation/{event.metric_name}": event.metric,
            }
        else:
            return
        try:
            self._write(values, event.step)
        except self._tf.errors.OpError:  # a full disk; the training goes on without
            self._is_broken = True

    def close(self) -> None:
        """Writes what is left."""
        with contextlib.suppress(self._tf.errors.OpError):
            self._writer.close()

    def _write(self, values: Mapping[str, float | None], step: int) -> None:
        with self._writer.as_default():
            for name, value in values.items():
                if value is not None:
                    number = self._tf.constant(value, "float32")
                    self._tf.summary.write(name, number, step, self._metadata)


@contextlib.contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Turns the first Ctrl-C or SIGTERM into a wish to stop; a second one kills."""
    asked = threading.Event()
    before: dict[int, Any] = {}

    def ask(number: int, _: Any) -> None:
        asked.set()
        signal.signal(number, before[number])

    for number in (int(signal.SIGINT), int(signal.SIGTERM)):
        before[number] = signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number in before:
            signal.signal(number, before[number])
