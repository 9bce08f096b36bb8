"""Two machines, played by two processes, train one model."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bertviz_core.pretrain import run
from bertviz_core.pretrain.prepare import prepare_corpus
from bertviz_core.pretrain.run_folder import read_curve
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 300


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for listening in sockets:
        listening.bind(("localhost", 0))
    ports = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


def train_on_two(folder, encoded, *options_of_each):
    """Runs the command on both at once; returns what each said."""
    workers = [f"localhost:{port}" for port in free_ports(2)]
    processes = []
    for index, options in enumerate(options_of_each):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": workers}, "task": task}
        command = ["pretrain", "--config", "settings.json", "--out", "run"]
        command += ["--corpus", str(encoded)]
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "bertviz_core", *command, *options],
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
    # The time is up on one of them only.
    for lines in train_on_two(tmp_path, encoded, [], ["--stop-after-minutes", "0"]):
        assert lines[-1] == "Stopped after step 0 of 4; saved"
    for lines in train_on_two(tmp_path, encoded, [], []):
        assert lines[0] == "Going on after step 0"
        assert lines[-1] == f"Finished: {Path('run') / 'model'}"
    # The text here, which one machine may encode for itself.
    run.pretrain(run.RunPlan(settings, [text], tmp_path / "alone"), str)
    curves = [read_curve(tmp_path / name / "curve.csv", 4) for name in ("run", "alone")]
    assert [point.step for point in curves[0]] == [1, 2, 3, 4]
    for together, one in zip(*curves, strict=True):
        assert together.mlm_loss == pytest.approx(one.mlm_loss, abs=1e-4)
        assert together.nsp_loss == pytest.approx(one.nsp_loss, abs=1e-4)
