"""Texts: sentences, labelled lines, pieces put together, kinds of entries, words."""

import numpy as np
import pytest

from bertviz_core.analysis.attention import group_words
from bertviz_core.analysis.joined_pieces import join_pieces
from bertviz_core.analysis.labelled_lines import (
    LONGEST_LABEL,
    LabelledLines,
    join_lines,
    read_lines,
    split_pair,
    take_lines,
    without_pair,
)
from bertviz_core.analysis.word_scores import word_scores
from bertviz_core.analysis.wordlists import KINDS, entries_of_kind
from bertviz_core.chinese_words import (
    as_one_mask,
    characters_along,
    is_character,
    neighbouring_masks,
    with_words,
)
from bertviz_core.errors import TextError
from bertviz_core.mask_text import split_words
from bertviz_core.sentence_splitting import neighbouring_sentences, split_sentences
from bertviz_core.sentences import LANGUAGES, bundled_sentences, bundled_text
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from tests.core.random_models import VOCABULARY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ("One.", "Two!", "Three?")),
        ("下雨了。你带伞了吗？没有！", ("下雨了。", "你带伞了吗？", "没有！")),
        ("“你来吗？”他问。她点头。", ("“你来吗？”", "他问。", "她点头。")),
        ('He said "go." She went.', ('He said "go."', "She went.")),
        ("It costs 3.50 today. Yes", ("It costs 3.50 today.", "Yes")),
        ("Dr. Miller met J. Smith. They ate.", ("Dr. Miller met J. Smith.",
                                                "They ate.")),
        ("Wait... what? Rain!", ("Wait... what?", "Rain!")),
        ('He left. "Why?" she said.', ("He left.", '"Why?" she said.')),
        ("It cost 3.5 in 1965. 20 came.", ("It cost 3.5 in 1965. 20 came.",)),
        ("他说：“好。”然后走了。真的？！", ("他说：“好。”", "然后走了。", "真的？！")),
        ("No end", ("No end",)),
    ],
)  # fmt: skip
def test_a_line_is_cut_where_its_sentences_end(text, expected):
    assert split_sentences(text) == (expected,)


def test_nothing_of_the_text_is_lost():
    text = "A b. C! d e? 好。是吗？ Dr. E! “F?” G… H"
    joined = "".join(part for line in split_sentences(text) for part in line)
    assert joined.replace(" ", "") == text.replace(" ", "")


def test_sentences_of_two_paragraphs_are_no_neighbours():
    text = "One. Two. Three.\n\nFour. Five.\nSix."
    assert neighbouring_sentences(text) == (
        ("One.", "Two."),
        ("Two.", "Three."),
        ("Four.", "Five."),
    )
    for text in ("", "  \n \n", "Only one sentence"):
        assert neighbouring_sentences(text) == ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bundled_passages_have_pairs_enough(language):
    passages = split_sentences(bundled_text("passages", language))
    assert {len(sentences) for sentences in passages} == {4}
    assert len(neighbouring_sentences(bundled_text("passages", language))) == 18


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_different_sentences_and_pairs_of_all_lengths(language):
    sentences = bundled_sentences(language)
    assert len(sentences) == len(set(sentences)) >= 110
    assert sum(sentence.pair is not None for sentence in sentences) >= 20
    texts = [text for one in sentences for text in (one.text, one.pair) if text]
    assert all(text == text.strip() and text for text in texts)
    lengths = [len(split_words(f"{one.text} {one.pair or ''}")) for one in sentences]
    assert min(lengths) <= 6
    assert 40 <= max(lengths) <= 64
    assert len(set(lengths)) > 20


LABELLED = {
    "weather | It rained.": ("weather", "It rained."),
    "weather\tIt rained.": ("weather", "It rained."),
    "天气 | 下雨了。": ("天气", "下雨了。"),
    "天气｜下雨了。": ("天气", "下雨了。"),
    "  a  |  b  ": ("a", "b"),
    "a |b": ("", "a |b"),
    "a | b | c": ("a", "b | c"),
    "no group": ("", "no group"),
    "|x| is a length": ("", "|x| is a length"),
    "x|y is in a word": ("", "x|y is in a word"),
    "alone |": ("", "alone |"),
    " | nothing before": ("", "| nothing before"),
    "a || b": ("", "a || b"),
    "天｜｜地": ("", "天｜｜地"),
}


