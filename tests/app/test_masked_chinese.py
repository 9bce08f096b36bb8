"""Whole Chinese words on the masked-word page: hidden by a click, found, inserted."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.experiments.scoring import score_known_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.figures.masked_word import percent
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.chinese_model import CHARACTERS, SIGNS
from tests.app.real_pages import checked, finished, said, table

TEXT = "我喜欢吃苹果，他喝牛奶。"


def open_page(model: str, **params: str) -> AppTest:
    link = {"model": model, "text": TEXT, **params}
    return real_pages.open_page("masked_word", "zh", **link)


def text_of(app: AppTest) -> str:
    return app.text_area(key="text").value


def whole_words(app: AppTest) -> list[str]:
    return list(table(app, "masked_whole_words")["词"])


def click(app: AppTest, index: int) -> AppTest:
    words = app.get_by_key("masked_words")
    (words.unselect if index in words.value else words.select)(index)
    words.run()
    return checked(app)


# A comma ends the word.
@pytest.mark.parametrize(("size", "masks"), [("1", 1), ("2", 2), ("4", 2)])
def test_one_click_hides_a_whole_word_and_a_second_one_puts_it_back(
    chinese, size, masks
):
    app = click(open_page(chinese, masked_click_size=size), 4)
    assert text_of(app) == TEXT[:4] + "[MASK]" * masks + TEXT[4 + masks :]
    assert text_of(click(app, 4)) == TEXT


def test_a_hidden_word_of_two_characters_is_asked_about_as_one_word(chinese):
    app = click(open_page(chinese, masked_click_size="2", masked_panel="whole"), 4)
    assert app.get_by_key("masked_whole_size").value == "2"
    one = TEXT.replace("苹果", "[MASK]")
    found = client().ask(find_whole_words)(chinese, one, 2, "characters", 0)
    assert whole_words(app) == list(found.words[:20])
    (score,) = client().ask(score_known_words)(chinese, one, ("苹果",), 0)
    share = percent(float(np.exp(score.log_prob)))
    assert "你遮住的是 **苹果**" in said(app)
    assert share in said(app)


def test_words_of_every_length_are_made_of_characters_alone(chinese):
    app = open_page(chinese, text="他喝[MASK]。", masked_panel="whole")
    for size in (1, 2, 3, 4):
        app.get_by_key("masked_whole_size").set_value(str(size)).run()
        words = whole_words(app)
        assert words
        assert {len(word) for word in words} == {size}
        assert set("".join(words)) <= set(CHARACTERS)


def test_a_whole_word_replaces_all_its_masks_and_undo_brings_them_back(chinese):
    app = open_page(
        chinese, text="他[MASK]我[MASK][MASK]。", token="6",
        masked_panel="whole",
    )  # fmt: skip
    word = whole_words(app)[0]
    app.get_by_key("masked_whole_insert").set_value(0).run()
    checked(app)
    assert text_of(app) == f"他[MASK]我{word}。"
    app.button(key="masked_undo").click().run()
    assert text_of(app) == "他[MASK]我[MASK][MASK]。"


def test_an_english_text_has_no_choice_of_characters(chinese):
    app = open_page(chinese, text="ab [MASK]")
    assert "masked_click_size" not in app.session_state
    app.text_area(key="text").set_value("ab 我 [MASK]").run()
    assert app.get_by_key("masked_click_size")


def test_a_chain_changes_chinese_characters(chinese):
    app = open_page(
        chinese, text="他喝[MASK]奶。", masked_panel="gibbs",
        masked_gibbs_steps="12",
    )  # fmt: skip
    app.button(key="masked_gibbs_go").click().run()
    finished(app)
    run = app.session_state["masked_chain"].run
    assert run.num_steps == 12
    drawn = {run.tokens_after(12)[place] for place in run.positions[:, 0]}
    assert drawn <= {*CHARACTERS, *SIGNS}
