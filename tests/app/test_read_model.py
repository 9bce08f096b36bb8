"""The page on which the model is read, and the table of weights."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.norm_orders import spread_in_both_orders
from bertviz_core.experiments.read_model_results import WeightPicture
from bertviz_core.experiments.token_numbers import steps_for_one_token
from bertviz_core.experiments.weight_pictures import weight_picture
from bertviz_core.experiments.wrong_formulas import (
    WRONG,
    effect_of_formula,
    formulas_of,
)
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.real_pages import checked, choose, link_of, said, specs
from tests.core.sent_figures import numbers

TEXT = "They were married and had three [MASK]."
MASK = 7


def open_page(language: str = "en", **params) -> AppTest:
    return real_pages.open_page("read_model", language, **params)


def lines(app: AppTest) -> list[str]:
    return [box.label for box in app.expander]


def latex(app: AppTest) -> list[str]:
    return [piece.value.strip("$\n ") for piece in app.latex]


def test_every_step_stands_there_with_formula_and_shape():
    app = open_page()
    steps = client().ask(steps_for_one_token)(DEFAULT_MODEL, Texts(TEXT))
    shown = [step for step in steps if step.layer in (None, 0)]
    told = [one for one in lines(app) if "$" in one]
    assert len(told) == len(shown) == 29
    for line, step in zip(told, shown, strict=True):
        assert f"${step.formula}$" in line
        sizes = " × ".join(f"{size:,}" for size in step.shape)
        assert line.replace("\\", "").endswith(f" · {sizes}")
    *_, run = specs(app)
    assert len(specs(app)) == 3  # the two orders alone, and both as they run
    spreads = client().ask(spread_in_both_orders)(DEFAULT_MODEL, TEXT)
    for trace, values in zip(run["data"], spreads.values(), strict=True):
        np.testing.assert_allclose(numbers(trace["y"]), values, rtol=1e-6)


def test_an_opened_step_brings_code_numbers_and_a_link():
    app = open_page(read_chapter="layer", read_layer="4", read_panel="sheet")
    steps = client().ask(steps_for_one_token)(DEFAULT_MODEL, Texts(TEXT))
    step = next(one for one in steps if one.name == "layer_3/context")
    before = [one.value for one in app.code]
    assert step.place.code not in before
    app.session_state["read_context_lines"] = True
    checked(app.run())
    assert step.place.code in [one.value for one in app.code]
    assert link_of(app, "read_layer_open") == "context"
    trace = client().ask(Explorer.tokenize)(DEFAULT_MODEL, TEXT)
    assert trace.tokens[MASK] == "[MASK]"
    (figure,) = specs(app)
    assert numbers(figure["data"][0]["z"]).size == 256
    again = open_page(
        read_chapter="layer", read_layer="4", read_layer_open="context,key"
    )
    assert step.place.code in [one.value for one in again.code]
    assert link_of(again, "read_layer_open") == "key,context"


def test_all_steps_unfold_at_once():
    app = open_page(read_panel="sheet", read_depth="code")
    primer, steps = 3, 29
    assert len(app.code) == primer + steps
    app = open_page("zh", read_panel="sheet", read_depth="numbers")
    assert len(specs(app)) == steps
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))


@pytest.mark.parametrize("name", [*WRONG][:2])
def test_a_wrong_formula_is_measured_on_the_sentence(name):
    app = open_page(read_panel="wrong", read_wrong=name, read_chapter="words")
    config = client().ask(Explorer.info)(DEFAULT_MODEL).config
    for formula in formulas_of(name, config):
        assert formula in latex(app)
    effect = client().ask(effect_of_formula)(DEFAULT_MODEL, TEXT, name, MASK)
    difference, _ = specs(app)[-1]["data"]
    np.testing.assert_allclose(numbers(difference["y"]), effect.differences, atol=1e-6)
    assert f"{effect.differences.max():.4g}" in said(app)
    assert effect.top_tokens[1][0][0] in said(app)
    assert "Measure" in [button.label for button in app.button]


def test_padding_is_shown_with_its_mask_and_its_price():
    app = open_page(read_panel="padding", read_chapter="words")
    table = app.dataframe[0].value
    hidden = table.iloc[:, 0] == "[PAD]"
    assert hidden.any()
    assert (table.iloc[:, 2] == "0").equals(hidden)
    assert (table.iloc[:, 3] == "−10000").equals(hidden)
    assert len(specs(app)[0]["data"]) == 2
    assert said(app).count("float16") >= 2
    assert not specs(checked(choose(app, read_padding_text="")))


def test_a_model_without_heads_is_read_to_its_end(hf_without):
    model = hf_without("cls.")
    app = open_page(model=model, text="ab cab", read_panel="wrong")
    assert "no masked-word head" in said(app)
    assert not any("Decoder" in one for one in lines(app))
    app = open_page(model=model, read_panel="sheet")
    assert "P × V" not in said(app)


def open_weights(**params) -> AppTest:
    return real_pages.open_page("models", state={"weights_open": True}, **params)


def test_the_table_of_weights_is_filtered_and_shows_one():
    app = open_weights(weights_filter="layer_2/attention/query")
    table = app.dataframe[0].value
    assert list(table.iloc[:, 0]) == [
        "bert/layer_2/attention/query/kernel",
        "bert/layer_2/attention/query/bias",
    ]
    assert table.iloc[0, 4] == "bert.encoder.layer.2.attention.self.query.weight"
    assert "transposed" in table.iloc[0, 5]
    assert "transposed" not in table.iloc[0, 3]
    name = "bert/layer_2/attention/query/kernel"
    found: WeightPicture = client().ask(weight_picture)(DEFAULT_MODEL, name)
    (figure,) = specs(app)
    np.testing.assert_array_equal(numbers(figure["data"][0]["y"]), found.counts)
    assert f"{found.spread:.4g}" in said(app)
    assert len(checked(choose(app, weights_filter="CLS.SEQ")).dataframe[0].value) == 2
    choose(app, weights_filter="nothing like it")
    assert "No name holds this" in said(checked(app))
