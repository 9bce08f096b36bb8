"""A line is a sentence, with the name of its group before it if it has one."""

import pytest

from bertviz_core.analysis.labelled_lines import (
    LANGUAGES,
    LONGEST_LABEL,
    SETS,
    bundled_lines,
    join_lines,
    read_lines,
)


@pytest.mark.parametrize(
    ("line", "label", "sentence"),
    [
        ("weather | It rained.", "weather", "It rained."),
        ("weather\tIt rained.", "weather", "It rained."),
        ("天气 | 下雨了。", "天气", "下雨了。"),
        ("天气｜下雨了。", "天气", "下雨了。"),
        ("  a  |  b  ", "a", "b"),
        ("a |b", "", "a |b"),
        ("a | b | c", "a", "b | c"),
        ("no group", "", "no group"),
        ("|x| is a length", "", "|x| is a length"),
        ("x|y is in a word", "", "x|y is in a word"),
        ("alone |", "", "alone |"),
        (" | nothing before", "", "| nothing before"),
        ("w" * LONGEST_LABEL + "w | y", "", "w" * LONGEST_LABEL + "w | y"),
    ],
)
def test_what_stands_before_the_stroke_is_the_group(line, label, sentence):
    found = read_lines(line)
    assert (found.labels, found.sentences) == ((label,), (sentence,))
    assert found.has_labels == bool(label)


def test_blank_lines_are_passed_over_and_order_is_kept():
    found = read_lines("\n b | one\r\n\n  \ntwo\n")
    assert found.sentences == ("one", "two")
    assert found.labels == ("b", "")


def test_nothing_is_no_sentence():
    assert read_lines(" \n\t\n").sentences == ()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SETS)
def test_bundled_sets_have_groups_of_several_sentences(name, language):
    found = read_lines(bundled_lines(name, language))
    counts = {label: found.labels.count(label) for label in found.labels}
    assert len(counts) > 1
    assert min(counts.values()) > 2
    assert len(set(found.sentences)) == len(found.sentences)


@pytest.mark.parametrize(("language", "word"), [("en", "bank"), ("zh", "苹果")])
def test_every_sentence_of_the_senses_has_the_word(language, word):
    found = read_lines(bundled_lines("senses", language))
    assert all(word in sentence.lower() for sentence in found.sentences)


def test_lines_that_are_written_are_read_back():
    sentences = ("one  two\nthree", "a | b", "   ", "last")
    labels = ("x|y", "", "z", "w" * (LONGEST_LABEL + 5))
    found = read_lines(join_lines(sentences, labels))
    assert found.sentences == ("one two three", "b", "last")
    assert found.labels == ("x/y", "a", "w" * LONGEST_LABEL)


def test_another_set_is_a_mistake():
    with pytest.raises(ValueError, match="topics"):
        bundled_lines("nothing", "en")
