"""The questions below the pictures of the attention page, asked of small models."""

from __future__ import annotations

import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.cause_results import SparsePattern, Switches, Target
from bertviz_core.trace import ModelEntry
from pages.ui.engine import client
from tests.app.test_attention import ROOT, TEXT, maps, said
from tests.core.checkpoint_copies import HF, number_copy

DEADLINE_SECONDS = 60.0
NUMBER = Target("classifier", 0)
NUMBER_TEXT = "ab cab ba"


def ask(
    panel: str, state: dict[str, object] | None = None, **params: str | list[str]
) -> AppTest:
    """Opens the page with a question, and waits for its jobs."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = "English"
    for name, value in {"attention_panel": panel, **params}.items():
        app.query_params[name] = value
    for name, value in (state or {}).items():
        app.session_state[name] = value
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


OTHER = TEXT.replace("dog", "horse")


def rows_of(text: str, method: str, pair: str | None = None) -> np.ndarray:
    return client().attention_matrix(DEFAULT_MODEL, text, method, 0, 0, pair, cut=True)


def test_a_comparison_goes_through_the_filters_of_the_pictures():
    app = ask(
        "compare",
        attention_compared_text=OTHER,
        attention_hide_special="true",
        attention_renormalise="true",
    )
    options = AttentionOptions(hide_special=True, renormalise=True)
    first, second = (
        show_attention(
            rows_of(text, "head"), client().tokenize(DEFAULT_MODEL, text), options
        ).values
        for text in (TEXT, OTHER)
    )
    np.testing.assert_allclose(maps(app)[0], second - first, atol=1e-6)


def test_a_pair_is_compared_with_a_pair():
    first, second = ("She left.", "It was late."), ("She left.", "It was early.")
    app = ask(
        "compare",
        attention_text=first[0],
        attention_pair=first[1],
        attention_compared_text=second[0],
        attention_compared_pair=second[1],
    )
    values = [rows_of(text, "head", pair) for text, pair in (first, second)]
    np.testing.assert_allclose(maps(app)[0], values[1] - values[0], atol=1e-6)


def test_a_long_comparison_names_the_largest_of_all_and_says_what_is_drawn():
    start = "the cat sat on a mat and " * 12
    first, second = f"{start}the dog ran", f"{start}the cow ran"
    app = ask("compare", attention_text=first, attention_compared_text=second)
    difference = rows_of(second, "head") - rows_of(first, "head")
    assert len(difference) > len(maps(app)[0]) == 64
    assert f"the first 64 of {len(difference)}" in said(app)
    largest = difference.flat[np.abs(difference).argmax()]
    assert f"{largest:+.4f}" in said(app)


def test_what_looks_at_tokens_without_a_partner_is_said():
    app = ask("compare", attention_compared_text=TEXT.replace("dog", "very old dog"))
    attention = rows_of(TEXT.replace("dog", "very old dog"), "head")
    added = [2, 3]
    rows = np.delete(attention, added, axis=0)
    assert "0.0% of their weight to such places in the first" in said(app)
    assert f"{rows[:, added].sum() / rows.sum():.1%} in the second" in said(app)


@pytest.mark.parametrize(("method", "lacks"), [("mean", False), ("layer", True)])
def test_a_smaller_model_needs_the_head_only_where_one_is_asked_for(method, lacks):
    app = ask(
        "compare",
        {"uploaded_models": (ModelEntry(str(HF), "tiny", "upload"),)},
        attention_text="ab cab",
        attention_compare="model",
        attention_method=method,
        attention_layer="4",
    )
    app.selectbox(key="attention_compared_model").set_value(str(HF)).run()
    assert ("has no head of that number" in said(app)) == lacks
    assert len(maps(app)) == (0 if lacks else 1)


def test_taking_values_away_in_a_long_comparison_is_refused_with_a_sentence(
    monkeypatch,
):
    from pages.ui.attention import answers

    size = client().tokenize(DEFAULT_MODEL, TEXT).num_tokens
    hidden = client().describe_model(DEFAULT_MODEL).config["hidden_size"]
    monkeypatch.setattr(answers, "_MOST_ZEROED", (size * hidden) ** 2)
    asked = []
    original = client().attention_matrix
    monkeypatch.setattr(
        type(client()),
        "attention_matrix",
        lambda self, *arguments: asked.append(arguments) or original(*arguments),
    )
    app = ask(
        "compare",
        attention_method="value_zeroing",
        attention_compared_text=f"{TEXT} It ran away.",
    )
    assert "would take minutes" in said(app)
    assert {arguments[1] for arguments in asked} <= {TEXT}


def test_the_head_that_differs_most_is_named():
    app = ask("compare", attention_compared_text=OTHER)
    found = client().compare_heads(DEFAULT_MODEL, TEXT, DEFAULT_MODEL, OTHER)
    layer, head = np.unravel_index(found.argmax(), found.shape)
    assert f"Most: head {layer + 1}·{head + 1}, {found.max():.1%}" in said(app)
