"""The masked-word page above its questions: text, words, candidates, language."""

from __future__ import annotations

import math
import random
import re
import string
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import (
    draw_tokens,
    rank_order,
    sampling_distribution,
    softmax,
)
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import MaskedText, write_sentence
from pages.masked_word import two_sentences
from pages.shared import models
from pages.shared.choices import LONGEST_IN_ADDRESS
from pages.shared.engine import client
from pages.shared.language import current_language
from pages.shared.language import text as said_in
from pages.shared.own_text import EXAMPLES
from tests.app import real_pages
from tests.app.chinese_model import write_mixed_model
from tests.app.real_pages import (
    LANGUAGES,
    checked,
    choose,
    click,
    dense_word,
    finished,
    link_of,
    said,
)
from tests.app.real_pages import specs as figures
from tests.core.checkpoint_copies import HF, spare_rows_copy
from tests.core.sent_figures import numbers

DEFAULT = EXAMPLES["en"][0][0]
TWO_MASKS = EXAMPLES["en"][4][0]


def open_page(language: str = "en", **params: str | list[str]) -> AppTest:
    return real_pages.open_page("masked_word", language, may_fail=True, **params)


def type_text(app: AppTest, text: str) -> AppTest:
    return choose(app, text=text)


def text_of(app: AppTest) -> str:
    return app.text_area(key="text").value


def click_word(app: AppTest, index: int) -> AppTest:
    words = {*app.get_by_key("masked_words").value} ^ {index}
    return choose(app, masked_words=sorted(words))


def word_labels(app: AppTest) -> list[str]:
    """The words as buttons; "~" stands for the crossed-out eye of a hidden one."""
    options = app.get_by_key("masked_words").proto.options
    return [
        "~" * bool(option.content_icon)
        + option.content.replace("\u2060", "").replace("\\", "")
        for option in options
    ]


def insert(app: AppTest, candidate_index: int) -> AppTest:
    return choose(app, masked_insert=candidate_index)


def undo(app: AppTest) -> str:
    return text_of(checked(click(app, "masked_undo")))


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
    assert app.query_params["hidden"] == ["and", ""]
    click_word(app, 3)
    assert text_of(app) == DEFAULT
    assert app.get_by_key("masked_words").value == [6]
    assert "hidden" not in app.query_params
    # A typed mask has no word to put back, and the page says so.
    assert text_of(click_word(app, 6)) == DEFAULT
    assert "no word behind it" in said(app)
    assert "no word behind it" not in said(app.run())
    # Two at once.
    choose(app, masked_words=[0, 3, 6])
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
        choose(app, masked_mask=str(index + 1))
        probs = softmax(expected_logits(TWO_MASKS, index))
        np.testing.assert_allclose(bars(app)[:-1], np.sort(probs)[::-1][:10], rtol=1e-6)
    assert "Mask 2 of 2" in said(app)
    # A candidate goes to the chosen one.
    insert(app, 0)
    assert text_of(app) == "He was born in [MASK] 1950 in New york, United States."
    # All of many are offered; one that is gone is not asked for.
    type_text(app, "[MASK] and " * 20)
    assert "Mask 20 of 20" in said(choose(app, masked_mask="20"))
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
    assert text_of(choose(app, text_example=1)) == EXAMPLES["en"][1][0]
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
    assert "only as several tokens" in said(app)
    assert "##" in said(app)


def test_a_new_text_runs_the_network_once_and_settings_never():
    # A model that was chosen, and not the one that goes with the language, stays.
    app = open_page(model="bert-mini-zh")
    before = client().ask(forward_count)()
    type_text(app, "柏林是[MASK]国的首[MASK]，不是罗马。")
    assert client().ask(forward_count)() == before + 1
    assert app.get_by_key("masked_panel").value is None, "no question is asked yet"
    choose(app, masked_temperature=0.4, masked_top_k=7, masked_top_p=0.8)
    choose(app, masked_draws=333, masked_words_alone=True, masked_shown=37)
    choose(app, masked_seed=5, masked_candidates_tools="code", masked_mask="2")
    assert len(app.code) == 1
    choose(app, lang="中文")
    assert app.title[0].value == "猜被遮住的词"
    assert client().ask(forward_count)() == before + 1


