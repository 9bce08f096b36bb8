"""The masked-word page on the bundled model."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import rank_order, sampling_distribution, softmax
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from pages.shared import answers
from pages.shared.engine import client
from pages.shared.own_text import EXAMPLES
from tests.app import real_pages
from tests.app.real_pages import said
from tests.app.real_pages import specs as figures
from tests.core.sent_figures import numbers

DEFAULT = EXAMPLES["en"][0][0]
TWO_MASKS = EXAMPLES["en"][4][0]


def open_page(language: str = "en", **params: str | list[str]) -> AppTest:
    return real_pages.open_page("masked_word", language, may_fail=True, **params)


def type_text(app: AppTest, text: str) -> AppTest:
    app.text_area(key="text").set_value(text).run()
    assert not app.exception
    return app


def text_of(app: AppTest) -> str:
    return app.text_area(key="text").value


def click_word(app: AppTest, index: int) -> AppTest:
    words = app.get_by_key("masked_words")
    (words.unselect if index in words.value else words.select)(index)
    words.run()
    assert not app.exception
    return app


def word_labels(app: AppTest) -> list[str]:
    """The words as buttons; "~" stands for the crossed-out eye of a hidden one."""
    options = app.get_by_key("masked_words").proto.options
    return [
        "~" * bool(option.content_icon)
        + option.content.replace("\u2060", "").replace("\\", "")
        for option in options
    ]


def insert(app: AppTest, candidate_index: int) -> AppTest:
    app.get_by_key("masked_insert").set_value(candidate_index).run()
    assert not app.exception
    return app


def undo(app: AppTest) -> str:
    app.button(key="masked_undo").click().run()
    return text_of(app)


def bars(app: AppTest, index: int = 0) -> np.ndarray:
    return numbers(figures(app)[0]["data"][index]["x"])


def expected_logits(text: str, mask_index: int = 0) -> np.ndarray:
    return client().ask(Explorer.predict_masks)(DEFAULT_MODEL, text).logits[mask_index]


def test_the_default_example_answers_without_any_input():
    app = open_page()
    assert app.title[0].value == "Masked words"
    assert text_of(app) == DEFAULT
    probs = softmax(expected_logits(DEFAULT))
    np.testing.assert_allclose(bars(app)[:-1], np.sort(probs)[::-1][:10], rtol=1e-6)
    assert len(figures(app)) == 1
    assert not (*app.error, *app.warning, *app.info)


def test_clicked_words_are_hidden_and_a_second_click_puts_them_back():
    app = click_word(open_page(), 3)
    assert text_of(app) == "They were married [MASK] had three [MASK]."
    labels = ["They", "were", "married", "~and", "had", "three", "~?", "."]
    assert word_labels(app) == labels
    assert app.get_by_key("masked_words").value == [3, 6]
    click_word(app, 3)
    assert text_of(app) == DEFAULT
    assert app.get_by_key("masked_words").value == [6]
    # A typed mask has no word to put back, and the page says so.
    assert text_of(click_word(app, 6)) == DEFAULT
    assert "no word behind it" in said(app)
    assert "no word behind it" not in said(app.run())
    # Two at once.
    app.get_by_key("masked_words").set_value([0, 3, 6]).run()
    assert text_of(app) == "[MASK] were married [MASK] had three [MASK]."
    # Of equal words only the clicked one.
    click_word(click_word(type_text(app, "the cat and the dog and the bird"), 3), 5)
    assert text_of(app) == "the cat and [MASK] dog [MASK] the bird"
    click_word(app, 3)
    assert text_of(app) == "the cat and the dog [MASK] the bird"


def test_typed_text_moves_the_words_along():
    app = type_text(open_page(), "Snow is ___ and cold")
    assert word_labels(app) == ["Snow", "is", "~?", "and", "cold"]
    assert text_of(click_word(app, 0)) == "[MASK] is [MASK] and cold"
    type_text(app, "[MASK] is [MASK] and very cold")
    assert word_labels(app) == ["~Snow", "is", "~?", "and", "very", "cold"]
    # What was hidden goes with its text.
    assert "You hid **Snow**" in said(app)
    type_text(app, "Berlin is the capital of [MASK].")
    assert "You hid" not in said(app)
    assert word_labels(app)[5] == "~?"
    # A click on words of an older text changes nothing.
    app.text_area(key="text").set_value("Quite another text with [MASK].")
    app.get_by_key("masked_words").select(2).run()
    assert not app.exception
    assert text_of(app) == "Quite another text with [MASK]."


def test_other_spellings_are_understood_and_named():
    app = type_text(open_page(), "Paris is the ___ of <mask>, [ mask ].")
    assert "___" in said(app)
    assert "<mask>" in said(app)
    assert len(app.get_by_key("masked_mask").options) == 3
    expected = expected_logits("Paris is the [MASK] of [MASK], [MASK].", 0)
    np.testing.assert_allclose(bars(app)[0], softmax(expected).max(), rtol=1e-6)


def test_each_mask_has_its_own_candidates():
    app = type_text(open_page(), TWO_MASKS)
    for index in (0, 1):
        app.get_by_key("masked_mask").set_value(str(index + 1)).run()
        probs = softmax(expected_logits(TWO_MASKS, index))
        np.testing.assert_allclose(bars(app)[:-1], np.sort(probs)[::-1][:10], rtol=1e-6)
    assert "Mask 2 of 2" in said(app)
    # A candidate goes to the chosen one.
    insert(app, 0)
    assert text_of(app) == "He was born in [MASK] 1950 in New york, United States."
    # All of many are offered; one that is gone is not asked for.
    type_text(app, "[MASK] and " * 20)
    app.selectbox(key="masked_mask").set_value("20").run()
    assert "Mask 20 of 20" in said(app)
    assert not app.error
    type_text(app, "[MASK] and [MASK]")
    assert app.get_by_key("masked_mask").value == "1"


def test_a_candidate_is_inserted_and_undo_goes_back_step_by_step():
    app = open_page()
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    best = words[int(np.argmax(expected_logits(DEFAULT)))]
    insert(app, 0)
    assert text_of(app) == f"They were married and had three {best}."
    assert "No word is hidden" in said(app)
    assert undo(app) == DEFAULT
    assert app.button(key="masked_undo").disabled
    click_word(app, 0)
    type_text(app, "[MASK] is a town.")
    app.selectbox(key="text_example").set_value(1).run()
    assert text_of(app) == EXAMPLES["en"][1][0]
    hidden = "[MASK] were married and had three [MASK]."
    for text in ("[MASK] is a town.", hidden, DEFAULT):
        assert not app.button(key="masked_undo").disabled
        assert undo(app) == text
    assert app.button(key="masked_undo").disabled
    assert word_labels(app)[0] == "They"


def test_the_hidden_word_is_ranked():
    app = type_text(open_page(), DEFAULT.replace("[MASK]", "children"))
    click_word(app, 6)
    logits = expected_logits(DEFAULT)
    token_id = client().ask(vocabulary)(DEFAULT_MODEL).index("children")
    rank = int(np.flatnonzero(rank_order(logits) == token_id)[0]) + 1
    share = percent(float(softmax(logits)[token_id]))
    assert re.search(rf"You hid \*\*children\*\*.* {rank:,} of ", said(app))
    assert share in said(app)
    # One of several pieces is out of reach.
    click_word(type_text(app, "Paris is unbelievableness."), 2)
    assert "only in pieces" in said(app)
    assert "##" in said(app)


def test_a_new_text_runs_the_network_once_and_settings_never():
    # A model that was chosen, and not the one that goes with the language, stays.
    app = open_page(model="bert-mini-zh")
    before = client().ask(forward_count)()
    type_text(app, "柏林是[MASK]国的首[MASK]，不是罗马。")
    assert client().ask(forward_count)() == before + 1
    app.slider(key="masked_temperature").set_value(0.4).run()
    app.number_input(key="masked_top_k").set_value(7).run()
    app.slider(key="masked_top_p").set_value(0.8).run()
    app.number_input(key="masked_draws").set_value(333).run()
    app.number_input(key="masked_seed").set_value(5).run()
    app.slider(key="masked_shown").set_value(37).run()
    app.get_by_key("masked_mask").set_value("2").run()
    app.get_by_key("lang").set_value("中文").run()
    assert app.title[0].value == "猜被遮住的词"
    assert not app.exception
    assert client().ask(forward_count)() == before + 1


def test_before_and_after_stand_on_one_axis_with_the_numbers_of_the_core():
    settings = {"masked_top_k": "6", "masked_top_p": "0.9"}
    app = open_page(masked_temperature="1.7", **settings)
    logits = expected_logits(DEFAULT)
    order = rank_order(logits)[:10]
    after = sampling_distribution(logits, 1.7, 6, 0.9)
    np.testing.assert_allclose(bars(app)[:10], softmax(logits)[order], rtol=1e-6)
    np.testing.assert_allclose(bars(app, 1)[:10], after[order], rtol=1e-6)
    for index in (0, 1):  # with all other words it is all
        assert bars(app, index).sum() == pytest.approx(1)
    assert app.metric[2].value == f"{(after > 0).sum()}"
    bits = -sum(p * math.log2(p) for p in after if p > 0)
    assert app.metric[0].value == f"{bits:.2f} bits"
    assert app.metric[1].value == f"{2**bits:,.1f} words"


def test_temperature_zero_leaves_one_word_and_says_it_without_nan():
    app = open_page(masked_draws="9", masked_temperature="0.0")
    assert app.metric[0].value == "0.00 bits"
    assert app.metric[2].value == "1"
    assert "nan" not in said(app).lower()
    assert bars(app, 1).tolist() == [1.0] + [0.0] * 10
    app.button(key="masked_reset").click().run()
    assert app.slider(key="masked_temperature").value == 1.0
    assert app.metric[2].value == "16,384"
    # Words that are left are not called left out.
    app.slider(key="masked_temperature").set_value(0.05).run()
    left = int(app.metric[2].value.replace(",", ""))
    text = figures(app)[0]["data"][1]["text"]
    assert left > len(text)
    assert "left out" not in text
    app.number_input(key="masked_top_k").set_value(3).run()
    assert figures(app)[0]["data"][1]["text"].count("left out") == 11 - 3


def test_words_are_drawn_by_a_seed_and_listed_from_logit_to_draw():
    app = open_page(masked_temperature="2.0")
    assert len(figures(app)[0]["data"]) == 2, "nothing until it is asked for"
    app.number_input(key="masked_draws").set_value(50).run()
    first = bars(app, -1)
    assert first.sum() == pytest.approx(1)
    app.number_input(key="masked_seed").set_value(2).run()
    assert (bars(app, -1) != first).any()
    app.number_input(key="masked_seed").set_value(1).run()
    np.testing.assert_array_equal(bars(app, -1), first)
    assert not app.dataframe
    app.session_state["masked_candidates_table"] = True  # opened
    app.slider(key="masked_shown").set_value(100).run()
    table = app.dataframe[0].value
    logits = expected_logits(DEFAULT)
    order = rank_order(logits)[:100]
    after = sampling_distribution(logits, 2.0)
    np.testing.assert_array_equal(table["Rank"], np.arange(1, 101))
    np.testing.assert_array_equal(table["Id"], order)
    np.testing.assert_allclose(table["Logit"], logits[order], rtol=1e-6)
    np.testing.assert_allclose(table["Logit / T"], logits[order] / 2, rtol=1e-6)
    np.testing.assert_allclose(table["Probability"], softmax(logits)[order])
    np.testing.assert_allclose(table["Probability after"], after[order])
    assert table["Times drawn"].sum() <= 50


SETTINGS = {
    "masked_shown": 23,
    "masked_temperature": 0.0,
    "masked_top_k": 9,
    "masked_top_p": 0.55,
    "masked_draws": 77,
    "masked_seed": 0,
}


def test_the_address_brings_the_whole_state_back_and_a_bad_text_loses_none():
    text = "The [MASK] sat on the [MASK]."
    link = {key: str(value) for key, value in SETTINGS.items()}
    app = open_page(text=text, hidden=["cat", "mat"], token="7", **link)
    assert app.get_by_key("masked_mask").value == "2"
    assert text_of(app) == text
    assert word_labels(app) == ["The", "~cat", "sat", "on", "the", "~mat", "."]
    assert text_of(click_word(app, 1)) == "The cat sat on the [MASK]."
    for bad in ("", "no mask at all", "word " * 500):
        type_text(app, bad).run()
    type_text(app, text)
    assert {key: app.get_by_key(key).value for key in SETTINGS} == SETTINGS


def test_hidden_words_go_into_the_address():
    app = click_word(open_page(), 0)
    assert app.query_params["hidden"] == ["They", ""]
    undo(app)
    assert "hidden" not in app.query_params


@pytest.mark.parametrize("hidden", [["x"], ["[MASK]", "y"], ["a", "b", "c"]])
def test_hidden_words_that_do_not_fit_the_text_are_left_out(hidden):
    app = open_page(text="[MASK] is [MASK].", hidden=hidden)
    assert word_labels(app)[0] == "~?"
    assert not app.error


def test_a_text_too_long_for_the_model_is_refused_or_cut():
    text = "[MASK] " + "cat and dog " * 200 + "[MASK] at the end"
    app = type_text(open_page(), text)
    count = (
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, text, cut=True).num_tokens_uncut
    )
    assert str(count) in app.error[0].value
    assert "512" in app.error[0].value
    assert not figures(app)
    app.toggle(key="masked_cut").set_value(True).run()
    assert not app.error
    assert str(count - 512) in app.warning[0].value
    assert "and dog cat and" in app.warning[0].value
    assert "Masks among them: 1" in app.warning[0].value
    assert "512 of 512 tokens" in said(app)
    assert len(figures(app)) == 1
    assert text_of(app) == text
    # A mask in the part that is cut off is not called missing.
    type_text(app, "cat and dog " * 200 + "[MASK]")
    assert "Masks among them: 1" in said(app)
    assert "No word is hidden" not in said(app)
    assert "nothing to guess" in said(app)
    app.toggle(key="masked_cut").set_value(False).run()
    text = "word " * 10_000 + "[MASK]"
    assert "10,003" in type_text(app, text).error[0].value
    assert text_of(app) == text
    assert "first 200 words" in said(app)
    assert len(figures(type_text(app, DEFAULT))) == 1


def test_a_text_without_anything_to_guess_gets_a_sentence():
    app = open_page()
    for text in ("", "   ", "\n\t"):
        type_text(app, text)
        assert app.info
        assert not (*app.error, *figures(app)), text
    for text in ("\x00\x01\x02", "\u200b\u200d", "\u202e"):
        type_text(app, text)
        assert app.error or app.info
        assert not figures(app)
    type_text(app, "Nothing is hidden here.")
    assert app.info
    assert not figures(app)
    assert len(figures(click_word(app, 0))) == 1
    type_text(app, "[MASK] [MASK] ___")
    assert "masks only" in said(app)
    assert len(figures(app)) == 1


UNUSUAL = [
    "I am so 😀 today, [MASK] 👨‍👩‍👧 🇫🇷!",
    "שלום [MASK] עולם",
    "مرحبا [MASK]",
    "a\x00b [MASK] \x07c\u202e d",
    "e\u0301te\u0301 [MASK] q\u0323\u0307",
    "[CLS] [SEP] [PAD] [UNK] [MASK]",
    "][)(*_`~#+-.!|>$:smile: :material/home: [MASK]",
]


def test_unusual_characters_are_answered_and_every_word_can_be_clicked():
    app = open_page()
    for text in UNUSUAL:
        type_text(app, text)
        assert len(figures(app)) == 1
        assert not app.error
        assert text_of(app) == text
        masked = app.get_by_key("masked_words").value
        other = next(i for i in range(len(word_labels(app))) if i not in masked)
        assert text_of(click_word(app, other)) != text
        assert text_of(click_word(app, other)) == text


def test_chinese_text_for_an_english_model_shows_unknown_words_and_why():
    app = type_text(open_page(), "我喜欢读[MASK]。")
    assert "[UNK]" in said(app)
    # It was not made for this.
    assert DEFAULT_MODEL in app.warning[0].value.replace("\\", "")
    assert "欢" in app.warning[1].value
    badges = next(m.value for m in app.markdown if "gray-badge" in m.value)
    assert ":red-badge[:material/question_mark: " in badges


def test_a_model_without_the_head_is_not_asked(monkeypatch):
    engine, call = client(), client().call
    described = engine.ask(Explorer.info)(DEFAULT_MODEL)
    headless = dataclasses.replace(described, heads=("pooler",))

    def without_head(question):
        return headless if question.name == "Explorer.info" else call(question)

    answers.forget_models()
    monkeypatch.setattr(engine, "call", without_head)
    app = open_page()
    assert any(DEFAULT_MODEL in info.value.replace("\\", "") for info in app.info)
    assert not figures(app)
    assert text_of(app) == DEFAULT
    answers.forget_models()
