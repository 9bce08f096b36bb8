"""The app in tests: run by AppTest, with an engine that answers from a script."""

import functools
import os
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from bertviz_core.engine.engine import Engine
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.worker_specs import MAX_MODELS, ON_TENSORFLOW
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.tasks import JOB_RESOURCE
from pages.attention import causes
from pages.layers import neurons
from pages.shared import answers, engine, models
from tests.app.chinese_model import write_chinese_model
from tests.app.fake_client import FakeClient
from tests.app.real_pages import random_estimate
from tests.core.checkpoint_copies import (
    first_layers,
    hf_copy,
    number_copy,
    weights_of_hf,
    without_part,
)

ROOT = Path(__file__).parents[2]
REQUIRE_CLICK = models._require_click


@pytest.fixture(scope="session", autouse=True)
def without_keras_in_the_way():
    """Runs scripts as in the app's process, which never has Keras.

    Where it is loaded, as here, Streamlit clears its state after every script run.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script_runner, "_clean_problem_modules", lambda: None)
        # Each AppTest would read the metadata of all installed packages, which takes
        # longer than most pages; a server does so once, at its start.
        discover = BidiComponentManager.discover_and_register_components.__name__
        patch.setattr(BidiComponentManager, discover, lambda *_, **__: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def engine_that_derives():
    """Pages ask this process where it has TensorFlow: another takes long to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MAX_MODELS, "16")  # of two, most would be compiled again and again
        if os.environ["KERAS_BACKEND"] == "tensorflow":
            inline = InlineEngine()
            patch.setattr(engine, "_connected", lambda: inline)
        yield


@pytest.fixture(autouse=True)
def neurons_are_ranked_where_they_can_be(monkeypatch):
    """Below a neuron all are ranked: no other process starts for it beside a test."""
    if os.environ["KERAS_BACKEND"] != "tensorflow":
        monkeypatch.setattr(neurons, "rank_all_neurons", lambda *_: None)


@pytest.fixture(autouse=True)
def no_process_with_tensorflow(monkeypatch):
    """Refuses what would start one, for seconds: tests of that are marked for it."""
    if os.environ["KERAS_BACKEND"] == "tensorflow":
        return
    start = Engine.start

    def start_here(self, question, owner=""):
        assert question.resource(JOB_RESOURCE) not in ON_TENSORFLOW, question.name
        return start(self, question, owner)

    monkeypatch.setattr(Engine, "start", start_here)


@pytest.fixture
def estimates(monkeypatch):
    """What is asked of an estimate of heads, oldest first; random numbers answer it.

    They come at once, and no process with TensorFlow starts for them.
    """
    asked = []
    ask_job = causes.ask_job

    def answer_at_once(place, label, question, **rest):
        if question.name != estimate_heads.__name__:
            return ask_job(place, label, question, **rest)
        asked.append(question)
        return random_estimate(question)

    monkeypatch.setattr(causes, "ask_job", answer_at_once)
    return asked


@pytest.fixture(autouse=True)
def paths_open_unasked(monkeypatch):
    """Tests name paths in the address; what asks about these has a test of its own."""
    monkeypatch.setattr(models, "_require_click", lambda *_: None)
    return REQUIRE_CLICK


@pytest.fixture(scope="session")
def hf_without(tmp_path_factory):
    """Makes a copy of two layers of `hf_tiny` without these weights, each once."""

    @functools.cache
    def make(*parts):
        kept = first_layers(without_part(weights_of_hf(), *parts), 2)
        folder = tmp_path_factory.mktemp("fewer")
        return str(hf_copy(folder, kept, {"num_hidden_layers": 2}))

    return make


@pytest.fixture(scope="session")
def chinese(tmp_path_factory):
    """A tiny model that reads Chinese."""
    return str(write_chinese_model(tmp_path_factory.mktemp("chinese")))


@pytest.fixture(scope="session")
def number_model(tmp_path_factory):
    """A tiny model that says a number."""
    return str(number_copy(tmp_path_factory.mktemp("number"), num_layers=2))


@pytest.fixture(scope="session")
def classifier(tmp_path_factory):
    """A tiny model with three classes, one layer and no word head."""
    rng = np.random.default_rng(5)
    weights = first_layers(without_part(weights_of_hf(), "cls."), 1)
    size = weights["bert.pooler.dense.bias"].size
    weights |= {
        "classifier.weight": rng.normal(0, 0.05, (3, size)).astype("float32"),
        "classifier.bias": rng.normal(size=3).astype("float32"),
    }
    config = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {"0": "x", "1": "y", "2": "z"},
        "num_hidden_layers": 1,
    }
    return str(hf_copy(tmp_path_factory.mktemp("classes"), weights, config))


@pytest.fixture
def made_client():
    """The fake itself; a file whose pages ask for more has one of its own."""
    return FakeClient()


@pytest.fixture
def client(made_client, monkeypatch):
    """The fake that the app talks to; a test may change what it answers."""
    fake = made_client
    answers.forget_models()
    st.cache_resource.clear()
    monkeypatch.setattr(engine, "_connected", lambda: fake)
    monkeypatch.setattr(engine, "warm_up", lambda: None)
    monkeypatch.delenv("BERTVIZ_MODELS", raising=False)
    yield fake
    answers.forget_models()
    st.cache_resource.clear()


@pytest.fixture
def open_app(client):
    """Opens the app: a page, an address, the language of the browser."""

    def open_page(page="home", locale="en-GB", **query):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.context = {"locale": locale}
        for name, value in query.items():
            app.query_params[name] = value
        if page != "home":
            app.switch_page(f"pages/{page}/{page}.py")
        return app.run()

    return open_page


@pytest.fixture
def shown():
    """All that a page says, headings first."""

    def shown_by(app):
        kinds = ("title", "header", "subheader", "markdown", "caption")
        kinds += ("info", "error", "warning", "success", "text", "code")
        parts = [element.value for kind in kinds for element in getattr(app, kind)]
        parts += [element.text for element in app.progress]
        parts += [element.label for element in (*app.button, *app.text_input)]
        parts += [element.label for element in (*app.expander, *app.metric)]
        return "\n".join(parts)

    return shown_by
