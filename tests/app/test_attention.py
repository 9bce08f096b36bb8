"""The attention page: what it opens on, its questions, what it says of odd texts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.head_profiles import NamedHead
from bertviz_core.engine.model_tasks import forward_count
from bertviz_core.experiments.attention_matrix import named_heads, profile_heads
from bertviz_core.trace import ModelEntry, Texts
from pages.attention import controls, profile
from pages.shared.engine import client
from tests.app.waiting import let_jobs_end
from tests.core.checkpoint_copies import HF

ROOT = Path(__file__).parents[2]
MODEL = "bert-mini-en"
TEXT = "The dog chased the cat because [MASK] was angry."
SHORT = "We like tea."
FIRST_HEAD = {"attention_layer": "1", "attention_head": "1"}
UNTOUCHED = {"attention_layer": "", "attention_head": ""}
DEADLINE_SECONDS = 180.0
LIGHT = "compare"  # a question that computes nothing until somebody types
PANELS = (
    *("profile", "combine", "arithmetic", "switch"),
    *("maps", "patch", "sparse", "compare"),
)


def started(
    panel: str = LIGHT,
    state: dict[str, object] | None = None,
    language: str = "English",
    **params: str | list[str],
) -> AppTest:
    """Opens the page on its first head, with a question."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    usual = {"lang": language, "attention_panel": panel, "text": TEXT}
    asked = {**usual, **FIRST_HEAD, **params}
    for name, value in asked.items():
        if value:
            app.query_params[name] = value
    for name, value in (state or {}).items():
        app.session_state[name] = value
    app.switch_page("pages/attention/attention.py").run()
    assert not app.exception
    return app


def ask(panel: str = LIGHT, *state: dict[str, object], **params: Any) -> AppTest:
    """The same; waits for its jobs, and nothing goes wrong."""
    app = finished(started(panel, *state, **params))
    assert not [error.value for error in app.error]
    return app


def finished(app: AppTest, start: str = "") -> AppTest:
    """Waits until no job is on its way; starts one before."""
    if start:
        app.button(key=f"job_attention_{start}_start").click().run()
    end = time.monotonic() + DEADLINE_SECONDS
    while any((one.key or "").endswith("_cancel") for one in app.button):
        assert time.monotonic() < end
        let_jobs_end(app, end)
        app.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    pieces = [*app.markdown, *app.caption, *app.info, *app.warning]
    return "\n".join(piece.value for piece in pieces)


def traces(app: AppTest) -> list[dict]:
    """What each figure draws first."""
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return [spec["data"][0] for spec in specs]


def maps(app: AppTest) -> list[np.ndarray]:
    return [np.array(one["z"], float) for one in traces(app) if "z" in one]


def head_of(app: AppTest) -> tuple[int | None, int | None]:
    """What stands in the boxes, from 1."""
    boxes = ("attention_layer", "attention_head")
    return tuple(app.selectbox(key=key).value for key in boxes)


def type_text(app: AppTest, text: str) -> AppTest:
    return app.text_area(key="text").set_value(text).run()


@pytest.fixture
def told(monkeypatch):
    """Which head has the most to show, by the text: 3·2 of `TEXT`, 1·1 of others."""

    def named(model, texts):
        place = (2, 1, "next token") if texts.text == TEXT else (4, 5, "[CLS]")
        lesser = (0, 0, "same word elsewhere", 0.6)
        return [NamedHead(*one, 0.5, 0.1, 9) for one in ((*place, 0.714), lesser)]

    ask_engine = controls.ask
    monkeypatch.setattr(
        controls, "ask", lambda task: named if task is named_heads else ask_engine(task)
    )


def test_the_page_opens_on_the_head_with_the_most_to_show_and_says_why():
    app = ask(**UNTOUCHED, model=MODEL)
    (telling,) = [
        one
        for one in client().ask(named_heads)(MODEL, Texts(TEXT))
        if one.score > 0.99 and one.name == "previous token"
    ]
    place = f"{telling.layer + 1}·{telling.head + 1}"
    sentence = f"Head {place} opens first: {telling.score:.1%} of its attention goes to"
    assert f"{sentence} the previous token" in said(app)
    boxes = [app.selectbox(key=f"attention_{name}") for name in ("layer", "head")]
    numbers = [box.proto.placeholder.split(" ")[0] for box in boxes]
    assert (head_of(app), "·".join(numbers)) == ((None, None), place)
    assert not {*FIRST_HEAD} & {*app.query_params}
    app = started(language="中文", **UNTOUCHED, model=MODEL)
    assert f"首先打开的是头 {place}" in said(app)


