"""Several devices, or machines played by processes, do what one does."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints.library import open_model
from bertviz_core.errors import TrainingError
from bertviz_core.training.checkpoint import read_latest
from bertviz_core.training.pretrain import run, trainer
from bertviz_core.training.pretrain.corpus import prepare_corpus
from bertviz_core.training.pretrain.run import read_curve
from bertviz_core.training.pretrain.settings import PretrainSettings
from bertviz_core.training.pretrain.trainer import Trainer, _require_equal_parts
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow

ROOT = Path(__file__).parents[2]
# Devices are counted once for a process, so each backend gets one of its own.
SCRIPT = """
import json
import sys
import keras
on_jax = keras.backend.backend() == "jax"
if not on_jax:
    import tensorflow as tf
    cpu = tf.config.list_physical_devices("CPU")[0]
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [part, part])
from tests.core.test_pretrain_devices import losses_on
sharing = []
def look():
    sharing.append(keras.distribution.distribution() is not None)
    return False
losses = losses_on(2, look)
# Keras on JAX cuts a batch up only while a distribution is set.
assert sharing == [on_jax] * len(losses), sharing
print(json.dumps(losses))
"""


def losses_on(num_devices, should_stop=lambda: False):
    """Of each of four steps."""
    phase = {"max_tokens": 16, "num_tokens": 16 * 6 * 4, "batch_tokens": 16 * 6}
    settings = samples.settings(samples.ONE_LAYER, phases=[phase])
    batches = samples.batches(settings)
    trainer = Trainer(settings, len(samples.VOCABULARY), num_devices)
    return [trainer.run(batches, 0, step, 1, should_stop).means for step in range(4)]


@pytest.fixture(scope="module")
def losses_on_one():
    losses = losses_on(1)
    assert losses[0]["mlm_loss"] > losses[-1]["mlm_loss"]
    return losses


# Code that runs a few steps need not be fast: a third of the time was compiling it.
XLA_FLAGS = (
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true"
)


def run_script(backend, script, *arguments, cache):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed; `make peers` brings it")
    environment = os.environ | {
        "KERAS_BACKEND": backend,
        "XLA_FLAGS": XLA_FLAGS,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        # What JAX has compiled for one trainer does for the next one.
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_two_workers_have_the_losses_of_one(backend, losses_on_one, tmp_path):
    two = json.loads(run_script(backend, SCRIPT, cache=tmp_path).splitlines()[-1])
    for first, second in zip(losses_on_one, two, strict=True):
        assert set(first) == set(second)
        for name, value in first.items():
            assert np.isclose(value, second[name], rtol=0, atol=1e-4), name


# Each argument is a command: a step to stop at, and what follows `pretrain`.
COMMANDS = """
import json
import os
import signal
import sys
import click
from bertviz_core.cli import main
echo = click.echo
def echo_and_stop(text=None, **options):
    echo(text, **options)
    if str(text).startswith(f"step {stop_at}/"):
        os.kill(os.getpid(), signal.SIGTERM)
click.echo = echo_and_stop
for command in sys.argv[1:]:
    stop_at, *words = json.loads(command)
    main(["pretrain", *words], standalone_mode=False)