@pytest.mark.parametrize("line", [*LABELLED, "w" * LONGEST_LABEL + "w | y"])
def test_what_stands_before_the_stroke_is_the_group(line):
    label, sentence = LABELLED.get(line, ("", line))
    found = read_lines(line)
    assert (found.labels, found.sentences) == ((label,), (sentence,))
    assert found.has_labels == bool(label)


def test_blank_lines_are_passed_over_and_order_is_kept():
    found = read_lines("\n b | one\r\n\n  \ntwo\n")
    assert found.sentences == ("one", "two")
    assert found.labels == ("b", "")
    assert read_lines(" \n\t\n").sentences == ()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["topics", "senses"])
def test_bundled_sets_have_groups_of_several_sentences(name, language):
    found = read_lines(bundled_text(name, language))
    counts = {label: found.labels.count(label) for label in found.labels}
    assert len(counts) > 1
    assert min(counts.values()) > 2
    assert len(set(found.sentences)) == len(found.sentences)
    if name == "senses":
        word = {"en": "bank", "zh": "苹果"}[language]
        assert all(word in sentence.lower() for sentence in found.sentences)


def test_lines_that_are_written_are_read_back():
    sentences = ("one  two\nthree", "a | b", "   ", "last")
    labels = ("x|y", "", "z", "w" * (LONGEST_LABEL + 5))
    found = read_lines(join_lines(sentences, labels))
    assert found.sentences == ("one two three", "a |b", "last")
    assert found.labels == ("x/y", "", "w" * LONGEST_LABEL)


@pytest.mark.parametrize("group", ["", "g"])
def test_any_sentence_of_a_table_is_read_back_as_one_without_a_group_of_its_own(group):
    rng = np.random.default_rng(5)
    signs = ["a", "天", " ", " ", "|", "｜", " | ", " || ", "｜｜", "\t", "\u3000"]
    changed = 0
    for _ in range(1000):
        sentence = "".join(rng.choice(signs, rng.integers(1, 9)))
        written = without_pair(sentence)
        found = read_lines(join_lines([written], [group]))
        if not sentence.strip():
            assert found.sentences == ()
            continue
        (read,) = found.sentences
        assert found.labels == (group,)
        assert split_pair(read) == (read, None)
        # Nothing but white space is lost.
        bare = "".join(sentence.split()).replace("｜", "|")
        assert "".join(read.split()).replace("｜", "|") == bare
        changed += " ".join(sentence.split()) != read
    assert changed


@pytest.mark.parametrize("sentence", ["plain", "|x| is a length", "x|y", "a |b", "| b"])
def test_strokes_that_separate_nothing_stay_as_they_are(sentence):
    assert without_pair(sentence) == sentence
    assert join_lines([sentence], [""]) == sentence
    line = "weather | It rained. || We stayed in."  # a pair that was typed
    found = read_lines(line)
    assert join_lines(found.sentences, found.labels) == line


MANY = LabelledLines(
    tuple(f"line {i}" for i in range(40)), tuple("ab"[i // 20] for i in range(40))
)


def test_a_draw_has_rows_of_all_parts_in_their_order_and_is_the_same_again():
    first = take_lines(MANY, 10, 1000)
    assert read_lines(first.text).sentences == MANY.sentences[:10]
    assert set(read_lines(first.text).labels) == {"a"}
    drawn = take_lines(MANY, 10, 1000, seed=3)
    assert (drawn.num_taken, drawn.num_all, drawn.is_full) == (10, 40, False)
    assert drawn == take_lines(MANY, 10, 1000, seed=3) != take_lines(MANY, 10, 1000, 4)
    found = read_lines(drawn.text)
    assert set(found.labels) == {"a", "b"}
    places = [MANY.sentences.index(sentence) for sentence in found.sentences]
    assert places == sorted(places)
    assert len(set(places)) == 10


def test_only_whole_sentences_that_fit_are_taken():
    long = LabelledLines(("x" * 20, "  ", "y" * 20, "z"), ("", "", "", ""))
    taken = take_lines(long, 9, 41)
    assert taken.text == "x" * 20 + "\n" + "y" * 20
    assert (taken.num_taken, taken.num_all, taken.is_full) == (2, 3, True)
    assert take_lines(long, 9, 40).num_taken == 1
    assert take_lines(long, 9, 43) == take_lines(long, 3, 99)
    assert not take_lines(long, 9, 43).is_full
    assert take_lines(long, 9, 5).text == ""


@pytest.mark.parametrize(
    ("sentence", "pair"),
    [
        ("It rained. || We stayed in.", ("It rained.", "We stayed in.")),
        ("下雨了。｜｜我们没出门。", ("下雨了。", "我们没出门。")),
        ("a || b || c", ("a", "b || c")),
        ("a || ", ("a || ", None)),
        ("if x||y", ("if x||y", None)),
        ("alone", ("alone", None)),
    ],
)
def test_two_strokes_make_a_pair(sentence, pair):
    assert split_pair(sentence) == pair
    typed = read_lines(f"group | {sentence}")
    assert typed.labels == ("group",)
    assert split_pair(typed.sentences[0])[1] == pair[1]


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("the cat ##s sat .", "the cats sat."),
        ("我 爱 北 京 。", "我爱北京。"),
        ("他 用 bert 写 ai ##2 ！", "他用 bert 写 ai2！"),
        ("don ' t ( yes ) !", "don't (yes)!"),
        ("a [MASK] ,", "a [MASK],"),
        ("## b", "## b"),
        ("##s a", "s a"),
        ("", ""),
    ],
)
def test_pieces_are_put_together_as_they_are_written(tokens, text):
    assert join_pieces(tokens.split()) == text


