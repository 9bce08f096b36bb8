"""The model in training: builds it, runs steps, gives and takes its state."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from bertviz_core.checkpoints.export import save_model
from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.config import BertConfig
from bertviz_core.errors import TrainingError
from bertviz_core.model.bert import PRETRAINING_HEADS, Bert
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import LoadReport
from bertviz_core.training.checkpoint import named_variables, read_state, write_state
from bertviz_core.training.distribution import num_replicas, on_devices, running_on
from bertviz_core.training.fast import made_fast
from bertviz_core.training.optimizer import make_optimizer
from bertviz_core.training.precision import chosen_precision
from bertviz_core.training.pretrain.batches import Batch, Batches
from bertviz_core.training.pretrain.initial import continued_positions
from bertviz_core.training.pretrain.objective import PretrainingModel
from bertviz_core.training.pretrain.settings import PretrainSettings
from bertviz_core.weights import as_numpy, copy_weights, truncated_normal

Arrays = dict[str, np.ndarray]
_INITIALISING = 3  # stream of random numbers; 0 to 2 are those of `Batches`


class Trainer:
    """A model and its optimiser.

    Args:
        vocab_size: word pieces that there are, at most `settings.model.vocab_size`.
        num_devices: of this machine to use.

    Raises:
        TrainingError: there are fewer devices, or a batch cannot be shared out
            equally among them.
    """

    def __init__(
        self, settings: PretrainSettings, vocab_size: int, num_devices: int = 1
    ) -> None:
        precision = chosen_precision(settings.precision)
        settings = dataclasses.replace(settings, precision=precision)
        self.settings = settings
        self.config = training_config(settings, vocab_size)
        policy = "mixed_bfloat16" if precision == "bfloat16" else "float32"
        self.num_devices = num_devices
        with on_devices(num_devices):
            _require_equal_parts(settings, num_devices)
            bert = Bert(self.config, PRETRAINING_HEADS, dtype=policy)
            self.bert = made_fast(bert)
            self.model = PretrainingModel(self.bert, settings.remat, dtype=policy)
            _initialise(self.model, self.config, settings.seed)
            optimizer = make_optimizer(
                settings.optimizer,
                settings.stretches,
                precision,
                self.model.trainable_variables,
            )
            # XLA is what JAX is; TensorFlow's products on a CPU are faster
            # without it.
            is_jax = keras.backend.backend() == "jax"
            self.model.compile(optimizer, jit_compile="auto" if is_jax else False)
        self.optimizer = optimizer
        self._phase_index = -1

    def run(
        self,
        batches: Batches,
        phase_index: int,
        first_step: int,
        num_steps: int,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> StretchReport:
        """Runs some optimiser steps of a phase, the first of which is counted from 0.

        `should_stop` is asked after each step; true ends the stretch there. Nothing to
        read is a `TrainingError`.
        """
        if phase_index != self._phase_index:
            if first_step == 0 and self.settings.continue_positions:
                self._continue_positions(phase_index)
            # Another length: compile for it, rather than for any length.
            self.model.make_train_function(force=True)
            self._phase_index = phase_index
        data = StepBatches(batches, phase_index, first_step, num_steps)
        report = StretchReport(data, should_stop)
        batches.prepare(phase_index, first_step)
        with running_on(self.num_devices):
            self.model.fit(data, epochs=1, shuffle=False, verbose=0, callbacks=[report])
        return report

    def _continue_positions(self, phase_index: int) -> None:
        if self.settings.initial_model is not None:  # its positions are trained
            return
        before = [phase.max_tokens for phase in self.settings.phases[:phase_index]]
        longest = self.settings.phases[phase_index].max_tokens
        if before and longest > max(before):
            table = self.bert.embeddings.position_embeddings
            table.assign(continued_positions(as_numpy(table), max(before)))

    def state(self) -> Arrays:
        """All that the next step depends on, by names that no backend changes."""
        return read_state(self._variables())

    def set_state(self, state: Arrays) -> None:
        """Takes what `state` gave."""
        write_state(self._variables(), state)

    @contextlib.contextmanager
    def running_mean(self) -> Iterator[None]:
        """The running mean of the weights, if there is one, stands in the model."""
        if not self.optimizer.use_ema:
            yield
            return
        variables = self.model.trainable_variables
        kept = [as_numpy(variable) for variable in variables]
        keras.optimizers.Optimizer.finalize_variable_values(self.optimizer, variables)
        try:
            yield
        finally:
            for variable, values in zip(variables, kept, strict=True):
                variable.assign(values)

    def _variables(self) -> dict[str, Any]:
        return named_variables(
            self.model.trainable_variables,
            self.model.non_trainable_variables,
            self.optimizer.variables,
        )


class StepBatches(keras.utils.PyDataset):
    """Batches of some steps in a row, see `Trainer.run`, made ahead by two threads."""

    def __init__(
        self, batches: Batches, phase_index: int, first_step: int, num_steps: int
    ) -> None:
        super().__init__(workers=2, use_multiprocessing=False, max_queue_size=8)
        self.batches = batches
        self.phase_index = phase_index
        self.first_step = first_step
        self.parts = batches.settings.optimizer.accumulation
        self.num_parts = num_steps * self.parts
        self.ready_at: dict[int, float] = {}

    def __len__(self) -> int:
        return self.num_parts

    def __getitem__(self, index: int) -> Batch:
        step, part = divmod(index, self.parts)
        batch = self.batches.batch(self.phase_index, self.first_step + step, part)
        self.ready_at[index] = time.perf_counter()
        return batch


class StretchReport(keras.callbacks.Callback):
    """What some steps in a row came to; ends the stretch when asked to.

    Planning an epoch and making the first batch are waiting like any other.

    Attributes:
        num_steps: optimiser steps that were run; fewer than asked after a stop.
        means: "loss", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy".
        seconds: from its making to the end of the last step.
        waiting_seconds: of these, how long a batch was not ready in time.
    """

    def __init__(self, data: StepBatches, should_stop: Callable[[], bool]) -> None:
        super().__init__()
        self.data = data
        self.should_stop = should_stop
        self.num_steps = 0
        self.means: dict[str, float] = {}
        self.waiting_seconds = 0.0
        self.began_at = self.ended_at = time.perf_counter()

    @property
    def seconds(self) -> float:
        return self.ended_at - self.began_at

    def on_epoch_end(self, epoch: int, logs: dict[str, Any]) -> None:
        self.means = {name: float(mean) for name, mean in logs.items()}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        # A batch that was ready only after the step before it had ended made the
        # trainer wait, wherever in the backend it waited.
        late = self.data.ready_at.get(batch, 0.0) - self.ended_at
        self.waiting_seconds += max(late, 0.0)
        self.ended_at = time.perf_counter()
        if (batch + 1) % self.data.parts == 0:
            self.num_steps += 1
            if self.should_stop():
                self.model.stop_training = True


def training_config(settings: PretrainSettings, vocab_size: int) -> BertConfig:
    """The model's config while it is trained: its real vocabulary and dropout."""
    return dataclasses.replace(
        settings.model,
        vocab_size=vocab_size,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
    )