def uncertainty(app: AppTest) -> list[str]:
    """Entropy, effective choices and words left."""
    (line,) = [one.value for one in app.markdown if one.value.startswith("Entropy")]
    return [part.split("**", 1)[1].replace("**", "") for part in line.split(" · ")]


def test_before_and_after_stand_on_one_axis_with_the_numbers_of_the_core():
    settings = {"masked_top_k": "6", "masked_top_p": "0.9"}
    app = open_page(masked_temperature="1.5", **settings)
    logits = expected_logits(DEFAULT)
    order = rank_order(logits)[:10]
    after = sampling_distribution(logits, 1.5, 6, 0.9)
    np.testing.assert_allclose(bars(app)[:10], softmax(logits)[order], rtol=1e-6)
    np.testing.assert_allclose(bars(app, 1)[:10], after[order], rtol=1e-6)
    for index in (0, 1):  # with all other words it is all
        assert bars(app, index).sum() == pytest.approx(1)
    bits = -sum(p * math.log2(p) for p in after if p > 0)
    own = softmax(logits)
    before = -sum(p * math.log2(p) for p in own)
    assert uncertainty(app) == [
        f"{bits:.2f} bits (before: {before:.2f} bits)",
        f"{2**bits:,.1f} words (before: {2**before:,.1f} words)",
        f"{(after > 0).sum()} (before: 16,384)",
    ]
    click(app, "masked_reset")
    assert app.slider(key="masked_temperature").value == 1.0
    assert uncertainty(app) == [
        f"{before:.2f} bits", f"{2**before:,.1f} words", "16,384",
    ]  # fmt: skip
    # Temperature 0 leaves one word, and says it without nan.
    choose(app, masked_draws=9, masked_temperature=0.0)
    bits, _, left = uncertainty(app)
    assert bits.startswith("0.00 bits")
    assert left.startswith("1 (")
    assert "nan" not in said(app).lower()
    assert bars(app, 1).tolist() == [1.0] + [0.0] * 10
    # Words that are left are not called left out.
    choose(app, masked_temperature=0.05)
    left = int(uncertainty(app)[2].split()[0].replace(",", ""))
    text = figures(app)[0]["data"][1]["text"]
    assert left > len(text)
    assert "left out" not in text
    choose(app, masked_top_k=3)
    assert figures(app)[0]["data"][1]["text"].count("left out") == 11 - 3


def test_words_are_drawn_by_a_seed_and_listed_from_logit_to_draw():
    app = open_page(masked_temperature="2.0")
    assert len(figures(app)[0]["data"]) == 2, "nothing until it is asked for"
    choose(app, masked_draws=50)
    first = bars(app, -1)
    assert first.sum() == pytest.approx(1)
    choose(app, masked_seed=2)
    assert (bars(app, -1) != first).any()
    choose(app, masked_seed=1)
    np.testing.assert_array_equal(bars(app, -1), first)
    assert not app.dataframe
    choose(app, masked_candidates_tools="table", masked_shown=100)
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


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("[MASK] is [MASK].", ["[MASK]", "y"]),
        ("[MASK] is [MASK].", [*"abc"]),
        ("[MASK] is Paris.", " "),
    ],
)
def test_hidden_words_that_do_not_fit_the_text_are_left_out(text, hidden):
    app = open_page(text=text, hidden=hidden)
    assert word_labels(app)[0] == "~?"
    assert not app.error


@pytest.mark.parametrize("hidden", ["\ufffd", "\u0301"])
def test_a_hidden_sign_that_the_model_cannot_read_leaves_the_candidates(hidden):
    app = open_page(text="Paris is [MASK].", hidden=hidden)
    assert "does not read it" in said(app)
    assert len(figures(app)) == 1


