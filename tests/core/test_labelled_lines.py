import numpy as np
import pytest

from bertviz_core.analysis.labelled_lines import (
    LANGUAGES,
    LONGEST_LABEL,
    SETS,
    LabelledLines,
    bundled_lines,
    join_lines,
    read_lines,
    split_pair,
    take_lines,
    without_pair,
)

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
@pytest.mark.parametrize("name", SETS)
def test_bundled_sets_have_groups_of_several_sentences(name, language):
    found = read_lines(bundled_lines(name, language))
    counts = {label: found.labels.count(label) for label in found.labels}
    assert len(counts) > 1
    assert min(counts.values()) > 2
    assert len(set(found.sentences)) == len(found.sentences)
    if name == "senses":
        word = {"en": "bank", "zh": "苹果"}[language]
        assert all(word in sentence.lower() for sentence in found.sentences)
    with pytest.raises(ValueError, match="topics"):
        bundled_lines("nothing", language)


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
