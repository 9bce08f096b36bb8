import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bertviz_core.engine import local_cluster
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.model_tasks import models
from bertviz_core.errors import EngineError
from tests.core.checkpoint_copies import HF

ROOT = Path(__file__).parents[2]
MODEL = str(HF)

# What a page may ask, all of it.
ASK_ALL = """
client.warm_up(model)
client.ask(Explorer.info)(model)
client.ask(vocabulary)(model)
client.ask(Explorer.tokenize)(model, "abc")
client.ask(Explorer.predict_masks)(model, "ab [MASK]")
client.ask(Trace.only)(model, Texts("ab", "c"), ("hidden_states",))
client.ask(forward_count)()
try:
    client.ask(add_upload)("no-such-file.zip", "name")
except BertVizError:
    pass
job = client.start(client.ask(score_sentence).about(model, "ab ba"))
while not client.job(job).is_finished:
    time.sleep(0.05)
client.cancel(job)
"""
SERVER = f"""
import json, sys, time, psutil
from bertviz_core.engine import connect
from bertviz_core.engine.model_tasks import (
    add_upload,
    forward_count,
    models,
    vocabulary,
)
from bertviz_core.errors import BertVizError
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace

client = connect()
model = sys.argv[1]
client.ask(models)()
{ASK_ALL}
children = [p.pid for p in psutil.Process().children(recursive=True)]
print(json.dumps({{"modules": sorted(sys.modules), "children": children}}), flush=True)
sys.stdin.readline()
"""

# What the server's process had imported when it began others, and when these listened.
BEGUN = """
import json, subprocess, sys

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
connect()._connection()
print(json.dumps(begun))
"""


def test_a_server_that_asks_everything_stays_light_and_takes_its_processes_along(
    tmp_path,
):
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SERVER, MODEL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
        ) as server,
    ):
        try:
            report = json.loads(server.stdout.readline())
            children = [psutil.Process(pid) for pid in report["children"]]
        finally:
            server.kill()
    light = {"tensorflow", "keras", "tokenizers", "safetensors"}
    assert not light & set(report["modules"])
    assert len(children) >= 2
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_the_processes_begin_before_much_is_imported_here():
    command = [sys.executable, "-c", BEGUN]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    (command, modules), *others = json.loads(done.stdout)
    assert "bertviz_core.engine.local_cluster" in command
    assert not {"numpy", "dask", "bertviz_core.engine.engine"} & set(modules)
    assert not any("bertviz_core.engine.local_cluster" in other for other, _ in others)
    (modules,) = (modules for what, modules in others if what == "listens")
    assert not {"dask", "distributed"} & set(modules)


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
