"""The page on which a tiny BERT learns, with the real engine."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.text_objective import objective_of
from bertviz_core.experiments.tiny_results import TinyLook, TinyRun
from bertviz_core.experiments.training_costs import (
    NUM_BLOCKS,
    PASSED_BYTES,
    Cost,
    DecodingCosts,
)
from bertviz_core.sentences import FIRST_QUESTIONS, bundled_text
from bertviz_core.training.schedule import keep_rate, keep_rates
from pages.pretraining import objective, tiny_run
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.real_pages import (
    checked,
    finished,
    has,
    link_of,
    run_program,
    said,
    specs,
)
from tests.core.sent_figures import numbers

TEXT, PAIR = "She took the book to the library.", "It was very old."
START = "job_pretrain_tiny_start"


def open_page(language: str = "en", **params: str) -> AppTest:
    return real_pages.open_page("pretraining", language, **params)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_opens_with_a_text_to_learn_and_a_sentence_to_ask(language):
    app = open_page(language)
    assert app.text_area[0].value == bundled_text("first_page", language)
    assert app.text_input[0].value == FIRST_QUESTIONS[language]
    asked = FIRST_QUESTIONS[language].split("[MASK]")[0]
    assert asked not in bundled_text("first_page", language)
    assert not app.progress


def test_a_run_is_told_and_each_look_at_it_can_be_seen_again(monkeypatch):
    """How it learns while one looks is for `tests/browser/test_pretraining.py`."""
    losses = (None, 3.0, 1.5, 1.0)
    looks = tuple(
        TinyLook(20 * step, loss, loss and 0.5, (("on", 0.1 * step), ("off", 0.05)))
        for step, loss in enumerate(losses)
    )
    run = TinyRun(("[CLS]", "[MASK]", "[SEP]"), 8, 900, 6, 60, 1.75, looks)
    monkeypatch.setattr(tiny_run, "ask_job", lambda *_, **__: run)
    app = open_page(objective_part="anew")
    (figure,) = specs(app)
    xs, ys = (numbers(figure["data"][0][axis]) for axis in "xy")
    told = np.isfinite(ys)
    assert xs[told].tolist() == [20, 40, 60]
    assert ys[told].tolist() == [3.0, 1.5, 1.0]
    assert "From step 40 on it guessed better" in app.info[0].value
    for step in (3, 0):
        app.select_slider(key="pretraining_look").set_value(20 * step).run()
        assert app.subheader[0].value.endswith(f"after {20 * step} steps")
        assert [bar.value for bar in app.progress] == [10 * step, 5]


@pytest.mark.tensorflow
def test_a_sentence_without_a_gap_is_refused_in_the_readers_language():
    app = open_page("zh", pretraining_sentence_zh="没有空。")
    app = finished(app.button(key=START).click().run(), may_fail=True)
    assert "恰好一个 [MASK]" in app.error[0].value.replace("\\", "")
    assert has(app, START)


def test_both_losses_are_shown_piece_by_piece_and_drawn_again():
    choices = {"objective_rate": "50", "objective_seed": "3", "objective_is": "other"}
    app = open_page(text=TEXT, pair=PAIR, **choices)
    for seed in (3, 8):
        app.number_input(key="objective_seed").set_value(seed).run()
        assert link_of(checked(app), "objective_seed") == str(seed)
        how = {"seed": seed, "rate": 0.5, "is_next": False}
        found = client().ask(objective_of)(DEFAULT_MODEL, TEXT, PAIR, **how)
        (figure,) = specs(app)
        losses = [*found.losses, found.nsp_loss]
        np.testing.assert_allclose(numbers(figure["data"][0]["x"]), losses, rtol=1e-6)
        assert f"= {found.total:.4f}" in app.latex[-1].value
    assert app.get("plotly_chart")[0].proto.alt
    app.pills(key="objective_losses_tools").set_value("table").run()
    (table,) = [one.value for one in checked(app).dataframe]
    np.testing.assert_allclose(table["−ln p (nats)"], losses, rtol=1e-6)
    np.testing.assert_allclose(table["p(true token)"], np.exp(np.negative(losses)))
    assert table["stands there now"].tolist() == [*found.shown, ""]
    app.pills(key="objective_losses_tools").set_value("code")
    _, printed = run_program(checked(app.run()))
    assert float(printed.split()[-1]) == pytest.approx(found.total, abs=1e-5)


def test_a_text_alone_has_one_loss_and_masks_alone_have_none():
    app = open_page(text="She took the book.")
    assert "one loss alone" in said(app)
    app = open_page(text="[MASK]")
    assert "no token to draw" in said(app)
    assert not specs(app)


def test_layer_drop_is_the_curve_that_pre_training_takes():
    chosen = {"drop_final": "0.3", "drop_speed": "20", "drop_layers": "5"}
    app = open_page(objective_part="drop", drop_now="40", **chosen)
    curve, blocks = specs(app)
    last = keep_rate(40, 1000, 0.3, speed=20)
    x, y = (numbers(curve["data"][0][axis]) for axis in "xy")
    assert y[np.abs(x - 0.04).argmin()] == pytest.approx(last, abs=1e-6)
    assert y[-1] == pytest.approx(keep_rate(1000, 1000, 0.3, speed=20), abs=1e-6)
    np.testing.assert_allclose(
        numbers(blocks["data"][0]["x"]), keep_rates(5, last), rtol=1e-6
    )
    assert f"{last:.1%}" in said(app)
    app.slider(key="drop_layers").set_value(1).run()
    assert numbers(specs(app)[1]["data"][0]["x"]) == pytest.approx([last])


def test_what_was_measured_is_told(monkeypatch):
    found = {"kept": Cost(0.2, 80_000_000), "each": Cost(0.4, 8_000_000)}
    found["root"] = Cost(0.3, 20_000_000)
    monkeypatch.setattr(objective, "ask_job", lambda *_: found)
    app = open_page(objective_part="anew")
    (figure,) = specs(app)
    assert numbers(figure["data"][0]["x"]).tolist() == [80, 8, 20]
    assert f" {80e6 / NUM_BLOCKS / PASSED_BYTES:.0f} " in said(app)
    assert "10.0" in app.get("plotly_chart")[0].proto.alt
    # Where TensorFlow does not count, the picture is of the time.
    found |= {name: Cost(cost.seconds, None) for name, cost in found.items()}
    (figure,) = specs(open_page(objective_part="anew"))
    np.testing.assert_allclose(numbers(figure["data"][0]["x"]), [200, 400, 300])

    decoded = DecodingCosts(
        60, 2, 17, 9000, Cost(0.01, 9_000_000), Cost(0.1, 70_000_000), 2e-7
    )
    monkeypatch.setattr(objective, "ask_job", lambda *_: decoded)
    app = open_page(objective_part="decoder", text=TEXT, pair=PAIR)
    (figure,) = specs(app)
    assert numbers(figure["data"][0]["x"]).tolist() == [9, 70]
    assert "9,000" in said(app)
    assert "2e-07" in said(app)