def test_a_head_that_nobody_chose_follows_the_text_and_a_chosen_one_stays(told):
    app = ask("arithmetic", **UNTOUCHED)
    assert "How head 3·2 arrives" in said(app)
    assert "71.4% of its attention goes to the next token" in said(app)
    type_text(app, SHORT)
    assert "How head 1·1 arrives" in said(app)
    assert "where a word occurs again, 60.0% of its attention" in said(app)
    app.selectbox(key="attention_layer").set_value(4).run()
    assert head_of(app) == (4, 1)
    address = [app.query_params[key] for key in FIRST_HEAD]
    assert address in (["4", "1"], [["4"], ["1"]])
    type_text(app, TEXT)
    assert head_of(app) == (4, 1)
    assert "opens first" not in said(app)
    app.selectbox(key="attention_head").set_value(None).run()  # cleared
    assert head_of(app) == (None, None)
    assert "How head 3·2 arrives" in said(app)


def test_a_head_in_the_address_wins_also_the_first_one_and_half_of_one(told):
    assert "opens first" not in said(ask())
    assert head_of(ask(**UNTOUCHED | {"attention_head": "6"})) == (1, 6)
    for nonsense in ("99", "x", "-1"):
        app = ask(**UNTOUCHED | {"attention_layer": nonsense})
        assert "Head 3·2 opens first" in said(app)


def test_where_no_head_stands_out_the_first_one_opens_and_so_it_is_said():
    app = ask("arithmetic", **UNTOUCHED, text="a")
    assert "no head gets a name" in said(app)
    assert "How head 1·1 arrives" in said(app)
    assert app.get("latex")


def test_a_head_that_a_smaller_model_lacks_gives_way():
    state = {"uploaded_models": (ModelEntry(str(HF), "tiny", "upload"),)}
    app = ask(LIGHT, state, attention_layer="5", attention_method="mean")
    app.selectbox(key="model").set_value(str(HF)).run()
    assert head_of(app) == (None, None)
    assert app.selectbox(key="attention_method").value == "mean"


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens_from_a_link(panel):
    app = started(panel, language="中文")
    assert not app.error
    assert app.title[0].value == "注意力"
    assert app.get_by_key("attention_panel").value == panel


def test_odd_texts_end_in_a_sentence():
    app = ask("switch", text="<b>bold</b> [link](x) **[MASK]**")
    assert "hide a word" in said(type_text(app, "No gap at all."))
    assert "no text yet" in said(type_text(app, "   "))
    assert "122 tokens" in said(ask(model=str(HF), text="ab " * 60))


def test_a_text_is_not_measured_where_the_bundled_sentences_are(monkeypatch):
    asked = []
    ask_engine = profile.ask
    monkeypatch.setattr(
        profile, "ask", lambda task: asked.append(task.__name__) or ask_engine(task)
    )
    ask("profile", attention_profile_where="corpus")
    assert asked == ["corpus_profile"]


def test_a_click_on_a_similar_head_looks_at_it():
    app = ask("profile")
    near = client().ask(profile_heads)(MODEL, Texts(TEXT)).nearest(0, 0)[0]
    app.button(key=f"attention_near_{near.layer}_{near.head}").click().run()
    assert head_of(app) == (near.layer + 1, near.head + 1)


def test_changing_language_and_head_never_runs_the_network_again():
    # A model that was chosen, and not the one that goes with the language, stays.
    app = ask(model="bert-mini-zh", text="以前没有人看过这[MASK]话。")
    before = client().ask(forward_count)()
    app.selectbox(key="attention_layer").set_value(3).run()
    app.toggle(key="attention_hide_special").set_value(True).run()
    app.get_by_key("lang").set_value("中文").run()
    assert not app.exception
    assert client().ask(forward_count)() == before
