"""Several devices, or machines played by processes, do what one does."""

import importlib.util
import json
import socket

import pytest

from bertviz_core.checkpoints.library import open_model
from bertviz_core.errors import TrainingError
from bertviz_core.training.checkpoint import read_latest
from bertviz_core.training.pretrain import run, trainer
from bertviz_core.training.pretrain.run import read_curve
from bertviz_core.training.pretrain.settings import PretrainSettings
from bertviz_core.training.pretrain.trainer import Trainer, _require_equal_parts
from tests.core import pretrain_samples as samples
from tests.core.pretrain_processes import started

pytestmark = pytest.mark.tensorflow

PHASE = {"max_tokens": 16, "num_tokens": 16 * 6 * 4, "batch_tokens": 16 * 6}
NAMES = ("loss", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy")


def command(config, corpus, out, *options, stop_at=None):
    words = ["--config", config, "--corpus", corpus, "--out", out, *options]
    return [stop_at, *map(str, words)]


# As on an accelerator, where nobody installs TensorFlow.
WITHOUT_TENSORFLOW = 'import sys; sys.modules["tensorflow"] = None'
# Code that runs a few steps need not be fast: a third of the time was compiling it.
XLA_FLAGS = (
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true"
)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A run of four steps in this process, and the files that it was given."""
    folder = tmp_path_factory.mktemp("runs")
    text, asked = samples.text_and_settings(folder, phases=[PHASE], report_steps=1)
    config = folder / "settings.json"
    config.write_text(json.dumps(asked.to_dict()))
    run.pretrain(asked, [text], folder / "alone", str)
    (encoded,) = (folder / "alone" / "corpus").glob("?" * 32)
    return folder / "alone", config, encoded


def curve_of(out):
    """Of each of four steps."""
    points = read_curve(out / "curve.csv", 4)
    assert [point.step for point in points] == [1, 2, 3, 4]
    return [{name: getattr(point, name) for name in NAMES} for point in points]


@pytest.fixture(scope="module")
def jax(alone, tmp_path_factory):
    """The folder of the runs, their settings, what they said; losses of two devices."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed; `make peers` brings it")
    folder = tmp_path_factory.mktemp("jax")
    # As shipped: where JAX has no GPU, too, "auto" must find a precision.
    phase = PHASE | {"num_tokens": 16 * 6 * 8}
    text, asked = samples.text_and_settings(folder, precision="auto", phases=[phase])
    config = folder / "settings.json"
    config.write_text(json.dumps(asked.to_dict()))
    parts, whole = (folder / name for name in ("parts", "whole"))
    in_turn = (
        command(config, text, parts, stop_at=4),
        command(parts / "settings.json", text, whole),
        command(config, text, parts),
    )
    said, losses = started(
        "said_and_losses",
        in_turn,
        *map(str, alone[1:]),
        before=WITHOUT_TENSORFLOW,
        KERAS_BACKEND="jax",
        XLA_FLAGS=XLA_FLAGS,
        # What JAX has compiled for one trainer does for the next one.
        JAX_COMPILATION_CACHE_DIR=str(folder / "compiled"),
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1",
    )
    return folder, asked, said, losses


@pytest.fixture(scope="module")
def tensorflow(alone):
    """The folder of a run on two machines, what each said; losses of two devices."""
    out, config, encoded = alone[0].with_name("machines"), *alone[1:]
    to_the_end = command(config, encoded, out)
    # The time is up on one of them only.
    in_time = command(config, encoded, out, "--stop-after-minutes", 0)
    workers = [f"localhost:{port}" for port in free_ports(2)]
    machines = []
    for index, first in enumerate((to_the_end, in_time)):
        task = {"type": "worker", "index": index}
        told = json.dumps({"cluster": {"worker": workers}, "task": task})
        machines.append(({"TF_CONFIG": told}, "said_by", first, to_the_end))
    devices = ({}, "losses_on_two", str(config), str(encoded))
    *said, losses = started("on_copies", *machines, devices)
    return out, said, losses


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for listening in sockets:
        listening.bind(("localhost", 0))
    ports = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


def assert_same(losses, others):
    for one, other in zip(losses, others, strict=True):
        assert one == pytest.approx(other, rel=0, abs=1e-4)


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_two_devices_have_the_losses_of_one(backend, alone, request):
    *_, two = request.getfixturevalue(backend)
    one = curve_of(alone[0])
    assert one[0]["mlm_loss"] > one[-1]["mlm_loss"]
    assert_same(one, two)


def test_the_command_runs_and_goes_on_where_there_is_only_jax(jax):
    folder, asked, said, _ = jax
    parts, whole = folder / "parts", folder / "whole"
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


def test_two_machines_stop_together_and_learn_what_one_learns(alone, tensorflow):
    out, both, _ = tensorflow
    for lines in both:
        stopped = lines.index("Stopped after step 0 of 4; saved")
        assert lines[stopped + 1] == "Going on after step 0"
        assert lines[-1] == f"Finished: {out / 'model'}"
    assert_same(curve_of(out), curve_of(alone[0]))


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