def _require_equal_parts(settings: PretrainSettings, num_devices: int) -> None:
    """Unequal parts of a batch would weigh the same in the sum."""
    parts = settings.optimizer.accumulation
    is_tensorflow = keras.backend.backend() == "tensorflow"
    # Keras' optimisers on `tf.distribute` cannot put off their update.
    if parts > 1 and is_tensorflow and num_replicas() > 1:
        raise TrainingError(
            "On TensorFlow several devices cannot accumulate gradients. Received: "
            "accumulation={parts}. Choose accumulation=1 and a smaller batch_tokens, "
            "one device, or KERAS_BACKEND=jax.",
            parts=parts,
        )
    num_devices = max(num_devices, num_replicas())
    for phase in settings.phases:
        if phase.num_rows // parts % num_devices:
            raise TrainingError(
                "A batch cannot be shared out equally. Received: {rows} rows of "
                "{max_tokens} tokens, {devices} devices, accumulation={parts}. Choose "
                "batch_tokens so that the rows are a multiple of both.",
                rows=phase.num_rows,
                max_tokens=phase.max_tokens,
                devices=num_devices,
                parts=parts,
            )


def _initialise(model: keras.Model, config: BertConfig, seed: int) -> None:
    """Draws all weights; biases are 0 and gains 1 already."""
    rng = np.random.default_rng([seed, _INITIALISING])
    for variable in model.trainable_variables:
        name = variable.path.rsplit("/", 1)[-1]
        if name == "kernel" or name.endswith("_embeddings"):
            drawn = truncated_normal(rng, variable.shape, config.initializer_range)
            variable.assign(drawn)
    for variable in model.non_trainable_variables:  # states of dropout
        variable.assign(rng.integers(2**31, size=variable.shape).astype("uint32"))


def save_model_of(trainer: Trainer, tokenizer: BertTokenizer, folder: Path) -> None:
    """Writes the model as a Hugging Face folder, weights in float16.

    The config keeps the dropout rates of the settings, for fine-tuning. A folder that
    exists is replaced; one that cannot be written is a `CheckpointError`.
    """
    settings = trainer.settings
    config = dataclasses.replace(settings.model, vocab_size=tokenizer.vocab_size)
    bert = Bert(config, PRETRAINING_HEADS, kernel_initializer="zeros")
    copy_weights(bert, trainer.bert)
    report = LoadReport("huggingface", (), (), (), 0, ())
    loaded = LoadedModel(settings.model_name, bert, tokenizer, (), report)
    save_model(loaded, folder, half=True, replaces=True)
