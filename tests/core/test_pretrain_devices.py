"""Several devices do what one does."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.trainer import Trainer
from tests.core import pretrain_samples as samples

ROOT = Path(__file__).parents[2]
# Devices are counted once for a process, so each backend gets one of its own.
SCRIPT = """
import json
if {backend!r} == "tensorflow":
    import tensorflow as tf
    cpu = tf.config.list_physical_devices("CPU")[0]
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [part, part])
from bertviz_core.pretrain.trainer import Trainer
from tests.core import pretrain_samples as samples
phase = {{"max_tokens": 16, "num_tokens": 16 * 6 * 4, "batch_tokens": 16 * 6}}
settings = samples.settings(samples.ONE_LAYER, phases=[phase])
batches = samples.batches(settings)
losses = []
for devices in (1, 2):
    trainer = Trainer(settings, len(samples.VOCABULARY), devices)
    losses.append([trainer.run(batches, 0, s, 1).means for s in range(4)])
    assert losses[-1][0]["mlm_loss"] > losses[-1][-1]["mlm_loss"]
print(json.dumps(losses))
"""


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_two_workers_have_the_losses_of_one(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    environment = os.environ | {
        "KERAS_BACKEND": backend,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    script = SCRIPT.format(backend=backend)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    one, two = json.loads(done.stdout.splitlines()[-1])
    for first, second in zip(one, two, strict=True):
        assert set(first) == set(second)
        for name, value in first.items():
            assert np.isclose(value, second[name], rtol=0, atol=1e-4), name


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(TrainingError, match="Received: 77; the backend sees"):
        Trainer(samples.settings(), len(samples.VOCABULARY), num_devices=77)