def test_of_a_text_too_long_for_the_model_its_beginning_is_read():
    text = "[MASK] " + "cat and dog " * 200 + "[MASK] at the end"
    app = type_text(open_page(), text)
    count = (
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, text, cut=True).num_tokens_uncut
    )
    assert not app.error
    assert "limit of 512" in app.warning[0].value
    assert str(count - 512) in app.warning[0].value
    assert "and dog cat and" in app.warning[0].value
    assert "Masks among them: 1" in app.warning[0].value
    assert "512 of 512 tokens" in said(app)
    assert len(figures(app)) == 1
    assert text_of(app) == text
    # A mask in the part that is cut off is not called missing.
    type_text(app, "word " * 10_000 + "[MASK]")
    assert "Masks among them: 1" in said(app)
    assert "No word is hidden" not in said(app)
    assert "nothing to guess" in said(app)
    assert "first 200 words" in said(app)
    assert len(figures(type_text(app, DEFAULT))) == 1


@pytest.mark.parametrize(("count", "height"), [(40, 0), (41, 200)])
def test_of_many_words_some_rows_show_and_no_line_runs_out_of_sight(count, height):
    app = open_page(text="word " * (count - 1) + "[MASK]")
    words = app.get_by_key("masked_words")
    (box,) = (one for one in app.main if words in getattr(one, "children", {}).values())
    assert box.proto.height_config.pixel_height == height
    assert not words.proto.HasField("wrap")  # the browser breaks the line
    assert not app.get_by_key("masked_insert").proto.HasField("wrap")


def test_a_text_without_anything_to_guess_gets_a_sentence():
    app = open_page()
    for text in ("", "   ", "Nothing is hidden here."):
        type_text(app, text)
        assert app.info
        assert not (*app.error, *figures(app)), text
    assert len(figures(click_word(app, 0))) == 1
    for text in ("\x00\x01\x02", "\u200b\u200d", "\u202e"):
        type_text(app, text)
        assert len(app.error) + len(app.info) == 1
        assert not figures(app)
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
    assert "not trained on" in app.warning[0].value
    assert "欢" in app.warning[1].value
    badges = next(m.value for m in app.markdown if "gray-badge" in m.value)
    assert ":red-badge[:material/question_mark: " in badges


# Undo and earlier texts.


def typing(app: AppTest, text: str) -> AppTest:
    """A text that the next click takes along."""
    app.text_area(key="text").set_value(text)
    return app


def test_undo_takes_back_what_was_typed_in_the_same_moment():
    app, (first, second) = open_page(), (EXAMPLES["en"][i][0] for i in (0, 1))
    type_text(app, "One [MASK].")
    assert undo(typing(app, "Two [MASK].")) == "One [MASK]."
    # A choice keeps it for the way back.
    for key, choice, expected in (
        ("text_example", 1, second), ("masked_earlier", 0, first)
    ):  # fmt: skip
        typing(app, "Two [MASK].").selectbox(key=key).set_value(choice).run()
        assert text_of(checked(app)) == expected
        assert undo(app) == "Two [MASK]."
        assert undo(app) == "One [MASK]."
    assert undo(app) == first


def test_the_example_of_two_masks_keeps_what_was_typed_in_the_same_moment():
    app = open_page(masked_panel="fill")
    assert "only one step" in said(app)
    typing(app, "Two [MASK].").button(key="masked_two_masks").click().run()
    assert text_of(checked(app)).count("[MASK]") == 2
    assert "only one step" not in said(app)
    assert text_of(click(app, "masked_undo")) == "Two [MASK]."


def test_undo_brings_the_second_text_back():
    app = open_page(pair="It was old.")
    pairs = next(i for i, (_, pair) in enumerate(EXAMPLES["en"]) if pair)
    choose(app, text_example=pairs)
    assert app.session_state["pair"] == EXAMPLES["en"][pairs][1]
    click(app, "masked_undo")
    assert app.session_state["pair"] == "It was old."
    assert text_of(checked(app)) == EXAMPLES["en"][0][0]
    assert app.button(key="masked_undo").disabled


