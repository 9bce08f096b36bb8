"""Whole Chinese words on the masked-word page: hidden by a click, found, inserted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.experiments.scoring import score_known_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.figures.masked_word import percent
from pages.shared.engine import client
from tests.app.chinese_model import CHARACTERS, SIGNS, write_chinese_model

ROOT = Path(__file__).parents[2]
TEXT = "我喜欢吃苹果，他喝牛奶。"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(write_chinese_model(tmp_path_factory.mktemp("model")))


def open_page(model: str, **params: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = "中文"
    app.query_params["model"] = model
    for name, value in {"masked_text": TEXT, **params}.items():
        app.query_params[name] = value
    app.switch_page("pages/masked_word/masked_word.py").run()
    return checked(app)


def checked(app: AppTest) -> AppTest:
    assert not app.exception
    assert not [error.value for error in app.error]
    return app


def text_of(app: AppTest) -> str:
    return app.text_area(key="masked_text").value


def whole_words(app: AppTest) -> list[str]:
    app.session_state["masked_whole_words_table"] = True
    return list(checked(app.run()).dataframe[-1].value["词"])


def click(app: AppTest, index: int) -> AppTest:
    words = app.get_by_key("masked_words")
    (words.unselect if index in words.value else words.select)(index)
    words.run()
    return checked(app)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1", "我喜欢吃[MASK]果，他喝牛奶。"),
        ("2", "我喜欢吃[MASK][MASK]，他喝牛奶。"),
        ("4", "我喜欢吃[MASK][MASK]，他喝牛奶。"),  # a comma ends the word
    ],
)
def test_one_click_hides_a_whole_word_and_a_second_one_puts_it_back(
    model, size, expected
):
    app = open_page(model, masked_click_size=size)
    click(app, 4)
    assert text_of(app) == expected
    click(app, 4)
    assert text_of(app) == TEXT


def test_a_hidden_word_of_two_characters_is_asked_about_as_one_word(model):
    app = click(open_page(model, masked_click_size="2", masked_panel="whole"), 4)
    assert app.get_by_key("masked_whole_size").value == "2"
    one = TEXT.replace("苹果", "[MASK]")
    found = client().ask(find_whole_words)(model, one, 2, "characters", 0)
    assert whole_words(app) == list(found.words[:20])
    (score,) = client().ask(score_known_words)(model, one, ("苹果",), 0)
    share = percent(float(np.exp(score.log_prob)))
    said = "\n".join(text.value for text in app.markdown)
    assert "你遮住的是 **苹果**" in said
    assert share in said


@pytest.mark.parametrize("size", ["1", "2", "3", "4"])
def test_words_of_every_length_are_made_of_characters_alone(model, size):
    app = open_page(
        model,
        masked_text="他喝[MASK]。",
        masked_panel="whole",
        masked_whole_size=size,
    )
    words = whole_words(app)
    assert words
    assert {len(word) for word in words} == {int(size)}
    assert set("".join(words)) <= set(CHARACTERS)


def test_a_whole_word_replaces_all_its_masks_and_undo_brings_them_back(model):
    app = open_page(
        model, masked_text="他[MASK]我[MASK][MASK]。", masked_mask="3",
        masked_panel="whole",
    )  # fmt: skip
    word = whole_words(app)[0]
    app.get_by_key("masked_whole_insert").set_value(0).run()
    checked(app)
    assert text_of(app) == f"他[MASK]我{word}。"
    app.button(key="masked_undo").click().run()
    assert text_of(app) == "他[MASK]我[MASK][MASK]。"


def test_an_english_text_has_no_choice_of_characters(model):
    app = open_page(model, masked_text="ab [MASK]")
    assert "masked_click_size" not in app.session_state
    open_page(model, masked_text="ab 我 [MASK]").get_by_key("masked_click_size")


def test_a_chain_changes_chinese_characters(model):
    app = open_page(
        model, masked_text="他喝[MASK]奶。", masked_panel="gibbs",
        masked_gibbs_steps="12",
    )  # fmt: skip
    app.button(key="masked_gibbs_go").click().run()
    while app.get("progress"):
        checked(app.run())
    run = app.session_state["masked_chain"].run
    assert run.num_steps == 12
    drawn = {run.tokens_after(12)[place] for place in run.positions[:, 0]}
    assert drawn <= {*CHARACTERS, *SIGNS}
