"""The network in training: steps, outputs, weights, and what the next step needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from bertviz_core.finetune.batches import Arrays, by_length
from bertviz_core.finetune.dataset import TrainingData
from bertviz_core.finetune.network import FrozenPart, Network, copy_to_train
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.training.checkpoint import named_variables, read_state, write_state
from bertviz_core.training.optimizer import AdamW, decays
from bertviz_core.training.precision import chosen_precision
from bertviz_core.weights import as_numpy

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.finetune.inputs import RowInputs
    from bertviz_core.model.bert import Bert

# To decay is to read and write each weight, for a large model and short rows a
# twentieth of a step; and what one step takes off, often 5e-7 of a weight, is hardly
# more than the 1.2e-7 by which two numbers of float32 are apart.
_DECAY_STEPS = 8
_DUE = "run/due_rates"


class Learner:
    """A copy of a model with its optimiser.

    Weights decay at every eighth step, then for eight of them, and before anybody
    reads them.

    Args:
        loaded: stays as it is.
        data: reads the labels and the training targets.
        settings: of the run.
        words: int `[U]`, the ids that occur; the network reads their places among
            these. `None`: it reads ids.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        data: TrainingData,
        settings: FinetuneSettings,
        words: np.ndarray | None = None,
    ) -> None:
        self.settings = settings
        self.precision = chosen_precision(settings.precision)
        policy = "mixed_bfloat16" if self.precision == "bfloat16" else "float32"
        self.bert, self.learns_pooler = copy_to_train(
            loaded, len(data.labels), settings.seed, policy, words
        )
        self._random = list(self.bert.non_trainable_variables)
        self.num_frozen = num_frozen(settings, len(self.bert.blocks))
        targets = data.train.targets
        has_weights = settings.class_weights and not data.is_regression
        balance = class_weights(targets, len(data.labels)) if has_weights else None
        self.network = Network(
            self.bert,
            self.num_frozen,
            self.learns_pooler,
            balance,
            data.is_regression,
            dtype=policy,
        )
        # Numbers are learned around 0 with a spread of 1; `restore_unit` undoes it.
        self.mean, self.spread = 0.0, 1.0
        if data.is_regression:
            wide = targets.astype("float64")  # squares of large numbers
            self.mean, self.spread = float(wide.mean()), float(wide.std()) or 1.0
        self._frozen_parts: dict[bool, FrozenPart] = {}
        self.optimizer = self._compile()
        self._decaying = list(filter(decays, self.network.trainable_variables))
        self._due_rates: list[float] = []  # of the steps since weights decayed

    def _compile(self) -> AdamW:
        asked = self.settings.optimizer
        optimizer = AdamW(
            learning_rate=asked.learning_rate,
            weight_decay=0.0,  # `_decay` does it
            beta_1=asked.beta_1,
            beta_2=asked.beta_2,
            epsilon=asked.epsilon,
            global_clipnorm=asked.clip_norm or None,
        )
        optimizer.build(self.network.trainable_variables)
        # As in pre-training: TensorFlow's products on a CPU are faster without XLA.
        self._jit = "auto" if keras.backend.backend() == "jax" else False
        self.network.compile(optimizer, jit_compile=self._jit)
        return optimizer

    def step(self, inputs: Arrays, targets: np.ndarray, rate: float) -> float:
        """One optimiser step.

        Args:
            inputs: see `Network`.
            targets: int `[B]`, or float around 0.
            rate: learning rate.

        Returns:
            The mean loss before it.
        """
        self.optimizer.learning_rate = rate
        logs = self.network.train_on_batch(inputs, targets, return_dict=True)
        self._due_rates.append(rate)
        if len(self._due_rates) == _DECAY_STEPS:
            self._decay()
        return float(logs["loss"])

    def _decay(self) -> None:
        """What is due of AdamW's decay (Loshchilov and Hutter, arXiv:1711.05101)."""
        decay = self.settings.weight_decay
        kept = math.prod(1.0 - decay * rate for rate in self._due_rates)
        self._due_rates.clear()
        if kept != 1.0:
            for variable in self._decaying:
                variable.assign(variable * kept)

    def outputs(
        self, rows: RowInputs, should_stop: Callable[[], bool] = lambda: False
    ) -> np.ndarray | None:
        """Float32 `[R, C]` of all rows, without dropout.

        Args:
            rows: R of them.
            should_stop: asked before each batch; true ends it with `None`.
        """
        self._decay()
        found = np.empty((len(rows.targets), self.bert.num_labels), "float32")
        for chosen in by_length(rows.lengths, 2 * self.settings.batch_size):
            if should_stop():
                return None
            found[chosen] = self.network.predict_on_batch(rows.batch(chosen))
        return found

    def frozen_outputs(
        self, batches: Iterable[Arrays], reads_pooled: bool
    ) -> Iterable[np.ndarray]:
        """What the frozen layers make of batches of tokens, see `FrozenPart`."""
        part = self._frozen_parts.get(reads_pooled)
        if part is None:  # once: a second one would be compiled again
            policy = self.network.dtype_policy
            part = FrozenPart(self.network, reads_pooled, dtype=policy)
            part.compile(jit_compile=self._jit)
            self._frozen_parts[reads_pooled] = part
        for batch in batches:
            yield part.predict_on_batch(batch)

    def mean_loss(self, outputs: np.ndarray, targets: np.ndarray) -> float:
        """The loss of outputs that are known."""
        losses = self.network.row_losses(targets, keras.ops.convert_to_tensor(outputs))
        return float(keras.ops.mean(losses))

    def weights(self, into: Arrays | None = None) -> Arrays:
        """Copies of the weights that learn, by path.

        Args:
            into: what an earlier call gave, to be written over: two copies of a large
                model may not fit into memory.
        """
        self._decay()
        found = {} if into is None else into
        for variable in self.network.trainable_variables:
            if into is None:
                found[variable.path] = np.array(as_numpy(variable))
            else:
                np.copyto(found[variable.path], as_numpy(variable))
        return found

    def set_weights(self, weights: Arrays) -> None:
        """Puts back what `weights` gave."""
        for variable in self.network.trainable_variables:
            variable.assign(weights[variable.path])
        self._due_rates.clear()

    def state(self) -> Arrays:
        """All that the next step depends on."""
        due = np.array(self._due_rates, "float64")
        return read_state(self._variables()) | {_DUE: due}

    def set_state(self, state: Arrays) -> None:
        """Takes what `state` gave.

        Raises:
            ValueError: of another network.
        """
        state = dict(state)
        # At the end of an epoch nothing is due, and earlier versions kept no other.
        self._due_rates = list(map(float, state.pop(_DUE, ())))
        write_state(self._variables(), state)

    def centred(self, targets: np.ndarray) -> np.ndarray:
        """Targets as the network learns them."""
        if not self.network.is_regression:
            return targets.astype("int32")
        return ((targets - self.mean) / self.spread).astype("float32")

    def restore_unit(self) -> None:
        """Lets the head answer in the unit of the targets from now on."""
        dense = self.bert.classifier.dense
        if self.network.is_regression:
            dense.kernel.assign(as_numpy(dense.kernel) * self.spread)
            dense.bias.assign(as_numpy(dense.bias) * self.spread + self.mean)

    def _variables(self) -> dict[str, Any]:
        return named_variables(
            self.network.trainable_variables, self._random, self.optimizer.variables
        )


