"""One device or many, on one machine or more, by what Keras' backend offers."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras

from bertviz_core.errors import TrainingError


@contextmanager
def on_devices(num_devices: int) -> Iterator[None]:
    """Copies what is built inside onto several devices; each takes part of a batch.

    One device leaves everything as it is. TensorFlow: `tf.distribute`, and over several
    machines when `TF_CONFIG` says so. JAX: Keras' `DataParallel`. Fewer devices on this
    machine, or another backend, are a `TrainingError`.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow" and (has_hosts() or num_devices > 1):
        with _tensorflow_strategy(num_devices).scope():
            yield
    elif num_devices == 1:
        yield
    elif backend == "jax":
        devices = _first(keras.distribution.list_devices(), num_devices)
        before = keras.distribution.distribution()
        keras.distribution.set_distribution(
            keras.distribution.DataParallel(devices=devices)
        )
        try:
            yield
        finally:
            keras.distribution.set_distribution(before)
    else:
        raise TrainingError(
            "Several devices need Keras on TensorFlow or JAX. Received: "
            "KERAS_BACKEND={backend}. Choose another backend, or one device.",
            backend=backend,
        )


@contextmanager
def running_on(num_devices: int) -> Iterator[None]:
    """Holds while steps run of what was built `on_devices`.

    JAX cuts a batch up as Keras is set just then; TensorFlow's model knows how.
    """
    if keras.backend.backend() == "jax":
        with on_devices(num_devices):
            yield
    else:
        yield


def num_replicas() -> int:
    """Copies of the model whose losses are summed, seen from inside one of them.

    `tf.distribute` leaves the division to the loss; to JAX it is one big batch.
    """
    if keras.backend.backend() != "tensorflow":
        return 1
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync


def join_hosts() -> None:
    """Meets the machines of `TF_CONFIG`, which TensorFlow wants before all else."""
    if has_hosts():
        _hosts()


def any_host(is_so: bool) -> bool:
    """Whether it is so on one of the machines; all of them must ask at once.

    What they do between two steps they do together: one that stopped alone would
    leave the others waiting for its part of the next step.
    """
    if not has_hosts():
        return is_so
    return float(_ballot()(float(is_so))) > 0


def has_hosts() -> bool:
    """Whether several machines train together, as TensorFlow's `TF_CONFIG` says."""
    return keras.backend.backend() == "tensorflow" and "TF_CONFIG" in os.environ


@functools.cache
def _ballot() -> Any:
    """Sums a number over the machines."""
    import tensorflow as tf

    strategy = _hosts()

    def summed(vote: Any) -> Any:
        votes = strategy.run(tf.identity, (vote,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, votes, axis=None)

    return tf.function(summed, input_signature=[tf.TensorSpec((), tf.float32)])


@functools.cache
def _hosts() -> Any:
    import tensorflow as tf

    return tf.distribute.MultiWorkerMirroredStrategy()


def _tensorflow_strategy(num_devices: int) -> Any:
    import tensorflow as tf

    if has_hosts():
        return _hosts()
    devices = tf.config.list_logical_devices("GPU")
    devices = devices or tf.config.list_logical_devices("CPU")
    names = _first([device.name for device in devices], num_devices)
    return tf.distribute.MirroredStrategy(names)


def _first(devices: list[str], num_devices: int) -> list[str]:
    if len(devices) < num_devices:
        raise TrainingError(
            "There are not that many devices. Received: {asked}; the backend sees "
            "{found}. Ask for fewer.",
            asked=num_devices,
            found=len(devices),
        )
    return devices[:num_devices]


def writes_files() -> bool:
    """Whether this process is the one that saves, of those on several machines."""
    return not has_hosts() or bool(_hosts().extended.should_checkpoint)