def test_added_tokens_can_be_left_out():
    tokens = ["[CLS]", "红", "[SEP]", "a", "[SEP]"]
    assert join_pieces(tokens, ("[CLS]", "[SEP]")) == "红 a"
    assert join_pieces(tokens) == "[CLS] 红 [SEP] a [SEP]"


def test_pieces_of_a_word_are_added_up_in_both_texts(explorer):
    read = explorer.tokenize("The cats sat", "mats!")
    assert read.tokens == (
        "[CLS]", "the", "cat", "##s", "sat", "[SEP]", "mat", "##s", "!", "[SEP]",
    )  # fmt: skip
    scores = np.array([1, 2, 30, 400, 5, 6, 70, 800, 9, np.nan])
    words, values = word_scores(read, scores)
    assert words == ["[CLS]", "The", "cats", "sat", "[SEP]", "mats", "!", "[SEP]"]
    np.testing.assert_allclose(values, [1, 2, 430, 5, 6, 870, 9, np.nan])


def test_a_word_with_one_known_piece_has_its_score(explorer):
    scores = np.array([np.nan, np.nan, 3, np.nan])
    _, values = word_scores(explorer.tokenize("cats"), scores)
    np.testing.assert_allclose(values, [np.nan, 3, np.nan])


def test_the_last_word_of_one_text_and_the_first_of_the_other_stay_apart(explorer):
    words, values = word_scores(explorer.tokenize("a", "a"), np.arange(5.0))
    assert words == ["[CLS]", "a", "[SEP]", "a", "[SEP]"]
    np.testing.assert_allclose(values, np.arange(5))


