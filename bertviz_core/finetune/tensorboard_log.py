"""The curves of a run in the format that TensorBoard reads."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from bertviz_core.finetune.events import TrainingEvent

# DATA_CLASS_SCALAR of tensorflow/core/framework/summary.proto.
_SCALAR = 1


class TensorBoardLog:
    """Writes a summary of every step and every epoch.

    A run that goes on after an accident adds a file: TensorBoard takes the steps
    that come twice from the later one.

    Args:
        folder: made if need be.
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
