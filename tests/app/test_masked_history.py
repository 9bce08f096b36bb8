"""Undo and earlier texts of the masked-word page lose nothing."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.mask_text import MaskedText, write_sentence
from pages.shared.own_text import EXAMPLES
from tests.app.real_pages import checked, said
from tests.app.test_masked_panels import open_page
from tests.app.test_masked_word import click_word, text_of, type_text, word_labels


def typing(app: AppTest, text: str) -> AppTest:
    """A text that the next click takes along."""
    app.text_area(key="text").set_value(text)
    return app


def test_undo_takes_back_what_was_typed_in_the_same_moment():
    app = type_text(open_page(), "One [MASK].")
    typing(app, "Two [MASK].").button(key="masked_undo").click().run()
    assert text_of(checked(app)) == "One [MASK]."
    app.button(key="masked_undo").click().run()
    assert text_of(app) == EXAMPLES["en"][0][0]


@pytest.mark.parametrize(
    ("key", "expected"),
    [("text_example", EXAMPLES["en"][1][0]), ("masked_earlier", EXAMPLES["en"][0][0])],
)
def test_a_choice_keeps_what_was_typed_in_the_same_moment_for_undo(key, expected):
    app = type_text(open_page(), "One [MASK].")
    choice = 1 if key == "text_example" else 0
    typing(app, "Two [MASK].").selectbox(key=key).set_value(choice).run()
    assert text_of(checked(app)) == expected
    app.button(key="masked_undo").click().run()
    assert text_of(app) == "Two [MASK]."


def test_the_example_of_two_masks_keeps_what_was_typed_in_the_same_moment():
    app = open_page(masked_panel="fill")
    assert "only one step" in said(app)
    typing(app, "Two [MASK].").button(key="masked_two_masks").click().run()
    assert text_of(checked(app)).count("[MASK]") == 2
    assert "only one step" not in said(app)
    app.button(key="masked_undo").click().run()
    assert text_of(app) == "Two [MASK]."


def test_undo_brings_the_second_text_back():
    app = open_page(pair="It was old.")
    pairs = next(i for i, (_, pair) in enumerate(EXAMPLES["en"]) if pair)
    app.selectbox(key="text_example").set_value(pairs).run()
    assert app.session_state["pair"] == EXAMPLES["en"][pairs][1]
    app.button(key="masked_undo").click().run()
    assert app.session_state["pair"] == "It was old."
    assert text_of(checked(app)) == EXAMPLES["en"][0][0]
    assert app.button(key="masked_undo").disabled


def test_earlier_texts_that_read_alike_tell_what_they_hide():
    app = open_page()
    for town in ("Paris", "Rome"):
        type_text(app, f"{town} is big.")
        click_word(app, 0)
    type_text(app, "Other [MASK].")
    earlier = app.selectbox(key="masked_earlier")
    place = earlier.options.index("[MASK] is big. (Paris)")
    assert "[MASK] is big. (Rome)" in earlier.options
    assert "Rome is big." in earlier.options
    earlier.set_value(place).run()
    assert word_labels(checked(app))[0] == "~Paris"


def test_a_saved_text_opens_with_its_hidden_words_and_second_text():
    app = open_page(state={"sentence_file": True})
    data = write_sentence(MaskedText("[MASK] is big.", ("Paris",)), "It is old.")
    app.file_uploader[0].set_value(("bad.json", data[:-1], "application/json")).run()
    assert ["not a text saved" in error.value for error in app.error] == [True]
    app.file_uploader[0].set_value(("good.json", data, "application/json")).run()
    checked(app)
    assert text_of(app) == "[MASK] is big."
    assert word_labels(app)[0] == "~Paris"
    assert app.session_state["pair"] == "It is old."
    app.button(key="masked_undo").click().run()
    assert text_of(app) == EXAMPLES["en"][0][0]