KINDS_OF = {
    "cat": set(),
    "##s": {"piece", "single_character"},
    "##ing": {"piece"},
    "##红": {"piece", "single_character", "cjk"},
    "红": {"single_character", "cjk"},
    "𠮷": {"single_character", "cjk"},
    "苹果": {"cjk"},
    "か": {"single_character"},  # kana
    "한": {"single_character"},  # Hangul
    "。": {"single_character"},  # a punctuation mark
    "#": {"single_character"},
    "##": set(),
    "###": {"piece", "single_character"},
    "[unused0]": {"unused"},
    "[unused993]": {"unused"},
    "[unused]": set(),
    "[unusedx]": set(),
    "[MASK]": {"special"},
    "[mask]": set(),
    "[row 57]": {"empty"},
    "[row]": set(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_entries_and_no_other(kind):
    expected = [kind in kinds for kinds in KINDS_OF.values()]
    assert entries_of_kind(list(KINDS_OF), kind).tolist() == expected
    assert any(expected)


def test_the_special_entries_are_those_of_the_tokenizer():
    found = entries_of_kind(VOCABULARY, "special")
    assert {VOCABULARY[i] for i in np.flatnonzero(found)} == set(SPECIAL_TOKENS)


def tokenized(text, pair=None):
    """A token for each character, known or not."""
    return BertTokenizer(VOCABULARY).encode(text, pair)


def test_a_character_is_one_that_the_tokenizer_sets_apart():
    assert all(map(is_character, "红〇"[:1]))
    assert is_character("\U00020001")
    assert not any(map(is_character, ("a", "，", "か", "红色", "", "5")))


@pytest.mark.parametrize(
    ("text", "index", "size", "expected"),
    [
        ("我喜欢吃苹果。", 4, 2, [4, 5]),
        ("我喜欢吃苹果。", 4, 4, [4, 5]),  # a full stop ends the word
        ("我喜欢吃苹果。", 0, 3, [0, 1, 2]),
        ("我喜欢吃苹果。", 6, 2, [6]),  # a full stop is no word
        ("我 喜欢", 0, 2, [0]),  # a space ends the word
        ("I like 苹果", 0, 3, [0]),
        ("吃[MASK][MASK]果", 1, 4, [1, 2]),
        ("吃[MASK] [MASK]果", 1, 4, [1]),
    ],
)
def test_a_word_goes_on_with_neighbours_of_its_kind(text, index, size, expected):
    assert characters_along(split_words(text), index, size) == expected


@pytest.mark.parametrize(
    ("mask_index", "expected", "one"),
    [
        (0, range(1), "[MASK]吃[MASK][MASK] [MASK]!"),
        (1, range(1, 3), "[MASK]吃[MASK] [MASK]!"),
        (2, range(1, 3), "[MASK]吃[MASK] [MASK]!"),
        (3, range(3, 4), "[MASK]吃[MASK][MASK] [MASK]!"),
    ],
)
def test_masks_side_by_side_stand_for_one_word(mask_index, expected, one):
    text = tokenized("[MASK]吃[MASK][MASK] [MASK]!")
    group = neighbouring_masks(text, mask_index)
    assert group == expected
    assert as_one_mask(text, group, text.num_tokens) == one


def test_the_end_of_a_text_makes_room_for_the_pieces_of_one_mask():
    text = tokenized("我[MASK][MASK]吃果。")
    for most, kept in ((8, "吃果。"), (7, "吃果。"), (6, "吃果"), (5, "吃"), (4, "")):
        assert as_one_mask(text, range(2), most) == f"我[MASK]{kept}"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("我喜欢吃苹果", "我 喜欢 吃 苹果", [-1, 0, 1, 1, 2, 3, 3, -1]),
        ("我 喜欢", " 我喜  欢 ", [-1, 0, 0, 1, -1]),
        ("北[MASK]好", "北[MASK] 好", [-1, 0, 0, 1, -1]),
        ("北京", "  ", [-1, 0, 1, -1]),
    ],
)
def test_the_reader_says_where_words_end(text, words, expected):
    before = tokenized(text)
    found = with_words(before, words)
    assert found.word_ids.tolist() == expected
    assert found.tokens == before.tokens


def test_a_typed_separator_is_never_part_of_a_word():
    before = tokenized("北[SEP]好")
    word_ids = with_words(before, "北[SEP]好").word_ids
    types = before.token_type_ids
    assert group_words(word_ids, types).tolist() == [0, 1, 2, 3, 4]
    assert (word_ids < 0).tolist() == [True, False, False, False, True]


def test_each_text_of_a_pair_has_its_own_words():
    both = tokenized("北京", "很好")
    words = with_words(both, "", "很好").word_ids
    assert words.tolist() == [-1, 0, 1, -1, 0, 0, -1]
    words = with_words(both, "北京", "很 好").word_ids
    assert words.tolist() == [-1, 0, 0, -1, 0, 1, -1]


@pytest.mark.parametrize(
    ("words", "received", "expected"),
    [("北 东", "“东”", "“京”"), ("北", "“”", "“京”"), ("北 京 市", "“市”", "“”")],
)
def test_words_that_are_not_the_text_are_refused(words, received, expected):
    with pytest.raises(TextError) as error:
        with_words(tokenized("北京"), words)
    assert f"Received: {received}, where the text has {expected}" in str(error.value)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda _: bundled_text("passages", "fr"), "fr"),
        (lambda _: bundled_sentences("fr"), "language"),
        (lambda _: bundled_text("nothing", "en"), "topics"),
        (lambda _: entries_of_kind(["a"], "verb"), "verb"),
        (lambda one: word_scores(one.tokenize("a"), np.zeros(4)), "scores"),
    ],
)
def test_what_there_is_not_is_a_mistake(explorer, ask, said):
    with pytest.raises(ValueError, match=said):
        ask(explorer)
