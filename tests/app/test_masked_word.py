"""The masked-word page in both languages, on the bundled model."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import rank_order, sampling_distribution, softmax
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from pages.masked_word.state import EXAMPLES
from pages.shared import answers
from pages.shared.choices import LONGEST_IN_ADDRESS
from pages.shared.engine import client

ROOT = Path(__file__).parents[2]
PAGE = "pages/masked_word/masked_word.py"
DEFAULT = EXAMPLES["en"][0]
CHARTS = "plotly_chart"

TITLES = {"en": "Masked words", "zh": "猜被遮住的词"}
CHINESE = re.compile("[\u4e00-\u9fff]")


def open_page(language: str = "en", **params: str | list[str]) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = {"en": "English", "zh": "中文"}[language]
    for name, value in params.items():
        app.query_params[name] = value
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def type_text(app: AppTest, text: str) -> AppTest:
    app.text_area(key="masked_text").set_value(text).run()
    assert not app.exception
    return app


def text_of(app: AppTest) -> str:
    return app.text_area(key="masked_text").value


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


def figures(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get(CHARTS)]


def values(trace: dict, axis: str = "x") -> np.ndarray:
    """Plotly sends arrays as base64 with a type."""
    array = trace[axis]
    if isinstance(array, dict):
        import base64

        return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"])
    return np.array(array)


def said(app: AppTest) -> str:
    elements = [*app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    return "\n".join(element.value for element in elements).replace("\\", "")


def expected_logits(text: str, mask_index: int = 0) -> np.ndarray:
    return client().ask(Explorer.predict_masks)(DEFAULT_MODEL, text).logits[mask_index]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_default_example_answers_without_any_input(language):
    app = open_page(language, model=DEFAULT_MODEL)
    assert app.title[0].value == TITLES[language]
    assert text_of(app) == DEFAULT
    probs = softmax(expected_logits(DEFAULT))
    bars = figures(app)[0]["data"][0]
    np.testing.assert_allclose(values(bars)[:-1], np.sort(probs)[::-1][:10], rtol=1e-6)
    assert len(figures(app)) == 1
    assert not app.error


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_three_sentences_and_explains_its_words(language):
    app = open_page(language)
    assert len([c for c in app.caption if c.value.startswith("**")]) == 3
    terms = said(app)
    for term in ("logit", "top-k", "top-p"):
        assert term in terms.lower()
    for key in ("masked_temperature", "masked_top_p"):
        assert len(app.slider(key=key).help) > 40
    assert len(app.number_input(key="masked_top_k").help) > 30


def test_every_sentence_of_the_chinese_page_is_chinese():
    app = open_page("zh")
    widgets = [*app.slider, *app.number_input, *app.button, *app.text_area]
    labels = [widget.label for widget in widgets] + [m.label for m in app.metric]
    labels += [heading.value for heading in app.header]
    assert len(labels) > 12
    assert all(CHINESE.search(label) for label in labels if not label.isascii())
    assert {label for label in labels if label.isascii()} <= {""}
    for figure in figures(app):
        assert CHINESE.search(figure["layout"]["xaxis"]["title"]["text"])


def test_a_clicked_word_is_hidden_and_a_second_click_puts_it_back():
    app = click_word(open_page(), 3)
    assert text_of(app) == "They were married [MASK] had three [MASK]."
    labels = ["They", "were", "married", "~and", "had", "three", "~?", "."]
    assert word_labels(app) == labels
    assert app.get_by_key("masked_words").value == [3, 6]
    click_word(app, 3)
    assert text_of(app) == DEFAULT
    assert app.get_by_key("masked_words").value == [6]


def test_only_the_clicked_one_of_equal_words_is_hidden():
    app = type_text(open_page(), "the cat and the dog and the bird")
    click_word(click_word(app, 3), 5)
    assert text_of(app) == "the cat and [MASK] dog [MASK] the bird"
    click_word(app, 3)
    assert text_of(app) == "the cat and the dog [MASK] the bird"


def test_typed_text_moves_the_words_along():
    app = type_text(open_page(), "Snow is ___ and cold")
    assert word_labels(app) == ["Snow", "is", "~?", "and", "cold"]
    click_word(app, 0)
    assert text_of(app) == "[MASK] is [MASK] and cold"
    type_text(app, "[MASK] is [MASK] and very cold")
    assert word_labels(app) == ["~Snow", "is", "~?", "and", "very", "cold"]


def test_a_typed_mask_has_no_word_to_put_back_and_the_page_says_so():
    app = click_word(open_page(), 6)
    assert text_of(app) == DEFAULT
    assert "no word behind it" in said(app)
    app.run()
    assert "no word behind it" not in said(app)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_other_spellings_are_understood_and_named(language):
    app = type_text(
        open_page(language, model=DEFAULT_MODEL),
        "Paris is the ___ of <mask>, [ mask ].",
    )
    assert "___" in said(app)
    assert "<mask>" in said(app)
    assert len(app.get_by_key("masked_mask").options) == 3
    expected = expected_logits("Paris is the [MASK] of [MASK], [MASK].", 0)
    bars = values(figures(app)[0]["data"][0])
    np.testing.assert_allclose(bars[0], softmax(expected).max(), rtol=1e-6)


def test_each_mask_has_its_own_candidates():
    app = type_text(open_page(), EXAMPLES["en"][2])
    first = values(figures(app)[0]["data"][0])
    app.get_by_key("masked_mask").set_value("2").run()
    second = values(figures(app)[0]["data"][0])
    for mask_index, bars in enumerate((first, second)):
        probs = softmax(expected_logits(EXAMPLES["en"][2], mask_index))
        np.testing.assert_allclose(bars[:-1], np.sort(probs)[::-1][:10], rtol=1e-6)
    assert "Mask 2 of 2" in said(app)


def test_a_mask_that_is_gone_is_not_asked_for():
    app = type_text(open_page(), "[MASK] and [MASK] and [MASK]")
    app.get_by_key("masked_mask").set_value("3").run()
    type_text(app, "[MASK] and [MASK]")
    assert app.get_by_key("masked_mask").value == "1"


def test_many_masks_are_all_offered():
    app = type_text(open_page(), "[MASK] and " * 20)
    app.selectbox(key="masked_mask").set_value("20").run()
    assert "Mask 20 of 20" in said(app)
    assert not app.error


def test_a_candidate_is_inserted_and_undone():
    app = open_page()
    best = client().ask(vocabulary)(DEFAULT_MODEL)[
        int(np.argmax(expected_logits(DEFAULT)))
    ]
    insert(app, 0)
    assert text_of(app) == f"They were married and had three {best}."
    assert "No word is hidden" in said(app)
    app.button(key="masked_undo").click().run()
    assert text_of(app) == DEFAULT
    assert app.button(key="masked_undo").disabled


def test_a_candidate_goes_to_the_chosen_mask():
    app = type_text(open_page(), EXAMPLES["en"][2])
    app.get_by_key("masked_mask").set_value("2").run()
    insert(app, 0)
    assert text_of(app) == "He was born in [MASK] 1950 in New york, United States."


def test_undo_goes_back_step_by_step_through_clicks_edits_and_examples():
    app = click_word(open_page(), 0)
    type_text(app, "[MASK] is a town.")
    app.selectbox(key="masked_example").set_value(1).run()
    assert text_of(app) == EXAMPLES["en"][1]
    seen = []
    while not app.button(key="masked_undo").disabled:
        app.button(key="masked_undo").click().run()
        seen.append(text_of(app))
    assert seen == [
        "[MASK] is a town.",
        "[MASK] were married and had three [MASK].",
        DEFAULT,
    ]
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


def test_a_hidden_word_of_several_pieces_is_said_to_be_out_of_reach():
    app = type_text(open_page(), "Paris is unbelievableness.")
    click_word(app, 2)
    assert "only in pieces" in said(app)
    assert "##" in said(app)


def test_settings_never_run_the_network_again():
    # A model that was chosen, and not the one that goes with the language, stays.
    app = open_page(model="bert-mini-zh")
    type_text(app, "柏林是[MASK]国的首[MASK]，不是罗马。")
    before = client().ask(forward_count)()
    app.slider(key="masked_temperature").set_value(0.4).run()
    app.number_input(key="masked_top_k").set_value(7).run()
    app.slider(key="masked_top_p").set_value(0.8).run()
    app.number_input(key="masked_seed").set_value(5).run()
    app.number_input(key="masked_draws").set_value(333).run()
    app.slider(key="masked_shown").set_value(37).run()
    app.get_by_key("masked_mask").set_value("2").run()
    app.get_by_key("lang").set_value("中文").run()
    assert app.title[0].value == TITLES["zh"]
    assert not app.exception
    assert client().ask(forward_count)() == before


def test_a_new_text_runs_the_network_once():
    app = open_page()
    before = client().ask(forward_count)()
    type_text(app, "Nobody has asked about [MASK] with [MASK] before.")
    assert client().ask(forward_count)() == before + 1


def test_before_and_after_stand_on_one_axis_with_the_numbers_of_the_core():
    app = open_page()
    app.slider(key="masked_temperature").set_value(1.7).run()
    app.number_input(key="masked_top_k").set_value(6).run()
    app.slider(key="masked_top_p").set_value(0.9).run()
    logits = expected_logits(DEFAULT)
    order = rank_order(logits)[:10]
    after = sampling_distribution(logits, 1.7, 6, 0.9)
    before_bars, after_bars = figures(app)[0]["data"]
    np.testing.assert_allclose(
        values(before_bars)[:10], softmax(logits)[order], rtol=1e-6
    )
    np.testing.assert_allclose(values(after_bars)[:10], after[order], rtol=1e-6)
    for bars in (before_bars, after_bars):  # with all other words it is all
        assert values(bars).sum() == pytest.approx(1)
    assert app.metric[2].value == f"{(after > 0).sum()}"
    bits = -sum(p * math.log2(p) for p in after if p > 0)
    assert app.metric[0].value == f"{bits:.2f} bits"
    assert app.metric[1].value == f"{2**bits:,.1f} words"


def test_temperature_zero_leaves_one_word_and_says_it_without_nan():
    app = open_page(masked_draws="9")
    app.slider(key="masked_temperature").set_value(0.0).run()
    assert app.metric[0].value == "0.00 bits"
    assert app.metric[2].value == "1"
    assert "nan" not in said(app).lower()
    after = values(figures(app)[0]["data"][1])
    assert after.tolist() == [1.0] + [0.0] * 10
    app.button(key="masked_reset").click().run()
    assert app.slider(key="masked_temperature").value == 1.0
    assert app.metric[2].value == "16,384"


def test_words_that_are_left_are_not_called_left_out():
    app = open_page(masked_temperature="0.05")
    left = int(app.metric[2].value.replace(",", ""))
    text = figures(app)[0]["data"][1]["text"]
    assert left > len(text)
    assert "left out" not in text
    app.number_input(key="masked_top_k").set_value(3).run()
    assert figures(app)[0]["data"][1]["text"].count("left out") == 11 - 3


def drawn(app: AppTest) -> np.ndarray:
    return values(figures(app)[0]["data"][-1])


def test_nothing_is_drawn_until_it_is_asked_for_and_the_same_seed_draws_the_same():
    app = open_page(masked_temperature="2.0")
    assert len(figures(app)[0]["data"]) == 2
    app.number_input(key="masked_draws").set_value(100).run()
    first = drawn(app)
    assert first.sum() == pytest.approx(1)
    app.number_input(key="masked_seed").set_value(2).run()
    assert (drawn(app) != first).any()
    app.number_input(key="masked_seed").set_value(1).run()
    np.testing.assert_array_equal(drawn(app), first)


def test_the_table_holds_the_way_of_a_hundred_words_from_logit_to_draw():
    app = open_page(masked_temperature="2.0", masked_draws="50")
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


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_address_brings_the_whole_state_back(language):
    app = open_page(
        language,
        masked_text="The [MASK] sat on the [MASK].",
        masked_hidden=["cat", "mat"],
        masked_mask="2",
        masked_shown="23",
        masked_temperature="0.0",
        masked_top_k="9",
        masked_top_p="0.55",
        masked_draws="77",
        masked_seed="0",
    )
    assert text_of(app) == "The [MASK] sat on the [MASK]."
    assert word_labels(app) == ["The", "~cat", "sat", "on", "the", "~mat", "."]
    assert app.get_by_key("masked_mask").value == "2"
    assert app.slider(key="masked_shown").value == 23
    assert app.slider(key="masked_temperature").value == 0.0
    assert app.number_input(key="masked_top_k").value == 9
    assert app.slider(key="masked_top_p").value == 0.55
    assert app.number_input(key="masked_draws").value == 77
    assert app.number_input(key="masked_seed").value == 0
    click_word(app, 1)
    assert text_of(app) == "The cat sat on the [MASK]."


def test_hidden_words_go_into_the_address():
    app = click_word(open_page(), 0)
    assert app.query_params["masked_hidden"] == ["They", ""]
    app.button(key="masked_undo").click().run()
    assert "masked_hidden" not in app.query_params


@pytest.mark.parametrize("hidden", [["x"], ["[MASK]", "y"], ["a", "b", "c"]])
def test_hidden_words_that_do_not_fit_the_text_are_left_out(hidden):
    app = open_page(masked_text="[MASK] is [MASK].", masked_hidden=hidden)
    assert word_labels(app)[0] == "~?"
    assert not app.error


def test_a_text_too_long_for_a_link_is_kept_and_said():
    text = "A very long story about [MASK]. " * (LONGEST_IN_ADDRESS // 30 + 1)
    app = type_text(open_page(), text)
    assert text_of(app) == text
    assert "too long for a link" in said(app)
    assert "masked_text" not in app.query_params
    type_text(app, "A short one about [MASK].")
    assert "too long for a link" not in said(app)
    assert app.query_params["masked_text"] == "A short one about [MASK]."


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_text_too_long_for_the_model_is_refused_with_both_numbers(language):
    text = "[MASK] " + "cat and dog " * 200 + "[MASK] at the end"
    app = type_text(open_page(language, model=DEFAULT_MODEL), text)
    count = (
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, text, cut=True).num_tokens_uncut
    )
    assert str(count) in app.error[0].value
    assert "512" in app.error[0].value
    assert not figures(app)
    app.toggle(key="masked_cut").set_value(True).run()
    assert not app.error
    assert str(count - 512) in app.warning[0].value
    assert len(figures(app)) == 1
    assert text_of(app) == text


def test_what_was_cut_is_quoted_with_its_masks():
    app = type_text(open_page(), "[MASK] " + "cat and dog " * 200 + "[MASK] end")
    app.toggle(key="masked_cut").set_value(True).run()
    assert "and dog cat and" in app.warning[0].value
    assert "Masks among them: 1" in app.warning[0].value
    assert "512 of 512 tokens" in said(app)


def test_a_mask_in_the_part_that_is_cut_off_is_not_called_missing():
    app = type_text(open_page(), "cat and dog " * 200 + "[MASK]")
    app.toggle(key="masked_cut").set_value(True).run()
    assert "Masks among them: 1" in said(app)
    assert "No word is hidden" not in said(app)
    assert "nothing to guess" in said(app)


def test_what_was_hidden_goes_with_its_text():
    app = click_word(type_text(open_page(), "The cat sat on the mat."), 1)
    assert "You hid **cat**" in said(app)
    type_text(app, "Berlin is the capital of [MASK].")
    assert "You hid" not in said(app)
    assert word_labels(app)[5] == "~?"


def test_ten_thousand_words_get_a_sentence_and_lose_nothing():
    text = "word " * 10_000 + "[MASK]"
    app = type_text(open_page(), text)
    assert "10,003" in app.error[0].value
    assert "512" in app.error[0].value
    assert text_of(app) == text
    assert "first 200 words" in said(app)
    type_text(app, DEFAULT)
    assert len(figures(app)) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_text_gets_a_sentence(language, text):
    app = type_text(open_page(language), text)
    assert app.info
    assert not app.error
    assert not figures(app)


@pytest.mark.parametrize("text", ["\x00\x01\x02", "\u200b\u200d", "\u202e"])
def test_a_text_of_invisible_characters_gets_a_sentence(text):
    app = type_text(open_page(), text)
    assert app.error or app.info
    assert not figures(app)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_text_without_a_mask_offers_the_click(language):
    app = type_text(open_page(language), "Nothing is hidden here.")
    assert app.info
    assert not figures(app)
    click_word(app, 0)
    assert len(figures(app)) == 1


def test_only_masks_are_predicted_with_a_warning():
    app = type_text(open_page(), "[MASK] [MASK] ___")
    assert "masks only" in said(app)
    assert len(figures(app)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "I am so 😀 today, [MASK] 👨‍👩‍👧 🇫🇷!",
        "שלום [MASK] עולם",
        "مرحبا [MASK]",
        "a\x00b [MASK] \x07c\u202e d",
        "e\u0301te\u0301 [MASK] q\u0323\u0307",
        "[CLS] [SEP] [PAD] [UNK] [MASK]",
        "][)(*_`~#+-.!|>$:smile: :material/home: [MASK]",
    ],
)
def test_unusual_characters_are_answered_and_every_word_can_be_clicked(text):
    app = type_text(open_page(), text)
    assert len(figures(app)) == 1
    assert not app.error
    assert text_of(app) == text
    masked = app.get_by_key("masked_words").value
    other = next(i for i in range(len(word_labels(app))) if i not in masked)
    click_word(app, other)
    assert text_of(app) != text
    click_word(app, other)
    assert text_of(app) == text


def test_html_and_markdown_are_shown_as_text():
    text = "<script> **b** [l](http://x.y) :red[r] [MASK]"
    app = type_text(open_page(), text)
    assert all(not element.allow_html for element in app.markdown)
    type_text(app, f"{text} [MASK]")
    place = next(m.value for m in app.markdown if m.value.startswith("Mask 1"))
    assert "\\<script\\> \\*\\*b\\*\\* \\[l\\]\\(http" in place
    assert "\\:red\\[r\\]" in place


@pytest.mark.parametrize("language", ["en", "zh"])
def test_chinese_text_for_an_english_model_shows_unknown_words_and_why(language):
    app = type_text(open_page(language, model=DEFAULT_MODEL), "我喜欢读[MASK]。")
    assert "[UNK]" in said(app)
    # It was not made for this.
    assert DEFAULT_MODEL in app.warning[0].value.replace("\\", "")
    assert "欢" in app.warning[1].value
    badges = next(m.value for m in app.markdown if "gray-badge" in m.value)
    assert ":red-badge[:material/question_mark: " in badges


def test_known_words_are_not_called_unknown():
    app = open_page()
    assert not app.warning
    assert not app.info


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_without_the_head_is_not_asked(language, monkeypatch):
    engine, call = client(), client().call
    described = engine.ask(Explorer.info)(DEFAULT_MODEL)
    headless = dataclasses.replace(described, heads=("pooler",))

    def without_head(question):
        return headless if question.name == "Explorer.info" else call(question)

    answers.forget_models()
    monkeypatch.setattr(engine, "call", without_head)
    app = open_page(language, model=DEFAULT_MODEL)
    assert any(DEFAULT_MODEL in info.value.replace("\\", "") for info in app.info)
    assert not figures(app)
    assert text_of(app) == DEFAULT
    answers.forget_models()


def test_an_untouched_example_follows_the_language_of_the_model(monkeypatch):
    from pages.masked_word import editor

    app = open_page()
    monkeypatch.setattr(editor, "language_of", lambda model: "zh")
    app.run()
    assert text_of(app) == EXAMPLES["zh"][0]
    type_text(app, "my own [MASK]")
    monkeypatch.setattr(editor, "language_of", lambda model: "en")
    app.run()
    assert text_of(app) == "my own [MASK]"


def test_a_click_on_words_of_an_older_text_changes_nothing():
    app = open_page()
    app.text_area(key="masked_text").set_value("Quite another text with [MASK].")
    words = app.get_by_key("masked_words")
    words.select(2).run()
    assert not app.exception
    assert text_of(app) == "Quite another text with [MASK]."


def test_two_words_clicked_at_once_are_both_hidden():
    app = open_page()
    app.get_by_key("masked_words").set_value([0, 3, 6]).run()
    assert text_of(app) == "[MASK] were married [MASK] had three [MASK]."


def test_a_bad_text_in_between_loses_no_setting():
    app = type_text(open_page(), EXAMPLES["en"][2])
    app.get_by_key("masked_mask").set_value("2").run()
    app.slider(key="masked_temperature").set_value(0.5).run()
    app.number_input(key="masked_top_k").set_value(17).run()
    app.number_input(key="masked_seed").set_value(0).run()
    app.slider(key="masked_shown").set_value(4).run()
    for bad in ("", "no mask at all", "word " * 500):
        type_text(app, bad)
        app.run()
    type_text(app, EXAMPLES["en"][2])
    assert app.get_by_key("masked_mask").value == "2"
    assert app.slider(key="masked_temperature").value == 0.5
    assert app.number_input(key="masked_top_k").value == 17
    assert app.number_input(key="masked_seed").value == 0
    assert app.slider(key="masked_shown").value == 4
