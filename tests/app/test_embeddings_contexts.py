"""Similar contexts: the list on the page is what the engine finds."""

from __future__ import annotations

import re

import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)
from pages.embeddings import contexts
from pages.shared.engine import client
from tests.app.real_pages import checked, finished, said
from tests.app.test_embeddings import open_page
from tests.app.test_embeddings_code import printed

LAYER = "embeddings_contexts_layer"


def listed(app) -> list[str]:
    """The sentences of the list, the token of each in brackets."""
    (rows,) = [m.value for m in app.markdown if m.value.startswith("1. ")]
    plain = re.sub(r":primary-background\[\*\*(.*?)\*\*\]", r"[\1]", rows)
    return [re.sub(r"\\(.)", r"\1", row.split(" · ")[1]) for row in plain.splitlines()]


@pytest.mark.parametrize("is_job", [False, True])
def test_the_list_is_that_of_the_chosen_token_and_layer(monkeypatch, is_job):
    if is_job:  # as with a large model
        monkeypatch.setattr(contexts, "is_short", lambda *_: False)
    text = "Please close the window."
    app = open_page(
        embeddings_panel="contexts",
        text=text,
        token="5",
        **{LAYER: "2"},
    )
    sentences = searched_sentences("en")
    asked = ((text,), "token", DEFAULT_MODEL, sentences, "token")
    found = client().ask(similar_contexts)(DEFAULT_MODEL, *asked, 2, 3)
    rows = [f"{one.before}[{one.token}]{one.after}" for one in found.contexts]
    assert listed(app) == rows
    assert sum("[window]" in row for row in rows[:3]) == 3
    assert "“window” at layer 2" in app.subheader[0].value
    assert f"{found.num_tokens:,} tokens of {len(sentences)} sentences" in said(app)
    app.selectbox(key=LAYER).set_value("0").run()
    assert listed(finished(app)) != rows


def test_a_chinese_model_searches_chinese_sentences_and_no_text_none():
    app = open_page("zh", embeddings_panel="contexts", text="锅里的水开了。", token="6")
    assert listed(app)[0] == "水[开]了，猫还趴在窗边看雪。"
    app.get_by_key("token").set_value("1").run()  # [CLS]
    assert "模型给每段文本加上的" in said(checked(app))
    app.text_area(key="text").set_value(" ").run()
    assert "还没有文本" in said(checked(app))


@pytest.mark.usefixtures("opened")
def test_its_program_prints_the_list():
    text = "She turned off the light and went to bed."
    link = {"embeddings_panel": "contexts", "text": text, "token": "6"}
    output = printed("embeddings_contexts", **link)
    first, *others = output.splitlines()
    assert "'light', ' stayed dark.'" in first
    assert len(others) == 19
