"""AdamW as BERT uses it, on the schedule of the run."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from bertviz_core.model.taps import Tensor
from bertviz_core.training.distribution import num_replicas
from bertviz_core.training.schedule import OptimizerSettings, Stretch, learning_rate


class RunSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """`schedule.learning_rate` as Keras asks for it."""

    def __init__(
        self, settings: OptimizerSettings, stretches: Sequence[Stretch]
    ) -> None:
        self.settings = settings
        self.stretches = stretches

    def __call__(self, step: Tensor) -> Tensor:
        # Keras counts every part of an accumulated batch.
        step = ops.cast(step // self.settings.accumulation, "float32")
        return learning_rate(step, self.stretches, self.settings, ops)


class _WholeGradients:
    """Adds gradients up before anything is squared.

    Keras on TensorFlow squares too early, where it clips and where it averages
    squares, in two cases. The gradient of a lookup is a list of rows with repeats,
    squared one by one. And with several devices each clips its own part of the
    gradient, before they are summed.
    """

    _trainable_variables: list[Any]

    def apply(self, grads: list[Any], trainable_variables: Any = None) -> None:
        variables = trainable_variables or self._trainable_variables
        whole = [
            ops.segment_sum(g.values, g.indices, num_segments=v.shape[0])
            if hasattr(g, "dense_shape")
            else g
            for g, v in zip(grads, variables, strict=True)
        ]
        if num_replicas() > 1:
            import tensorflow as tf

            replica = tf.distribute.get_replica_context()
            whole = replica.all_reduce(tf.distribute.ReduceOp.SUM, whole)
        super().apply(whole, trainable_variables)  # type: ignore[misc]

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> Any:
        return grads_and_vars  # `apply` did

    def finalize_variable_values(self, var_list: Any) -> None:
        """Does nothing: each `fit` would end with means in the place of the weights."""


class AdamW(_WholeGradients, keras.optimizers.AdamW):
    """AdamW that squares whole gradients, and on TensorFlow goes over them less often.

    Keras writes a step as a dozen operations, each of which reads and writes as many
    numbers as there are weights: for a small network and short rows that is a quarter
    of the time. TensorFlow has one operation for all but the decay.
    """

    def _clip_gradients(self, grads: list[Any]) -> list[Any]:
        if not _is_tensorflow() or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        import tensorflow as tf

        # Half a sum of squares, without the squares.
        halves = tf.add_n([tf.nn.l2_loss(gradient) for gradient in grads])
        largest = self.global_clipnorm
        scale = largest / tf.maximum(tf.sqrt(2.0 * halves), largest)
        return [gradient * scale for gradient in grads]

    def _apply_weight_decay(self, variables: list[Any]) -> None:
        if not _is_tensorflow():
            super()._apply_weight_decay(variables)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if not _is_tensorflow():
            super().update_step(gradient, variable, learning_rate)
            return
        import tensorflow as tf

        def number(value: Any) -> Any:
            return tf.cast(value, variable.dtype)

        rate, step = number(learning_rate), number(self.iterations + 1)
        if self.weight_decay and self._use_weight_decay(variable):
            variable.assign(variable * (1.0 - rate * number(self.weight_decay)))
        index = self._get_variable_index(variable)
        beta_1, beta_2 = number(self.beta_1), number(self.beta_2)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=rate,
            beta1=beta_1,
            beta2=beta_2,
            epsilon=number(self.epsilon),
            grad=gradient,
        )


def _is_tensorflow() -> bool:
    return keras.backend.backend() == "tensorflow"


class Muon(_WholeGradients, keras.optimizers.Muon):
    """Muon that squares whole gradients, and turns in the precision of the run.

    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural
    networks", which iterates in bfloat16: the result is a direction and need not be
    exact.
    """

    def __init__(self, precision: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.precision = precision

    def zeropower_via_newtonschulz5(self, x: Tensor, steps: int) -> Tensor:
        # A gradient of 1e-8 divided by its norm is safe only in float32.
        scaled = x / (ops.norm(x) + 1e-7)
        turned = super().zeropower_via_newtonschulz5(
            ops.cast(scaled, self.precision), steps
        )
        return ops.cast(turned, x.dtype)


def make_optimizer(
    asked: OptimizerSettings,
    stretches: Sequence[Stretch],
    precision: str,
    variables: list[Any],
) -> keras.optimizers.Optimizer:
    """Makes the optimiser of a run, with its averages at zero.

    AdamW, or Keras' Muon, which turns the matrices inside the blocks, in `precision`,
    and leaves the rest to AdamW. Norms and biases do not decay. `stretches` are those
    of `learning_rate`, `variables` all trainable weights, in the order of the model.
    """
    shared: dict[str, Any] = {
        "learning_rate": RunSchedule(asked, stretches),
        "weight_decay": asked.weight_decay,
        "epsilon": asked.epsilon,
        "global_clipnorm": asked.clip_norm or None,
        "gradient_accumulation_steps": (
            asked.accumulation if asked.accumulation > 1 else None
        ),
    }
    if asked.ema_momentum:
        shared |= {"use_ema": True, "ema_momentum": asked.ema_momentum}
    if asked.name == "muon":
        optimizer: keras.optimizers.Optimizer = Muon(
            precision,
            adam_beta_1=asked.beta_1,
            adam_beta_2=asked.beta_2,
            adam_weight_decay=asked.weight_decay,
            exclude_layers=["embeddings/", "mlm/", "nsp/", "pooler/"],
            **shared,
        )
    else:
        optimizer = AdamW(beta_1=asked.beta_1, beta_2=asked.beta_2, **shared)
    build_without_decay(optimizer, variables)
    return optimizer


def build_without_decay(
    optimizer: keras.optimizers.Optimizer, variables: list[Any]
) -> None:
    """Builds an optimiser that leaves norms and biases out of the decay.

    `variables` are all that it is to move, in the order of the model.
    """
    optimizer.exclude_from_weight_decay([v for v in variables if not decays(v)])
    optimizer.build(variables)


def decays(variable: Any) -> bool:
    """Whether a weight decays, by the last part of its path: norms and biases do not.

    Source: google-research/bert, `optimization.py`, `exclude_from_weight_decay`.
    """
    return variable.path.rsplit("/", 1)[-1] not in ("bias", "gamma", "beta")