def num_frozen(settings: FinetuneSettings, num_layers: int) -> int:
    """Blocks that do not learn, from below; 0: the embeddings learn as well."""
    if settings.level == "head":
        return num_layers
    if settings.level == "top":
        return max(num_layers - settings.num_top_layers, 0)
    return 0


def num_learning(model: Bert, settings: FinetuneSettings, num_labels: int) -> int:
    """Numbers that move in a training on a copy of a model, if all words occur.

    Args:
        model: to begin with; a pooler that it lacks is drawn, and learns.
        settings: reads the level and the number of layers.
        num_labels: C.
    """
    size, frozen = model.config.hidden_size, num_frozen(settings, len(model.blocks))
    learns_encoder = frozen < len(model.blocks)
    parts: list[Any] = [*model.blocks[frozen:]]
    if not frozen:
        parts.append(model.embeddings)
    if learns_encoder and model.final_norm is not None:
        parts.append(model.final_norm)
    count = sum(part.count_params() for part in parts) + (size + 1) * num_labels
    learns_pooler = learns_encoder or "pooler" not in model.heads
    return int(count + (size + 1) * size * learns_pooler)


def class_weights(targets: np.ndarray, num_classes: int) -> np.ndarray:
    """Weighs classes by how rare they are; the mean over the rows is 1.

    Args:
        targets: int `[R]`.
        num_classes: C.

    Returns:
        float64 `[C]`; 0 for a class without rows.

    Source:
        King and Zeng 2001, "Logistic regression in rare events data", section 4.2.
    """
    from sklearn.utils.class_weight import compute_class_weight

    present, weights = np.unique(targets), np.zeros(num_classes)
    weights[present] = compute_class_weight("balanced", classes=present, y=targets)
    return weights