"""
# As on an accelerator, where nobody installs TensorFlow.
WITHOUT_TENSORFLOW = 'import sys; sys.modules["tensorflow"] = None\n'


def command(config, corpus, out, *options, stop_at=None):
    words = ["--config", config, "--corpus", corpus, "--out", out, *options]
    return json.dumps([stop_at, *map(str, words)])


def test_the_command_runs_and_goes_on_where_there_is_only_jax(tmp_path):
    # As shipped: where JAX has no GPU, too, "auto" must find a precision.
    phase = {"max_tokens": 16, "num_tokens": 16 * 6 * 8, "batch_tokens": 16 * 6}
    text, asked = samples.text_and_settings(tmp_path, precision="auto", phases=[phase])

    config = tmp_path / "settings.json"
    config.write_text(json.dumps(asked.to_dict()))
    parts, whole = (tmp_path / name for name in ("parts", "whole"))
    in_turn = (
        command(config, text, parts, stop_at=4),
        command(parts / "settings.json", text, whole),
        command(config, text, parts),
    )
    said = run_script(
        "jax", WITHOUT_TENSORFLOW + COMMANDS, *in_turn, cache=tmp_path / "compiled"
    ).splitlines()
    assert "Stopped after step 4 of 8; saved" in said
    finished = said.index(f"Finished: {whole / 'model'}")
    assert said[finished + 1] == "Going on after step 4"
    assert said[-1] == f"Finished: {parts / 'model'}"
    curve = (parts / "curve.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in curve[1:]] == ["4", "6", "8"]
    # What JAX has trained opens here.
    assert open_model(str(parts / "model")).model.config == asked.model
    settled = PretrainSettings.from_json_file(parts / "settings.json")
    assert settled.precision in ("float32", "bfloat16")
    assert read_latest(parts).step == 8
    samples.assert_same_states(parts, whole, atol=1e-5)


def test_a_batch_that_cannot_be_shared_out_equally_is_refused(monkeypatch):
    with pytest.raises(TrainingError, match=r"6 rows of 16 tokens, 4 devices"):
        _require_equal_parts(samples.settings(), 4)
    parts = samples.settings(optimizer={"accumulation": 2})
    with pytest.raises(TrainingError, match=r"2 devices, accumulation=2"):
        _require_equal_parts(parts, 2)
    _require_equal_parts(parts, 1)
    # Nor are gradients accumulated on several.
    monkeypatch.setattr(trainer, "num_replicas", lambda: 2)
    _require_equal_parts(samples.settings(), 1)
    with pytest.raises(TrainingError, match=r"Received: accumulation=2"):
        _require_equal_parts(parts, 1)
    with pytest.raises(TrainingError, match="Received: 77; the backend sees"):
        Trainer(samples.settings(), len(samples.VOCABULARY), num_devices=77)


LIMIT_SECONDS = 300


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for listening in sockets:
        listening.bind(("localhost", 0))
    ports = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


def train_on_two(folder, *commands_of_each):
    """Runs commands in turn, on both at once; returns what each said."""
    workers = [f"localhost:{port}" for port in free_ports(2)]
    processes = []
    for index, commands in enumerate(commands_of_each):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": workers}, "task": task}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", COMMANDS, *commands],
                cwd=folder,
                env=os.environ
                | {"TF_CONFIG": json.dumps(config), "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        said = [process.communicate(timeout=LIMIT_SECONDS) for process in processes]
    finally:
        for process in processes:
            process.kill()
    codes = [process.returncode for process in processes]
    assert codes == [0, 0], said[0][1][-2000:] + said[1][1][-2000:]
    return [out.splitlines() for out, _ in said]


def test_two_machines_stop_together_and_learn_what_one_learns(tmp_path):
    phase = {"max_tokens": 16, "num_tokens": 16 * 6 * 4, "batch_tokens": 16 * 6}
    text, settings = samples.text_and_settings(tmp_path, phases=[phase], report_steps=1)
    (tmp_path / "settings.json").write_text(json.dumps(settings.to_dict()))
    encoded = prepare_corpus([text], settings, tmp_path / "encoded", str)
    train = ("settings.json", encoded, "run")
    # The time is up on one of them only.
    to_the_end = command(*train)
    in_time = command(*train, "--stop-after-minutes", 0)
    both = train_on_two(tmp_path, [to_the_end] * 2, [in_time, to_the_end])
    for lines in both:
        stopped = lines.index("Stopped after step 0 of 4; saved")
        assert lines[stopped + 1] == "Going on after step 0"
        assert lines[-1] == f"Finished: {Path('run') / 'model'}"
    # The text here, which one machine may encode for itself.
    run.pretrain(settings, [text], tmp_path / "alone", str)
    curves = [read_curve(tmp_path / name / "curve.csv", 4) for name in ("run", "alone")]
    assert [point.step for point in curves[0]] == [1, 2, 3, 4]
    for together, one in zip(*curves, strict=True):
        assert together.mlm_loss == pytest.approx(one.mlm_loss, abs=1e-4)
        assert together.nsp_loss == pytest.approx(one.nsp_loss, abs=1e-4)
