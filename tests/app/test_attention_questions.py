"""The questions below the pictures of the attention page, asked of small models."""

from __future__ import annotations

import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.experiments.cause_results import SparsePattern, Switches, Target
from pages.ui.engine import client
from tests.app.test_attention import ROOT, maps, said
from tests.core.checkpoint_copies import number_copy

DEADLINE_SECONDS = 60.0
NUMBER = Target("classifier", 0)
NUMBER_TEXT = "ab cab ba"


def ask(panel: str, **params: str | list[str]) -> AppTest:
    """Opens the page with a question, and waits for its jobs."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = "English"
    for name, value in {"attention_panel": panel, **params}.items():
        app.query_params[name] = value
    app.switch_page("pages/views/attention.py").run()
    return finished(app)


def finished(app: AppTest) -> AppTest:
    """Waits until no job is on its way."""
    end = time.monotonic() + DEADLINE_SECONDS
    while any(button.key.endswith("_cancel") for button in app.button):
        assert time.monotonic() < end
        time.sleep(0.05)
        app.run()
    assert not app.exception
    assert not [error.value for error in app.error]
    return app


@pytest.fixture(scope="module")
def number_model(tmp_path_factory):
    return str(number_copy(tmp_path_factory.mktemp("models")))


def ask_number(model: str, panel: str, **params: str | list[str]) -> AppTest:
    return ask(panel, model=model, attention_text=NUMBER_TEXT, **params)


def metrics(app: AppTest) -> list[float]:
    return [float(metric.value) for metric in app.metric[:3]]


def test_a_number_changes_in_its_own_unit_when_a_head_is_off(number_model):
    app = ask_number(number_model, "switch", attention_off_heads=["2·1"])
    switches = Switches(heads=((1, 0),))
    found = client().switch_off(number_model, NUMBER_TEXT, NUMBER, switches)
    assert abs(found.delta_logit) > 1e-3, "nothing to see"
    expected = [found.before.logit, found.after.logit, found.delta_logit]
    assert metrics(app) == pytest.approx(expected, rel=1e-3)
    assert "The number moved by" in said(app)
    assert "%" not in "".join(metric.value for metric in app.metric[:3])
    assert "the number price" in app.selectbox(key="attention_target").options[0]


def test_a_sparse_pattern_moves_the_number(number_model):
    app = ask_number(number_model, "sparse", attention_sparse_window="1")
    pattern = SparsePattern(window=1, num_global=1)
    found = client().predict_sparsely(number_model, NUMBER_TEXT, NUMBER, pattern)
    assert metrics(app)[2] == pytest.approx(found.delta_logit, rel=1e-3, abs=1e-6)
    assert found.delta_logit != 0


def test_the_maps_of_a_number_are_in_its_own_unit(number_model):
    app = ask_number(number_model, "maps", attention_map_kind="parts")
    (values,) = maps(app)
    assert np.abs(values).max() > 1e-3
    for layer, number in enumerate(values[:, 1]):
        off = Switches(feed_forward=(layer,))
        found = client().switch_off(number_model, NUMBER_TEXT, NUMBER, off)
        assert number == pytest.approx(found.delta_logit, abs=1e-5)
    assert "Change of the number price" in said(app)