def test_earlier_texts_that_read_alike_tell_what_they_hide():
    app = open_page()
    for town in ("Paris", "Rome"):
        type_text(app, f"{town} is big.")
        click_word(app, 0)
    type_text(app, " ")
    type_text(app, "Other [MASK].")
    earlier = app.selectbox(key="masked_earlier")
    assert all(map(str.strip, earlier.options))
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
    assert text_of(click(app, "masked_undo")) == EXAMPLES["en"][0][0]


# What an address has room for.

LONG_WORD = "a" * 1400  # one unknown token
MOST_BYTES = 8192  # of an address, for nginx


def test_texts_that_a_link_has_no_room_for_are_named():
    pair = {"masked_panel": "score", "masked_score_kind": "pair"}
    other = {"masked_other": f"{LONG_WORD} [MASK]", "masked_score_first": LONG_WORD}
    app = finished(open_page(**pair, **other))
    assert "no room for" not in said(app)
    choose(app, masked_score_second=dense_word(2000))
    assert "no room for “Second sentence”" in said(finished(app))
    assert "masked_score_second" not in app.query_params
    assert len(urlencode(app.query_params, doseq=True)) < MOST_BYTES
    choose(app, masked_score_second="Short.")
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
    assert text_of(open_page(text=written)) == text


# What is offered follows the model and the text.


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return str(write_mixed_model(tmp_path_factory.mktemp("model")))


def switch_to(app: AppTest, language: str) -> AppTest:
    return choose(app, lang=LANGUAGES[language])


def intro_of(kind: str) -> str:
    return said_in(f"masked.whole_{kind}_intro", "en")


def test_an_own_model_gets_examples_and_words_of_its_language(chinese):
    app = open_page(model=chinese, masked_panel="whole")
    assert text_of(app) == EXAMPLES["zh"][0][0]
    assert app.get_by_key("masked_click_size").value == "1"
    assert intro_of("characters") in [element.value for element in app.markdown]
    # Characters are hidden together, whatever the interface.
    type_text(app, "我喜欢吃苹果")
    choose(app, masked_click_size="2")
    assert text_of(click_word(app, 4)) == "我喜欢吃[MASK][MASK]"
    app = open_page("zh", model=str(HF))
    assert text_of(app) == EXAMPLES["en"][0][0]
    # The language leaves a text that the model alone can read.
    assert text_of(switch_to(app, "en")) == EXAMPLES["en"][0][0]


OWN = "my ab [MASK] e"


def model_of(app: AppTest) -> str:
    return app.get_by_key("model").value


@pytest.fixture
def defaults(monkeypatch, chinese):
    """The default of each language: small models, of which one reads Chinese."""
    found = {"en": str(HF), "zh": chinese}
    monkeypatch.setattr(models, "default_model", lambda: found[current_language()])
    return found


@pytest.mark.parametrize(
    ("page", "box", "texts", "follows"),
    [
        ("masked_word", "text", [], True),
        ("masked_word", "text", [OWN], False),
        ("masked_word", "text", ["我喜欢吃苹[MASK]"], True),
        ("attention", "pair", ["ab e"], False),
        ("attention", "pair", ["ab e", ""], True),
    ],
)
def test_the_default_follows_the_language_unless_it_reads_no_text_of_ones_own(
    defaults, page, box, texts, follows
):
    app = real_pages.open_page(page, may_fail=True)
    for text in texts:
        app.text_area(key=box).set_value(text).run()
    assert model_of(app) == defaults["en"]
    assert model_of(switch_to(app, "zh")) == defaults["zh" if follows else "en"]


