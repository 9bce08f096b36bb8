"""An address holds what there is room for, and the page names what stays out."""

from __future__ import annotations

import random
import string
from urllib.parse import urlencode

from pages.shared.choices import LONGEST_IN_ADDRESS
from tests.app import real_pages
from tests.app.real_pages import checked, dense_word, finished, link_of, said
from tests.app.test_masked_panels import open_page
from tests.app.test_masked_word import click_word, text_of, type_text

LONG_WORD = "a" * 1400  # one unknown token
MOST_BYTES = 8192  # of an address, for nginx


def test_texts_that_a_link_has_no_room_for_are_named():
    app = open_page(masked_panel="compare")
    app.text_input(key="masked_other").set_value(f"{LONG_WORD} [MASK]").run()
    assert "no room for" not in said(checked(app))
    app.text_input(key="masked_other").set_value(f"{dense_word(2900)} [MASK]").run()
    assert "no room for “The other sentence (B)”" in said(app)
    assert "masked_other" not in app.query_params
    app.text_input(key="masked_other").set_value(f"{LONG_WORD} [MASK]").run()
    app.get_by_key("masked_panel").set_value("score").run()
    app.get_by_key("masked_score_kind").set_value("pair").run()
    app.text_input(key="masked_score_first").set_value(LONG_WORD).run()
    assert "no room for" not in said(finished(app))
    app.text_input(key="masked_score_second").set_value(dense_word(600)).run()
    assert "no room for “Second sentence”" in said(finished(app))
    assert "masked_score_second" not in app.query_params
    assert len(urlencode(app.query_params, doseq=True)) < MOST_BYTES
    app.text_input(key="masked_score_second").set_value("Short.").run()
    assert "no room for" not in said(finished(app))


def test_hidden_words_without_room_beside_the_text_are_said_to_stay_out():
    # A few bytes are left, too few for "Paris" with its name, and nothing to compress.
    letters = string.ascii_letters + string.digits + "-~."
    rest = random.Random(0).choices(letters, k=LONGEST_IN_ADDRESS - 18)
    text = "Paris " + "".join(rest)
    app = type_text(open_page(), text)
    assert "do not fit into a link" not in said(app)
    click_word(app, 0)
    assert "do not fit into a link" in said(app)
    assert "hidden" not in app.query_params
    assert len(urlencode(app.query_params, doseq=True)) < MOST_BYTES
    click_word(type_text(app, "Paris is big."), 0)
    assert "do not fit into a link" not in said(app)
    assert app.query_params["hidden"] in ("Paris", ["Paris"])


def test_a_link_brings_a_long_text_back():
    text = "The story of [MASK] is a long one. " * 190
    app = type_text(open_page(), text)
    assert "too long for a link" not in said(app)
    written = link_of(app, "text")
    assert len(written) < len(text) / 10
    opened = real_pages.open_page("masked_word", may_fail=True, text=written)
    assert text_of(opened) == text
