"""The programs that the attention page shows give the numbers that it shows."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.trace import Texts
from pages.attention.controls import METHODS
from pages.shared.engine import client
from tests.app.test_attention import LIGHT, MODEL, TEXT, ask, finished, maps, said
from tests.app.test_attention_questions import CLEAN, CORRUPTED

# Opens each model once for all programs.
pytestmark = pytest.mark.usefixtures("opened")


def names_of(app: AppTest) -> dict:
    """Runs the only program on the page: the names that it has made."""
    (block,) = app.code
    assert block.language == "python"
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.value, "program", "exec"), names)
    assert printed.getvalue()
    return names


def unfolded(panel: str, code: str, **params: str | list[str]) -> AppTest:
    return ask(panel, {f"{code}_code": True}, **params)


def test_the_picture_comes_out_of_the_program():
    heads = {"attention_heads": ["1·2", "3·1"]}
    place = {"attention_layer": "2", "attention_head": "3"}
    app = unfolded(LIGHT, "attention_view", **place, **heads)
    for method in METHODS:
        app.selectbox(key="attention_method").set_value(method).run()
        shown = names_of(app)["shown"]
        chosen = ((0, 1), (2, 0))
        expected = client().ask(attention_matrix)(
            MODEL, Texts(TEXT), method, 1, 2, heads=chosen
        )
        np.testing.assert_allclose(shown, expected, atol=1e-5, err_msg=method)


def test_the_arithmetic_comes_out_of_the_program():
    pair = {"token": "4", "attention_to": "5"}
    app = unfolded("arithmetic", "attention_values", **pair)
    found = names_of(app)["found"]
    vectors, values = maps(app)
    np.testing.assert_allclose(vectors[-1], found.running_sums, rtol=1e-5)
    np.testing.assert_allclose(values[1], found.weighted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("where", ["here", "corpus"])
def test_the_profile_comes_out_of_the_program(where):
    chosen = {"attention_measure": "to_next", "attention_profile_where": where}
    app = unfolded("profile", "attention_measure_map", **chosen)
    if where == "corpus":
        finished(app, "profile")
    profile = names_of(app)["profile"]
    np.testing.assert_allclose(maps(app)[0], profile.of("to_next"), atol=1e-5)
    assert f"mean over the texts, {profile.num_texts} in all" in said(app)
    assert (profile.num_texts >= 100) == (where == "corpus")


def test_a_switched_off_prediction_comes_out_of_the_program():
    app = unfolded(
        "switch",
        "attention_switched_off",
        attention_off_heads=["2·4"],
        attention_off_feed_forward=["3"],
        attention_cut_edge="true",
        token="4",
        attention_to="5",
    )
    found = names_of(app)["found"]
    shown = [float(metric.value.rstrip("%")) for metric in app.metric[:2]]
    expected = [100 * found.before.value, 100 * found.after.value]
    assert shown == pytest.approx(expected, abs=0.06)
    assert found.before.value != found.after.value


def test_a_map_of_causes_comes_out_of_the_program(monkeypatch):
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 1e20)
    app = unfolded("maps", "attention_map_parts", attention_map_kind="parts")
    deltas = names_of(app)["found"].deltas
    np.testing.assert_allclose(maps(app)[0], deltas, atol=1e-5)


def test_patching_comes_out_of_the_program():
    texts = {"text": CLEAN, "attention_other": CORRUPTED}
    app = unfolded("patch", "attention_patch", **texts)
    found = names_of(finished(app, "patch"))["found"]
    np.testing.assert_allclose(maps(app)[0], found.recovered, atol=1e-4)
