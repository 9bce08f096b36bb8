import json
import random

import pytest

from bertviz_core.errors import MAX_CHARACTERS, TextError
from bertviz_core.mask_text import (
    MASK,
    MOST_WORDS_COMPARED,
    MaskedText,
    carry_originals,
    fill_mask,
    normalise_masks,
    read_sentence,
    remember_masks,
    split_words,
    toggle_mask,
    write_sentence,
)
from tests.core.nasty_texts import NASTY_TEXTS


@pytest.mark.parametrize(
    "spelling",
    [
        *("__", "_________", "＿＿", "<mask>", "<MASK>", "< mask >", "<|mask|>"),
        *("＜mask＞", "[mask]", "[ MASK ]", "［MASK］", "【ＭＡＳＫ】", "〈mask〉"),
    ],
)
def test_spelling_is_understood_and_named(spelling):
    text, understood = normalise_masks(f"Paris is {spelling}, yes.")
    assert text == "Paris is [MASK], yes."
    assert understood == (spelling,)


@pytest.mark.parametrize("text", ["a_b", "mask", "(mask)", "[masks]", "MASK]", "", "_"])
def test_what_is_no_mask_stays(text):
    assert normalise_masks(text) == (text, ())


def test_spellings_are_named_once_in_their_order():
    text, understood = normalise_masks("___ <mask> [MASK] ___ [mask] _____")
    assert text == "[MASK] [MASK] [MASK] [MASK] [MASK] [MASK]"
    assert understood == ("___", "<mask>", "[mask]", "_____")
    assert normalise_masks(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't panic!", ["Don't", "panic", "!"]),
        ("the dogs' 'n' roll", ["the", "dogs", "'", "'", "n", "'", "roll"]),
        ("我在Paris住3年。", ["我", "在", "Paris", "住", "3", "年", "。"]),
        ("a well-known x", ["a", "well", "-", "known", "x"]),
        ("👍🏽🇫🇷🇩🇪👨‍👩‍👧!", ["👍🏽", "🇫🇷", "🇩🇪", "👨‍👩‍👧", "!"]),
        ("e\u0301te\u0301 b", ["e\u0301te\u0301", "b"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("a\x00b \u202ec", ["a", "b", "c"]),
        ("is___, ok", ["is", "___", ",", "ok"]),
        ("snake_case", ["snake", "_", "case"]),
        ("<b>x", ["<", "b", ">", "x"]),
        ("", []),
    ],
)
def test_words_are_what_a_reader_would_click(text, words):
    assert [word.text for word in split_words(text)] == words


@pytest.mark.parametrize("text", NASTY_TEXTS)
def test_spans_cover_all_that_can_be_seen_without_overlap(text):
    words = split_words(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    ends = [0, *(word.end for word in words)]
    starts = [*(word.start for word in words), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    assert all(
        not character.isprintable() or character == " " for character in "".join(gaps)
    )


def test_limit_stops_early():
    assert [word.text for word in split_words("a b c d", limit=3)] == ["a", "b", "c"]


@pytest.mark.parametrize("text", NASTY_TEXTS)
def test_all_words_hidden_in_any_order_come_back_in_any_order(text):
    start = remember_masks(text)
    clicks = [i for i, word in enumerate(split_words(start.text)) if not word.is_mask]
    rng = random.Random(5)
    masked = start
    for _ in range(2):
        rng.shuffle(clicks)
        for index in clicks:
            was_mask = split_words(masked.text)[index].is_mask
            masked = toggle_mask(masked, index)
            assert split_words(masked.text)[index].is_mask != was_mask
    assert masked == start


def test_only_the_clicked_one_of_equal_words_is_hidden():
    masked = toggle_mask(remember_masks("the cat and the dog"), 3)
    assert masked == MaskedText("the cat and [MASK] dog", ("the",))
    masked = toggle_mask(masked, 0)
    assert masked == MaskedText("[MASK] cat and [MASK] dog", ("the", "the"))


def test_a_typed_mask_has_nothing_to_put_back():
    masked = remember_masks("Paris is ___.")
    assert masked == MaskedText("Paris is [MASK].", ("",))
    assert toggle_mask(masked, 2) == masked


def test_a_word_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"word_index.*: 7"):
        toggle_mask(remember_masks("two words"), 7)
    with pytest.raises(ValueError, match=r"word_index.*: -1"):
        toggle_mask(remember_masks("two words"), -1)


def test_filling_takes_the_asked_mask_only():
    masked = MaskedText("[MASK] is [MASK].", ("Paris", "big"))
    assert fill_mask(masked, 1, "lovely") == MaskedText("[MASK] is lovely.", ("Paris",))
    assert fill_mask(masked, 0, "Rome") == MaskedText("Rome is [MASK].", ("big",))
    with pytest.raises(ValueError, match=r"mask_index.*: 2"):
        fill_mask(masked, 2, "x")


def test_a_continuing_piece_is_joined_to_the_word_before():
    assert fill_mask(remember_masks("I was walk [MASK] home"), 0, "##ing").text == (
        "I was walking home"
    )
    assert fill_mask(remember_masks("a [MASK] b"), 0, "##").text == "a ## b"
    assert fill_mask(remember_masks("首都是[MASK]黎"), 0, "巴").text == "首都是巴黎"


@pytest.mark.parametrize(
    ("text", "token"), [("a [MASK] b", MASK), ("[[MASK]]", "mask"), ("a [MASK]", "__")]
)
def test_a_token_that_makes_a_mask_keeps_text_and_memory_in_step(text, token):
    masked = fill_mask(MaskedText(text, ("word",)), 0, token)
    assert masked.originals == ("",)
    assert masked.text.count(MASK) == 1


THE_CAT = MaskedText("The [MASK] sat on the [MASK].", ("cat", "mat"))


def test_an_edit_elsewhere_keeps_what_masks_hide():
    after = carry_originals(THE_CAT, "Yesterday the [MASK] sat down on a ___.")
    assert after.text == "Yesterday the [MASK] sat down on a [MASK]."
    assert after.originals[0] == "cat"
    kept = carry_originals(THE_CAT, "Well: The [MASK] sat on the [MASK].")
    assert kept.originals == ("cat", "mat")


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (THE_CAT, "He sat on the [MASK].", ("mat",)),
        (remember_masks("The cat sat."), "The ___ sat.", ("cat",)),
        (remember_masks("Snow is very white"), "Who ate my ___", ("",)),
        (THE_CAT, "Berlin is the capital of [MASK].", ("",)),
        (MaskedText("I eat [MASK].", ("x",)), "Paris is the [MASK] of France.", ("",)),
        (MaskedText("我在学校看[MASK]。", ("书",)), "他是一名[MASK]。", ("",)),
    ],
)
def test_what_a_mask_hides_goes_with_its_text(before, after, kept):
    assert carry_originals(before, after).originals == kept


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The [MASK] sat.", "The [MASK] sat on a very soft red sofa by the window."),
        ("On a very soft red sofa the [MASK] sat.", "The [MASK] sat."),
        ("我在学校看[MASK]。", "我昨天在学校看[MASK]。"),
    ],
)
def test_a_text_that_grows_or_shrinks_keeps_what_its_mask_hides(before, after):
    assert carry_originals(MaskedText(before, ("x",)), after).originals == ("x",)


