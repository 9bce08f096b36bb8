import os

import numpy as np
import psutil
import pytest

from bertviz_core.engine import connect
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.worker_specs import reading_backend
from bertviz_core.errors import EngineError
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.explorer import Explorer
from tests.core.checkpoint_copies import HF
from tests.core.engine_waiting import ended

MODEL, TEXT = str(HF), "ab cab [MASK] ba"


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    client = ClusterEngine()
    yield client
    client.close()


def processes_with(library, client):
    """Ids of a client's processes that have loaded a native library."""

    def has_it(process):
        return any(library in part.path for part in process.memory_maps())

    cluster = psutil.Process(client._connection().cluster.pid)
    return {p.pid for p in cluster.children(recursive=True) if has_it(p)}


def test_a_worker_answers_as_this_process_does_and_never_loads_tensorflow(client):
    predicted = client.ask(Explorer.predict_masks)(MODEL, TEXT)
    here = Explorer.open(MODEL).predict_masks(TEXT)
    assert predicted.tokenized.tokens == here.tokenized.tokens
    np.testing.assert_allclose(predicted.logits, here.logits, rtol=0, atol=1e-5)
    (reader,) = processes_with("libopenvino", client)
    assert processes_with("libtensorflow", client) == set()
    target = Target("mlm", 7, int(predicted.positions[0]))
    status = ended(
        client, client.start(client.ask(estimate_heads).about(MODEL, TEXT, target))
    )
    assert status.error is None
    assert np.isfinite(status.result).all()
    (deriver,) = processes_with("libtensorflow", client)
    assert deriver != reader


@pytest.mark.skipif(
    os.environ["KERAS_BACKEND"] == "tensorflow", reason="there it can be answered"
)
def test_a_gradient_without_tensorflow_is_a_sentence():
    client = InlineEngine()
    target = Target("mlm", 7, 3)
    status = ended(
        client, client.start(client.ask(estimate_heads).about(MODEL, TEXT, target))
    )
    assert "Gradients need TensorFlow" in str(status.error)
    client.close()


def test_the_environment_names_what_models_are_asked_on(monkeypatch):
    assert reading_backend() == "openvino"
    monkeypatch.setenv("BERTVIZ_BACKEND", "TensorFlow")
    assert reading_backend() == "tensorflow"
    monkeypatch.setenv("BERTVIZ_BACKEND", "abacus")
    with pytest.raises(EngineError, match="Received: abacus"):
        connect()
