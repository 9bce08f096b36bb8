"""The programs of all pages that take a gradient give the numbers that pages show.

In one file, as TensorFlow then starts in one process, and in one engine.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.app.real_pages import finished
from tests.app.test_attention_code import names_of, unfolded
from tests.app.test_layers_code import layers_printed
from tests.app.test_masked_code import HF, figure, open_page, run_code

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("opened")]


def test_reasons_come_out_of_the_program():
    app = open_page(
        "masked_why",
        masked_panel="why",
        masked_why_word="rome",
        masked_why_contrast="true",
        masked_why_baseline="pad",
    )
    names, _ = run_code(app)
    found = names["found"]
    assert float(app.metric[3].value) == pytest.approx(found.value, abs=0.006)
    bars = np.array(figure(app)["data"][0]["x"], float)
    row = found.scores[found.methods.index("integrated_gradients")]
    np.testing.assert_allclose(bars, row, atol=1e-3)
    assert found.contrast is not None


def test_the_check_with_random_weights_comes_out_of_the_program():
    app = open_page(
        "masked_why_check",
        masked_panel="why",
        masked_why_look="check",
        model=HF,
        text="ab [MASK] cab ba",
    )
    app.button(key="job_masked_why_check_start").click().run()
    names, _ = run_code(finished(app))
    assert any("Near 1 is a warning" in caption.value for caption in app.caption)
    np.testing.assert_allclose(
        np.array(figure(app)["data"][0]["x"], float),
        names["found"].agreement,
        atol=1e-6,
    )


def test_effects():
    app, output = layers_printed("layers_effects", layers_panel="neurons")
    places = re.findall(r"\[ *(\d+) +(\d+)\]", output)
    labels = [f"{int(a) + 1}·{int(b) + 1}" for a, b in places]
    assert app.get_by_key("layers_effect_open").options == labels


def test_a_map_of_heads_comes_out_of_the_program(monkeypatch):
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 1e20)
    app = unfolded("maps", "attention_map_mass", attention_map_kind="heads")
    deltas = names_of(app)["found"].deltas
    (text,) = [c.value for c in app.caption if "helps it most" in c.value]
    (told,) = re.findall(r"changes by (-?[\d.]+) points", text)
    assert float(told) == pytest.approx(100 * deltas.min(), abs=0.006)
