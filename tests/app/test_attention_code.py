"""The programs that the attention page shows give the numbers that it shows."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.trace import Texts
from pages.attention.controls import METHODS
from pages.shared.engine import client
from tests.app.test_attention import TEXT, maps
from tests.app.test_attention_questions import CLEAN, CORRUPTED, ask, finished

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


@pytest.mark.parametrize("method", METHODS)
def test_the_picture_comes_out_of_the_program(method):
    heads = ["1·2", "3·1"]
    app = unfolded(
        "sparse",
        "attention_view",
        attention_method=method,
        attention_layer="2",
        attention_head="3",
        attention_heads=heads,
    )
    shown = names_of(app)["shown"]
    chosen = ((0, 1), (2, 0))
    expected = client().ask(attention_matrix)(
        DEFAULT_MODEL, Texts(TEXT), method, 1, 2, heads=chosen
    )
    np.testing.assert_allclose(shown, expected, atol=1e-5)


def test_the_arithmetic_comes_out_of_the_program():
    app = unfolded(
        "arithmetic", "attention_values", attention_from="3", attention_to="5"
    )
    found = names_of(app)["found"]
    vectors, values = maps(app)
    np.testing.assert_allclose(vectors[-1], found.running_sums, rtol=1e-5)
    np.testing.assert_allclose(values[1], found.weighted, rtol=1e-5, atol=1e-7)


def test_the_profile_comes_out_of_the_program():
    app = unfolded("profile", "attention_measure_map", attention_measure="to_next")
    names = names_of(app)
    np.testing.assert_allclose(maps(app)[0], names["profile"].of("to_next"), atol=1e-6)


def test_the_profile_of_many_sentences_comes_out_of_the_program():
    app = unfolded("profile", "attention_measure_map", attention_profile_where="corpus")
    app.button(key="job_attention_profile_start").click().run()
    names = names_of(finished(app))
    measured = names["profile"].of("entropy_bits")
    np.testing.assert_allclose(maps(app)[0], measured, atol=1e-5)


def test_a_switched_off_prediction_comes_out_of_the_program():
    app = unfolded(
        "switch",
        "attention_switched_off",
        attention_off_heads=["2·4"],
        attention_off_feed_forward=["3"],
        attention_cut_edge="true",
        attention_from="3",
        attention_to="5",
    )
    found = names_of(app)["found"]
    shown = [float(metric.value.rstrip("%")) for metric in app.metric[:2]]
    expected = [100 * found.before.value, 100 * found.after.value]
    assert shown == pytest.approx(expected, abs=0.06)
    assert found.before.value != found.after.value


@pytest.mark.parametrize(
    "kind", [pytest.param("heads", marks=pytest.mark.tensorflow), "parts"]
)
def test_a_map_of_causes_comes_out_of_the_program(kind, monkeypatch):
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 1e20)
    shown = "mass" if kind == "heads" else kind
    app = unfolded("maps", f"attention_map_{shown}", attention_map_kind=kind)
    deltas = names_of(app)["found"].deltas
    if kind == "parts":
        np.testing.assert_allclose(maps(app)[0], deltas, atol=1e-5)
    else:
        (text,) = [c.value for c in app.caption if "helps it most" in c.value]
        assert f"{100 * deltas.min():+.4g}"[:5] in text


def test_patching_comes_out_of_the_program():
    app = unfolded(
        "patch", "attention_patch", attention_text=CLEAN, attention_other=CORRUPTED
    )
    app.button(key="job_attention_patch_start").click().run()
    found = names_of(finished(app))["found"]
    np.testing.assert_allclose(maps(app)[0], found.recovered, atol=1e-4)