def test_the_default_stays_while_a_text_of_ones_own_stands_in_the_box(defaults):
    app = open_page()
    app.text_area(key="text").set_value(OWN)  # text and language in one go
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    app.switch_page("pages/home/home.py").run()
    assert model_of(switch_to(app, "en")) == defaults["en"]
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    app.switch_page("pages/masked_word/masked_word.py").run()
    assert (model_of(app), text_of(app)) == (defaults["en"], OWN)
    type_text(app, "")  # to type another one
    assert model_of(app) == defaults["en"]
    type_text(app, EXAMPLES["en"][0][0])
    assert model_of(app) == defaults["zh"]
    assert text_of(app) == EXAMPLES["zh"][0][0]


def test_an_untouched_text_follows_the_language_where_the_model_reads_both(mixed):
    app = open_page(model=mixed)
    assert text_of(app) == EXAMPLES["en"][0][0]
    assert text_of(switch_to(app, "zh")) == EXAMPLES["zh"][0][0]
    # That of a link stays, though it is the example of another language.
    app = open_page("zh", model=mixed, text=EXAMPLES["en"][0][0])
    assert text_of(app.run()) == EXAMPLES["en"][0][0]


def test_a_model_of_both_languages_follows_the_text_or_the_interface(mixed):
    app = open_page(model=mixed, masked_panel="whole")
    kinds = {"我[MASK]": "characters", "ab [MASK]": "pieces", "[MASK]": "pieces"}
    for text, kind in kinds.items():
        type_text(app, text)
        assert intro_of(kind) in [element.value for element in app.markdown]
    intro = said_in("masked.whole_characters_intro", "zh")
    assert intro in [element.value for element in switch_to(app, "zh").markdown]


# A model that has more word embeddings than words.

SPARE = [f"[row {index}]" for index in range(41, 61)]


@pytest.fixture(scope="module")
def spare_model(tmp_path_factory):
    return str(spare_rows_copy(tmp_path_factory.mktemp("model"), len(SPARE)))


def open_spare(spare_model: str, **params: str) -> AppTest:
    link = {"model": spare_model, "text": "ab [MASK]", **params}
    state = {"masked_compare_all": True}
    return real_pages.open_page("masked_word", state=state, **link)


def unescaped(shown: str) -> str:
    return shown.replace("\\", "").replace("\u2060", "")


def test_every_row_is_shown_and_drawn_and_only_words_can_be_inserted(spare_model):
    names = client().ask(vocabulary)(spare_model)
    assert len(names) == 61
    assert list(names[41:]) == SPARE
    chosen = {"masked_temperature": "2", "masked_seed": "3", "masked_draws": "100"}
    app = open_spare(spare_model, masked_shown="100", **chosen)
    bars = figures(app)[0]["data"][0]
    shown = {word for word, *_ in bars["customdata"]}
    assert all(any(name in word for word in shown) for name in SPARE)
    options = app.get_by_key("masked_insert").proto.options
    offered = [unescaped(option.content) for option in options]
    assert "a" in offered
    assert not [word for word in offered if word.startswith("[")]
    logits = client().ask(Explorer.predict_masks)(spare_model, "ab [MASK]").logits[0]
    draws = draw_tokens(sampling_distribution(logits, 2.0, None, 1.0), 100, 3)[:10]
    drawn = [names[index] for index in draws]
    assert set(drawn) & set(SPARE)
    assert ", ".join(drawn) in unescaped(said(app))


def test_two_sentences_are_compared_over_every_row(spare_model, monkeypatch):
    files = {}
    monkeypatch.setattr(
        two_sentences, "download_csv", lambda table, name: files.update({name: table})
    )
    app = open_spare(
        spare_model,
        masked_panel="compare",
        masked_other="ba [MASK] ab",
        masked_compare_search="row 4",
    )
    assert set(app.dataframe[-1].value["Word"]) == {
        name for name in SPARE if name.startswith("[row 4")
    }
    everything = files["masked_all_words"]
    assert {*everything["masked.word"]} == {*client().ask(vocabulary)(spare_model)}
    for side in ("in_a", "in_b"):
        assert sum(everything[f"masked.{side}"]) == pytest.approx(1, abs=1e-5)
