"""The page on which a tiny BERT learns, with the real engine."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.sentences import FIRST_QUESTIONS, first_page
from tests.app import real_pages
from tests.app.real_pages import specs
from tests.core.sent_figures import numbers

START = "job_pretrain_tiny_start"


def open_page(language: str = "en", **params: str) -> AppTest:
    return real_pages.open_page("pretraining", language, **params)


def until_it_ends(app: AppTest) -> list[str]:
    """Runs the page until the job is over; what was said on the way."""
    said = []
    for _ in range(600):
        said.append("\n".join(bar.text for bar in app.progress))
        if app.get("plotly_chart") and "job_pretrain_tiny_cancel" not in keys(app):
            return said
        time.sleep(0.3)
        app.run()
        assert not app.exception
    raise AssertionError("It did not end.")


def keys(app: AppTest) -> list[str]:
    return [button.key for button in app.button]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_opens_with_a_text_to_learn_and_a_sentence_to_ask(language):
    app = open_page(language)
    assert app.text_area[0].value == first_page(language)
    assert app.text_input[0].value == FIRST_QUESTIONS[language]
    assert not app.progress


def test_the_network_learns_while_one_looks_and_its_past_can_be_seen_again():
    app = open_page(pretraining_steps="200")
    app.button(key=START).click().run()
    said = until_it_ends(app)
    assert any("Learning" in text for text in said[:-1])
    (figure,) = specs(app)
    steps = numbers(figure["data"][0]["x"])
    assert steps.tolist() == list(range(20, 201, 20))
    assert any("guessed better" in note.value for note in app.info)
    at_end = [bar.text for bar in app.progress]
    app.select_slider(key="pretraining_look").set_value(0).run()
    assert app.subheader[0].value.endswith("after 0 steps")
    assert [bar.text for bar in app.progress] != at_end


def test_a_sentence_without_a_gap_is_refused_in_the_readers_language():
    app = open_page("zh", pretraining_sentence_zh="没有空。")
    app.button(key=START).click().run()
    for _ in range(200):
        if app.error:
            break
        time.sleep(0.3)
        app.run()
    assert "恰好一个 [MASK]" in app.error[0].value.replace("\\", "")
    assert START in keys(app)
