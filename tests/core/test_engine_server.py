"""A server's process, those that it starts, and what a worker answers it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from bertviz_core.engine import connect, local_cluster
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.model_tasks import models
from bertviz_core.engine.worker_specs import reading_backend
from bertviz_core.errors import EngineError
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.explorer import Explorer
from tests.core.checkpoint_copies import HF
from tests.core.engine_waiting import ended

ROOT = Path(__file__).parents[2]
MODEL, TEXT = str(HF), "ab cab [MASK] ba"

# Asks all that a page may ask. Notes what this process had imported when it began
# others, and when these listened.
SERVER = """
import json, subprocess, sys, time

class Noting(subprocess.Popen):
    def __init__(self, command, **options):
        begun.append([list(command), sorted(sys.modules)])
        super().__init__(command, **options)

def note_listening(cluster):
    listening = listening_of(cluster)
    begun.append(["listens", sorted(sys.modules)])
    return listening

begun, subprocess.Popen = [], Noting
from bertviz_core.engine import connect
from bertviz_core.engine.local_cluster import LocalCluster
listening_of, LocalCluster.listening = LocalCluster.listening, note_listening
client = connect()
client._connection()

import psutil
from bertviz_core.engine.model_tasks import (
    add_upload,
    forward_count,
    models,
    vocabulary,
)
from bertviz_core.errors import BertVizError
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace

model, text = sys.argv[1:]
client.ask(models)()
client.warm_up(model)
client.ask(Explorer.info)(model)
client.ask(vocabulary)(model)
client.ask(Explorer.tokenize)(model, "abc")
predicted = client.ask(Explorer.predict_masks)(model, text)
client.ask(Trace.only)(model, Texts("ab", "c"), ("hidden_states",))
client.ask(forward_count)()
try:
    client.ask(add_upload)("no-such-file.zip", "name")
except BertVizError:
    pass

def tell(**more):
    processes = psutil.Process().children(recursive=True)
    found = {"begun": begun, "processes": [process.pid for process in processes]}
    print(json.dumps({**found, **more}), flush=True)
    sys.stdin.readline()

def result_of(question):
    job = client.start(question)
    while not client.job(job).is_finished:
        time.sleep(0.05)
    client.cancel(job)
    return client.job(job).result

result_of(client.ask(score_sentence).about(model, "ab ba"))
tell(logits=predicted.logits.tolist())
target = Target("mlm", 7, int(predicted.positions[0]))
estimates = result_of(client.ask(estimate_heads).about(model, text, target))
tell(modules=sorted(sys.modules), estimates=estimates.tolist())
"""


def with_library(name, processes):
    return {
        process
        for process in map(psutil.Process, processes)
        if any(name in part.path for part in process.memory_maps())
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What a server told, who had loaded what, and what was left as it was killed."""
    folder = tmp_path_factory.mktemp("server")
    found = SimpleNamespace()
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SERVER, MODEL, TEXT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "BERTVIZ_CACHE": str(folder)},
        ) as server,
    ):
        try:
            found.told = json.loads(server.stdout.readline())
            found.readers = with_library("libopenvino", found.told["processes"])
            found.early = with_library("libtensorflow", found.told["processes"])
            server.stdin.write(b"\n")
            server.stdin.flush()
            found.told |= json.loads(server.stdout.readline())
            processes = found.told["processes"]
            found.derivers = with_library("libtensorflow", processes)
            children = [psutil.Process(pid) for pid in processes]
        finally:
            server.kill()
    found.ended, found.alive = psutil.wait_procs(children, timeout=60)
    found.log = (folder / "log").read_text()
    return found


def test_a_server_that_asks_everything_stays_light_and_takes_its_processes_along(
    served,
):
    light = {"tensorflow", "keras", "tokenizers", "safetensors"}
    assert not light & set(served.told["modules"])
    assert len(served.ended) >= 2
    assert not served.alive
    assert "Traceback" not in served.log


def test_the_processes_begin_before_much_is_imported_here(served):
    (command, modules), *others = served.told["begun"]
    assert "bertviz_core.engine.local_cluster" in command
    assert not {"numpy", "dask", "bertviz_core.engine.engine"} & set(modules)
    assert not any("bertviz_core.engine.local_cluster" in other for other, _ in others)
    (modules,) = (modules for what, modules in others if what == "listens")
    assert not {"dask", "distributed"} & set(modules)


def test_a_worker_answers_as_this_process_does_and_never_loads_tensorflow(served):
    here = Explorer.open(MODEL).predict_masks(TEXT)
    np.testing.assert_allclose(served.told["logits"], here.logits, rtol=0, atol=1e-5)
    assert np.isfinite(served.told["estimates"]).all()
    assert len(served.readers) == len(served.derivers) == 1
    assert served.early == served.readers & served.derivers == set()


def test_processes_that_end_as_they_begin_are_a_sentence(monkeypatch):
    nowhere = {"PYTHONHOME": "/nowhere"}  # Python finds nothing to import there
    monkeypatch.setattr(local_cluster, "_child_environment", lambda: nowhere)
    begun = local_cluster.LocalCluster()
    engine = ClusterEngine(begun=begun)
    with pytest.raises(EngineError, match="could not be started") as caught:
        engine.ask(models)()
    engine.close()
    assert caught.value.details["status"] != 0
    assert begun._process.stdin.closed
    assert begun._process.stdout.closed


@pytest.mark.skipif(
    os.environ["KERAS_BACKEND"] == "tensorflow", reason="there it can be answered"
)
def test_a_gradient_without_tensorflow_is_a_sentence():
    client = InlineEngine()
    question = client.ask(estimate_heads).about(MODEL, TEXT, Target("mlm", 7, 3))
    status = ended(client, client.start(question))
    assert "Gradients need TensorFlow" in str(status.error)
    client.close()


def test_the_environment_names_what_models_are_asked_on(monkeypatch):
    assert reading_backend() == "openvino"
    monkeypatch.setenv("BERTVIZ_BACKEND", "TensorFlow")
    assert reading_backend() == "tensorflow"
    monkeypatch.setenv("BERTVIZ_BACKEND", "abacus")
    with pytest.raises(EngineError, match="Received: abacus"):
        connect()