def test_an_unchanged_text_is_returned_as_it_is():
    before = MaskedText("a [MASK]", ("b",))
    assert carry_originals(before, "a [MASK]") is before
    assert carry_originals(before, "a ___") is before


def test_a_very_long_text_keeps_its_masks_but_not_their_memory():
    before = MaskedText("[MASK] " + "the of " * MOST_WORDS_COMPARED, ("x",))
    after = carry_originals(before, before.text + "[MASK]")
    assert after.originals == ("", "")


@pytest.mark.parametrize("text", NASTY_TEXTS)
def test_a_saved_sentence_comes_back_whole(text):
    masked = toggle_mask(remember_masks(f"One {text}"), 0)
    assert masked.originals[0] == "One"
    assert read_sentence(write_sentence(masked, text), "x") == (masked, text)


def saved(text="a [MASK]", pair="", hidden=("b",)):
    return json.dumps({"text": text, "second_text": pair, "hidden": hidden}).encode()


@pytest.mark.parametrize("hidden", [("b", "c"), ("<mask>",), (" ",), ()])
def test_a_mask_of_a_file_hides_nothing_that_could_not_be_put_back(hidden):
    assert read_sentence(saved(hidden=hidden), "x")[0] == remember_masks("a [MASK]")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\xff\xfe{", b"{}", b"[]", b"3", b"[" * 200_000, b"1" * 5000),
        *(saved(text=5), saved(pair=None), saved(hidden=3), saved(hidden=[3])),
        *(saved(text="\ud800"), saved(hidden=["\udfff"]), saved()[:-1]),
    ],
)
def test_a_file_that_is_no_saved_sentence_is_refused(data):
    with pytest.raises(TextError, match="not a text saved") as found:
        read_sentence(data, "name" * 100)
    assert len(str(found.value)) < 250


def test_a_saved_text_may_be_as_long_as_a_typed_one():
    half = "字" * (MAX_CHARACTERS // 2)
    assert read_sentence(saved(half, half), "x")[1] == half
    with pytest.raises(TextError, match="200001 characters"):
        read_sentence(saved(half, half + "x"), "x")
