"""The network in training: a copy of a model with a fresh head, and its optimiser.

Shapes in comments: B rows, T tokens, H hidden size, C classes or one number; Q
and K tokens.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from bertviz_core.model.bert import HEADS, Bert, with_pattern
from bertviz_core.model.taps import Tensor
from bertviz_core.training.checkpoint import named_variables, read_state, write_state
from bertviz_core.training.fast import made_fast
from bertviz_core.training.finetune.batches import Arrays, RowInputs, by_length
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.optimizer import AdamW, decays
from bertviz_core.training.precision import chosen_precision
from bertviz_core.weights import as_numpy, copy_weights, truncated_normal

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel


class OpenShapes(keras.Model):
    """A model whose `train_on_batch` and `predict_on_batch` never trace twice.

    Keras on TensorFlow traces a step again for the second and third shape that it
    meets, seconds each for a model of twelve layers. Other backends go their own
    way. Inputs are a dict of arrays; the last axis of floats is fixed, all others
    are open.
    """

    def compile(self, *args: Any, **kwargs: Any) -> None:
        super().compile(*args, **kwargs)
        if keras.backend.backend() == "tensorflow":
            self.train_function = _compiled(self.train_step)
            self.predict_function = _compiled(self.predict_step)


def _compiled(step: Callable[[Any], Any]) -> Callable[[Iterable[Any]], Any]:
    import tensorflow as tf

    made: dict[frozenset[str], Any] = {}

    def spec(array: np.ndarray) -> Any:
        shape: list[int | None] = [None] * array.ndim
        if array.ndim > 1 and array.dtype.kind == "f":
            shape[-1] = array.shape[-1]
        return tf.TensorSpec(shape, array.dtype)

    def run(batches: Iterable[Any]) -> Any:
        data = tuple(part for part in next(iter(batches)) if part is not None)
        names = frozenset(data[0])
        if names not in made:
            signature = [tf.nest.map_structure(spec, data)]
            made[names] = tf.function(step, input_signature=signature, autograph=False)
        return made[names](data)

    return run


_DRAWING = 0  # stream of random numbers; 1 is that of `batches`
_CLASSIFIER_HEADS = ("pooler", "classifier")


class Network(OpenShapes):
    """Logits of rows, from tokens or from what frozen layers made of them.

    Args:
        bert: from `copy_to_train`. The pooler reads the first token alone, so in its
            last block no other looks: nothing reads what the rest would become.
        num_frozen: blocks that do not learn; 0 means that the embeddings learn, too.
            All blocks frozen leaves the head, and the pooler where `learns_pooler`.
        balance: float `[C]`, what a row of each class counts in the loss; `None`
            for a regression, or where all count 1.
        is_regression: the loss is then the squared error.

    Call arguments:
        inputs: a dict with `pooled_output` float `[B, H]`, or with `attention_mask`
            int `[B, T]` and `states` float `[B, T, H]`, the output of block
            `num_frozen - 1`, or instead `input_ids` and `token_type_ids` int `[B, T]`.
        training: turns dropout on, in the layers that learn.

    Returns:
        float32 `[B, C]`.

    Source: Devlin et al. 2019, section 4.1; google-research/bert, `run_classifier.py`,
    `create_model`.
    """

    def __init__(
        self,
        bert: Bert,
        num_frozen: int,
        learns_pooler: bool,
        balance: np.ndarray | None,
        is_regression: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bert = bert
        self.num_frozen = num_frozen
        self.balance = None if balance is None else balance.astype("float32")
        self.is_regression = is_regression
        bert.embeddings.trainable = num_frozen == 0
        for index, block in enumerate(bert.blocks):
            block.trainable = index >= num_frozen
        learns_encoder = num_frozen < len(bert.blocks)
        self.reads_pooled = not (learns_encoder or learns_pooler)
        bert.pooler.trainable = learns_encoder or learns_pooler
        if bert.final_norm is not None:
            bert.final_norm.trainable = learns_encoder
        self.built = True  # a Bert builds itself

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        if "pooled_output" in inputs:
            pooled = inputs["pooled_output"]
        else:
            pooled = self.pooled(self.lower(inputs, training), inputs, training)
        logits = self.bert.classifier(pooled, training=training)
        return ops.cast(logits, "float32")

    def lower(self, inputs: dict[str, Tensor], training: bool | None) -> Tensor:
        """What enters the first block that learns, `[B, T, H]`.

        Where no block learns, what leaves the last, `[B, 1, H]`.
        """
        if "states" in inputs:
            return inputs["states"]
        # Frozen layers drop nothing, so that their output can be kept.
        learns = bool(training) and self.num_frozen == 0
        states = self.bert.embeddings(
            inputs["input_ids"], inputs["token_type_ids"], training=learns
        )
        return self._run(0, self.num_frozen, states, inputs, False)

    def pooled(
        self, states: Tensor, inputs: dict[str, Tensor], training: bool | None
    ) -> Tensor:
        """What the blocks that learn and the pooler make of states, `[B, H]`."""
        states = self._run(self.num_frozen, None, states, inputs, training)
        return self.bert.pooler(self.bert.after_blocks(states[:, 0]))

    def _run(
        self,
        start: int,
        end: int | None,
        states: Tensor,
        inputs: dict[str, Tensor],
        training: bool | None,
    ) -> Tensor:
        mask = inputs["attention_mask"]
        positions = ops.arange(ops.shape(mask)[1], dtype="int32")[None]
        mask = with_pattern(self.bert.config, positions, mask)
        states, _ = self.bert.encode(states, mask, start, end, training=training)
        return states[-1]

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        """Mean over the rows: cross entropy, or the squared error."""
        return ops.mean(self.row_losses(y, y_pred))

    def row_losses(self, targets: Tensor, logits: Tensor) -> Tensor:
        """Float32 `[B]`, what each row adds to the loss."""
        if self.is_regression:
            return ops.square(logits[:, 0] - ops.cast(targets, "float32"))
        losses = ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
        if self.balance is None:
            return losses
        return losses * ops.take(ops.convert_to_tensor(self.balance), targets, axis=0)


class FrozenPart(OpenShapes):
    """What the layers that do not learn make of tokens, to be kept.

    That is what `Network.lower` gives, or, where the pooler does not learn either,
    `pooled_output` `[B, H]`.
    """

    def __init__(self, network: Network, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.network = network
        self.built = True

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        found = self.network.lower(inputs, False)
        if self.network.reads_pooled:
            found = self.network.pooled(found, inputs, False)
        return ops.cast(found, "float32")


def copy_to_train(
    loaded: LoadedModel,
    num_labels: int,
    seed: int,
    policy: str,
    words: np.ndarray | None = None,
) -> tuple[Bert, bool]:
    """Copies the encoder of a model and draws a head, and a pooler where it has none.

    A word that occurs in no row learns nothing; it only decays, each like the other.
    So such words can be left out, which are most of the weights of a small model, and
    one row of ones stands for them: what has become of it has become of them. Of
    `words` int `[U]`, the ids to copy, or `None` for all, the copy reads their places.

    Weights are float32 by either Keras `policy`, "float32" or "mixed_bfloat16". Says,
    too, whether the pooler was drawn.
    """
    num_words = None if words is None else len(words) + 1
    bert = _empty_copy(loaded, _CLASSIFIER_HEADS, num_labels, policy, num_words)
    config, rng = bert.config, np.random.default_rng([seed, _DRAWING])
    has_pooler = "pooler" in loaded.model.heads
    drawn = [bert.classifier] if has_pooler else [bert.classifier, bert.pooler]
    for part in drawn:
        kernel = part.dense.kernel
        kernel.assign(truncated_normal(rng, kernel.shape, config.initializer_range))
    left_out = {v.path for part in drawn for v in part.weights}
    if words is not None:
        table = bert.embeddings.word_embeddings
        left_out.add(table.path)
        whole = as_numpy(loaded.model.embeddings.word_embeddings)
        table.assign(np.concatenate([whole[words], np.ones_like(whole[:1])]))
    copy_weights(bert, loaded.model, left_out)
    for state in bert.non_trainable_variables:  # of dropout
        state.assign(rng.integers(2**31, size=state.shape).astype("uint32"))
    return made_fast(bert, for_first_token=True), not has_pooler


def finished_copy(loaded: LoadedModel, trained: Bert, words: np.ndarray) -> Bert:
    """A float32 model with the trained encoder and classifier, and with all words.

    The word and sentence heads that the model had are kept as they were: they did
    not learn, but what they now read of the encoder can be looked at. `words` are those
    of `copy_to_train`.
    """
    heads = {*loaded.model.heads, *_CLASSIFIER_HEADS}
    ordered = tuple(head for head in HEADS if head in heads)
    bert = _empty_copy(loaded, ordered, trained.num_labels, "float32")
    learned = as_numpy(trained.embeddings.word_embeddings)
    table = as_numpy(loaded.model.embeddings.word_embeddings) * learned[-1]
    table[words] = learned[:-1]
    words_table = bert.embeddings.word_embeddings
    words_table.assign(table)
    copy_weights(bert, loaded.model, {weight.path for weight in trained.weights})
    copy_weights(bert, trained, {words_table.path})
    return bert


def _empty_copy(
    loaded: LoadedModel,
    heads: tuple[str, ...],
    num_labels: int,
    policy: Any,
    num_words: int | None = None,
) -> Bert:
    """Zeros, not draws: all of it is overwritten."""
    config = loaded.model.config
    few = dataclasses.replace(config, vocab_size=num_words or config.vocab_size)
    bert = Bert(few, heads, num_labels, kernel_initializer="zeros", dtype=policy)
    bert.config = config
    return bert


# To decay is to read and write each weight, for a large model and short rows a
# twentieth of a step; and what one step takes off, often 5e-7 of a weight, is hardly
# more than the 1.2e-7 by which two numbers of float32 are apart.
_DECAY_STEPS = 8
_DUE = "run/due_rates"


class Learner:
    """A copy of a model with its optimiser; `words` are those of `copy_to_train`.

    Weights decay at every eighth step, then for eight of them, and before anybody
    reads them.
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
        self.optimizer = self._compile()
        self._decaying = list(filter(decays, self.network.trainable_variables))
        self._due_rates: list[float] = []  # of the steps since weights decayed

    def _compile(self) -> AdamW:
        # Averages as google-research/bert, `optimization.py`, has them.
        optimizer = AdamW(
            learning_rate=self.settings.learning_rate,
            weight_decay=0.0,  # `_decay` does it
            beta_1=0.9,
            beta_2=0.999,
            epsilon=1e-6,
            global_clipnorm=self.settings.clip_norm or None,
        )
        optimizer.build(self.network.trainable_variables)
        # As in pre-training: TensorFlow's products on a CPU are faster without XLA.
        self._jit = "auto" if keras.backend.backend() == "jax" else False
        self.network.compile(optimizer, jit_compile=self._jit)
        return optimizer

    def step(self, inputs: Arrays, targets: np.ndarray, rate: float) -> float:
        """One optimiser step; returns the mean loss before it.

        For `inputs` see `Network`; `targets` are int `[B]`, or float around 0.
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

        `should_stop` is asked before each batch; true ends it with `None`.
        """
        self._decay()
        found = np.empty((len(rows.targets), self.bert.num_labels), "float32")
        for chosen in by_length(rows.lengths, 2 * self.settings.batch_size):
            if should_stop():
                return None
            found[chosen] = self.network.predict_on_batch(rows.batch(chosen))
        return found

    @functools.cached_property
    def _frozen_part(self) -> FrozenPart:
        """Made once: a second one would be compiled again."""
        part = FrozenPart(self.network, dtype=self.network.dtype_policy)
        part.compile(jit_compile=self._jit)
        return part

    def frozen_output(self, batch: Arrays) -> np.ndarray:
        """What the frozen layers make of a batch of tokens, see `FrozenPart`."""
        found: np.ndarray = self._frozen_part.predict_on_batch(batch)
        return found

    def mean_loss(self, outputs: np.ndarray, targets: np.ndarray) -> float:
        """The loss of outputs that are known."""
        losses = self.network.row_losses(targets, keras.ops.convert_to_tensor(outputs))
        return float(keras.ops.mean(losses))

    def weights(self, into: Arrays | None = None) -> Arrays:
        """Copies of the weights that learn, by path.

        They are written over what an earlier call gave: two copies of a large model may
        not fit into memory.
        """
        self._decay()
        variables = self.network.trainable_variables
        if into is None:
            into = {v.path: np.empty(v.shape, "float32") for v in variables}
        for variable in variables:
            np.copyto(into[variable.path], as_numpy(variable))
        return into

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
        """Takes what `state` gave."""
        state = dict(state)
        self._due_rates = list(map(float, state.pop(_DUE)))
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
    """Numbers that move in a training on a copy of a model, if all words occur."""
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

    Float64 `[C]`, of targets int `[R]`; 0 for a class without rows.

    Source: King and Zeng 2001, "Logistic regression in rare events data", section 4.2.
    """
    from sklearn.utils.class_weight import compute_class_weight

    present, weights = np.unique(targets), np.zeros(num_classes)
    weights[present] = compute_class_weight("balanced", classes=present, y=targets)
    return weights
