"""The attention page in both languages, on the bundled model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import softmax
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import forward_count
from bertviz_core.experiments.attention_matrix import attention_matrix, profile_heads
from bertviz_core.experiments.cause_results import Edge, Switches, Target
from bertviz_core.experiments.switching import switch_off
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import Texts, Trace
from pages.attention import difference, profile
from pages.attention.panels import PANELS
from pages.shared.engine import client

ROOT = Path(__file__).parents[2]
TITLES = {"en": "Attention", "zh": "注意力"}
TEXT = "The dog chased the cat because [MASK] was angry."


def open_page(language: str = "en", **params: str | list[str]) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = {"en": "English", "zh": "中文"}[language]
    for name, value in params.items():
        app.query_params[name] = value
    app.switch_page("pages/attention/attention.py").run()
    assert not app.exception
    assert not app.error
    return app


def said(app: AppTest) -> str:
    pieces = [*app.markdown, *app.caption, *app.info, *app.warning]
    return "\n".join(piece.value for piece in pieces)


def maps(app: AppTest) -> list[np.ndarray]:
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    drawn = [spec["data"][0] for spec in specs]
    return [np.array(one["z"], float) for one in drawn if "z" in one]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens_from_a_link(language, panel):
    app = open_page(language, attention_panel=panel)
    assert app.title[0].value == TITLES[language]
    assert app.get_by_key("attention_panel").value == panel
    assert app.query_params.get("attention_panel", PANELS[0]) in (panel, [panel])


def test_a_single_token_has_all_its_views():
    app = open_page(attention_text="a", attention_panel="arithmetic")
    assert app.get("latex")


def test_no_text_is_a_sentence_and_no_error():
    app = open_page()
    app.text_area(key="attention_text").set_value("   ").run()
    assert "no text yet" in said(app)
    assert not app.exception


def test_a_text_that_is_too_long_is_cut_and_says_so():
    app = open_page(attention_text="word " * 600)
    assert "602" in said(app)
    assert not app.exception


def test_html_in_the_text_is_shown_as_text():
    text = "<b>bold</b> [link](x) **[MASK]**"
    app = open_page(attention_text=text, attention_panel="switch")
    assert all(not element.allow_html for element in app.markdown)


def test_switching_heads_off_shows_what_the_engine_measured():
    app = open_page(attention_panel="switch", attention_off_heads=["2·4"])
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), ("mlm_logits",))
    best = softmax(trace.mlm_logits[0]).max()
    before, after, change = app.metric
    assert float(before.value.rstrip("%")) == pytest.approx(100 * best, abs=0.05)
    shown = float(after.value.rstrip("%")) - float(before.value.rstrip("%"))
    assert float(change.value.split()[0]) == pytest.approx(shown, abs=0.11)


@pytest.mark.parametrize(
    ("place", "edge"),
    [
        ("everywhere", Edge(8, 5)),
        ("layer", Edge(8, 5, layer=2)),
        ("head", Edge(8, 5, layer=2, head=3)),
    ],
)
def test_an_arrow_is_cut_where_the_page_says(place, edge):
    app = open_page(attention_panel="switch", attention_layer="3", attention_head="4")
    app.get_by_key("attention_off_heads").set_value([])
    app.get_by_key("attention_cut_edge").set_value(True).run()
    app.get_by_key("attention_from").set_value(str(edge.from_token))
    app.get_by_key("attention_to").set_value(str(edge.to_token))
    app.get_by_key("attention_cut_edge_where").set_value(place).run()
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), ("mlm_logits",))
    position = list(trace.tokenized.tokens).index("[MASK]")
    target = Target("mlm", int(trace.mlm_logits[0].argmax()), position)
    expected = client().ask(switch_off)(
        DEFAULT_MODEL, TEXT, target, Switches(edges=(edge,))
    )
    assert expected.delta_probability != 0
    assert app.metric[1].value == percent(expected.after.probability)


def test_nothing_switched_off_changes_nothing():
    app = open_page(attention_panel="switch")
    app.get_by_key("attention_off_heads").set_value([]).run()
    before, after, change = app.metric
    assert before.value == after.value
    assert float(change.value.split()[0]) == 0
    assert "Everything is switched on" in said(app)


def test_a_word_outside_the_vocabulary_is_named():
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["attention_panel"] = "switch"
    app.session_state["attention_word"] = "qqqqqqq"
    app.switch_page("pages/attention/attention.py").run()
    assert not app.exception
    assert "qqqqqqq" in said(app)


def test_a_text_without_a_mask_asks_for_one():
    app = open_page(attention_text="No gap at all.", attention_panel="switch")
    assert "hide a word" in said(app)


def test_the_profile_is_that_of_the_engine():
    app = open_page(attention_measure="to_previous")
    found = client().ask(profile_heads)(DEFAULT_MODEL, Texts(TEXT)).profile
    np.testing.assert_allclose(maps(app)[0], found.of("to_previous"))


def test_a_text_is_not_measured_where_the_bundled_sentences_are(monkeypatch):
    asked = []
    ask = profile.ask
    monkeypatch.setattr(
        profile, "ask", lambda task: asked.append(task.__name__) or ask(task)
    )
    open_page(attention_panel="profile", attention_profile_where="corpus")
    assert asked == ["corpus_profile"]
    open_page(attention_panel="profile")
    assert asked == ["corpus_profile", "profile_heads"]


def test_a_click_on_a_similar_head_looks_at_it():
    app = open_page()
    near = client().ask(profile_heads)(DEFAULT_MODEL, Texts(TEXT)).nearest(0, 0)[0]
    app.button(key=f"attention_near_{near.layer}_{near.head}").click().run()
    assert app.selectbox(key="attention_layer").value == near.layer + 1
    assert app.selectbox(key="attention_head").value == near.head + 1


def test_the_other_sentence_is_subtracted_head_by_head(monkeypatch):
    seen = []
    monkeypatch.setattr(
        difference, "attention_canvas", lambda view, key, on_change: seen.append(view)
    )
    other = TEXT.replace("dog", "horse")
    open_page(attention_panel="compare", attention_compared_text=other)
    first, second = (
        client().ask(attention_matrix)(DEFAULT_MODEL, Texts(text), "head", 0, 0)
        for text in (TEXT, other)
    )
    np.testing.assert_allclose(seen[-1].matrix, second - first, atol=1e-6)


def test_a_sparse_pattern_shows_its_edges():
    app = open_page(
        attention_panel="sparse",
        attention_sparse_window="1",
        attention_sparse_num_global="0",
    )
    edges = maps(app)[0]
    size = len(edges)
    expected = np.abs(np.subtract.outer(range(size), range(size))) <= 1
    np.testing.assert_array_equal(edges.astype(bool), expected)
    (drawn,) = json.loads(app.get("plotly_chart")[1].proto.spec)["data"]
    np.testing.assert_array_equal(np.array(drawn["text"]) == "•", expected)


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("rollout", ["layer"]),
        ("mean", []),
        ("chosen", []),
        ("head", ["layer", "head"]),
    ],
)
def test_what_a_method_does_not_ask_for_is_switched_off(method, names):
    app = open_page(attention_method=method)
    enabled = [
        name
        for name in ("layer", "head")
        if not app.selectbox(key=f"attention_{name}").proto.disabled
    ]
    assert enabled == names


def test_changing_language_and_head_never_runs_the_network_again():
    # A model that was chosen, and not the one that goes with the language, stays.
    app = open_page(model="bert-mini-zh", attention_text="以前没有人看过这[MASK]话。")
    before = client().ask(forward_count)()
    app.selectbox(key="attention_layer").set_value(3).run()
    app.selectbox(key="attention_head").set_value(5).run()
    app.toggle(key="attention_hide_special").set_value(True).run()
    app.get_by_key("lang").set_value("中文").run()
    assert not app.exception
    assert client().ask(forward_count)() == before
