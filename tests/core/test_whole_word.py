"""Whole words equal an enumeration of all words of the vocabulary's pieces."""

import dataclasses
import itertools

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.scoring import score_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.tokenizer import BertTokenizer
from tests.core.cause_models import explorer_named
from tests.core.random_models import VOCABULARY

TEXT = "the [MASK] sat [MASK]"
CHINESE = (*"红绿蓝，a。", "##红", "ab", "1")
BEGIN = ("x", "the", "cat", "sat", "on", "a", "mat", "e", "y", "z")
FOLLOW = ("##s", "##e", "##y")


def with_words(explorer, *words):
    """The same network under other names of its words."""
    rest = [token for token in VOCABULARY if token.startswith("[")]
    tokenizer = BertTokenizer([*rest, *words])
    loaded = dataclasses.replace(explorer.loaded, tokenizer=tokenizer)
    return type(explorer)(loaded)


def enumerated(explorer, pieces, join, mask_index=0):
    """(score, pieces) of every word, likeliest first, by scoring each."""
    words = list(itertools.product(*pieces))
    scores = score_words(explorer, TEXT, [join(word) for word in words], mask_index)
    found = [(score.log_prob, word) for score, word in zip(scores, words, strict=True)]
    return sorted(found, key=lambda pair: -pair[0])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chinese_words_equal_enumeration(explorer, size):
    chinese, seen = with_words(explorer, *CHINESE), []
    found = find_whole_words(
        chinese, TEXT, size, beam=99, progress=lambda done, _: seen.append(done)
    )
    assert seen == pytest.approx([(index + 1) / size for index in range(size)])
    expected = enumerated(chinese, ["红绿蓝"] * size, "".join)
    assert found.words == tuple("".join(word) for _, word in expected)
    np.testing.assert_allclose(found.log_prob, [e[0] for e in expected], atol=1e-5)
    assert found.log_probs.shape == found.ids.shape == (3**size, size)
    assert found.bound == -np.inf


@pytest.mark.parametrize(("size", "mask_index"), [(1, 0), (2, 1), (3, 0)])
def test_words_of_several_pieces_equal_enumeration(explorer, size, mask_index):
    found = find_whole_words(explorer, TEXT, size, "pieces", mask_index, beam=999)

    def join(word):
        return "".join(piece.removeprefix("##") for piece in word)

    pieces = [BEGIN, *[FOLLOW] * (size - 1)]
    expected = enumerated(explorer, pieces, join, mask_index)
    assert found.position == (4 if mask_index else 2)
    assert len(found.words) == len(BEGIN) * len(FOLLOW) ** (size - 1)
    np.testing.assert_allclose(found.log_prob, [e[0] for e in expected], atol=1e-5)
    np.testing.assert_allclose(found.log_probs.sum(axis=1), found.log_prob)
    assert found.tokens[0] == expected[0][1]
    assert found.words[0] == join(expected[0][1])


@pytest.mark.parametrize(("size", "beam"), [(1, 6), (2, 2), (3, 9)])
def test_nothing_above_the_bound_is_missing(explorer, size, beam):
    everything = find_whole_words(explorer, TEXT, size, "pieces", beam=999)
    narrow = find_whole_words(explorer, TEXT, size, "pieces", beam=beam)
    assert len(narrow.words) == beam
    assert (np.diff(narrow.log_prob) <= 0).all()
    scores = dict(zip(everything.words, everything.log_prob, strict=True))
    best_missing = max(scores[word] for word in scores.keys() - set(narrow.words))
    assert best_missing <= narrow.bound + 1e-5
    assert everything.bound == -np.inf
    if size == 1:
        assert narrow.bound == pytest.approx(everything.log_prob[beam], abs=1e-5)


def test_the_best_words_alone_know_that_the_others_are_missing(explorer):
    found = find_whole_words(explorer, TEXT, 2, "pieces", beam=999)
    few = found.best(4)
    assert few.words == found.words[:4]
    assert few.log_probs.shape == few.ids.shape == (4, 2)
    assert few.bound == found.log_prob[4]
    assert found.best(999).bound == -np.inf
    narrow = find_whole_words(explorer, TEXT, 2, "pieces", beam=6)
    assert narrow.best(6).bound == narrow.bound


def test_a_word_that_the_tokenizer_writes_otherwise_is_left_out(explorer):
    merged = with_words(explorer, "a", "b", "##b", "ab", "the", "sat")
    found = find_whole_words(merged, TEXT, 2, "pieces", beam=99)
    assert sorted(found.words) == ["abb", "bb", "satb", "theb"]


def test_what_the_tokenizer_writes_otherwise_takes_no_words_place(explorer):
    capitals = [chr(ord("A") + index) for index in range(12)]
    folding = with_words(explorer, *capitals, *"defg", "##s")
    assert folding.tokenizer.lower_case
    everything = find_whole_words(folding, TEXT, 1, "pieces", beam=99)
    assert sorted(everything.words) == ["d", "e", "f", "g"]
    assert everything.bound == -np.inf
    few = find_whole_words(folding, TEXT, 1, "pieces", beam=3)
    assert few.words == everything.words[:3]
    assert few.bound == pytest.approx(everything.log_prob[3])


def test_what_cannot_be_found_is_refused(explorer):
    for words, kind in ((("a", "##b"), "characters"), (("红",), "pieces")):
        with pytest.raises(TextError, match="no word pieces to build"):
            find_whole_words(with_words(explorer, *words), TEXT, 2, kind)
    for wrong in ({"num_pieces": 0}, {"num_pieces": 9}, {"kind": "x"}, {"beam": 0}):
        with pytest.raises(ValueError, match="Received"):
            find_whole_words(explorer, TEXT, **({"num_pieces": 1} | wrong))
    with pytest.raises(TextError, match="13 tokens"):
        find_whole_words(explorer, TEXT, 8, "pieces")
    with pytest.raises(CheckpointError, match="MLM"):
        find_whole_words(explorer_named("headless"), TEXT, 2)
