"""Whole words equal an enumeration of all words of the vocabulary's pieces."""

import dataclasses
import itertools

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.joint_filling import best_pairs
from bertviz_core.experiments.scoring import score_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.tokenizer import BertTokenizer
from tests.core.brute_force import OracleWords, written
from tests.core.random_models import VOCABULARY, explorer_of, random_model

TEXT = "the [MASK] sat [MASK]"
CHINESE = (*"红绿蓝，a。", "##红", "ab", "1")
BEGIN = ("x", "the", "cat", "sat", "on", "a", "mat", "e", "y", "z")
FOLLOW = ("##s", "##e", "##y")


@pytest.fixture(scope="module")
def explorer(any_norm_explorer):
    return any_norm_explorer


def with_words(explorer, *words):
    """The same network under other names of its words."""
    rest = [token for token in VOCABULARY if token.startswith("[")]
    tokenizer = BertTokenizer([*rest, *words])
    loaded = dataclasses.replace(explorer.loaded, tokenizer=tokenizer)
    return type(explorer)(loaded)


def enumerated(explorer, pieces, join):
    """(score, pieces) of every word, likeliest first, by scoring each."""
    words = list(itertools.product(*pieces))
    scores = score_words(explorer, TEXT, [join(word) for word in words])
    found = [(score.log_prob, word) for score, word in zip(scores, words, strict=True)]
    return sorted(found, key=lambda pair: -pair[0])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chinese_words_equal_enumeration(explorer, size):
    chinese = with_words(explorer, *CHINESE)
    found = find_whole_words(chinese, TEXT, size, beam=99)
    expected = enumerated(chinese, ["红绿蓝"] * size, "".join)
    assert found.words == tuple("".join(word) for _, word in expected)
    np.testing.assert_allclose(found.log_prob, [e[0] for e in expected], atol=1e-5)
    assert found.log_probs.shape == found.ids.shape == (3**size, size)
    assert found.bound == -np.inf


@pytest.mark.parametrize("size", [1, 2, 3])
def test_words_of_several_pieces_equal_enumeration(explorer, size):
    found = find_whole_words(explorer, TEXT, size, "pieces", beam=999)

    def join(word):
        return "".join(piece.removeprefix("##") for piece in word)

    expected = enumerated(explorer, [BEGIN, *[FOLLOW] * (size - 1)], join)
    assert len(found.words) == len(BEGIN) * len(FOLLOW) ** (size - 1)
    np.testing.assert_allclose(found.log_prob, [e[0] for e in expected], atol=1e-5)
    assert found.tokens[0] == expected[0][1]
    assert found.words[0] == join(expected[0][1])


def test_pieces_add_up_to_the_score_of_the_word(explorer):
    found = find_whole_words(explorer, TEXT, 3, "pieces", mask_index=1, beam=4)
    assert found.position == 4
    for row, word in enumerate(found.words):
        (score,) = score_words(explorer, TEXT, [word], mask_index=1)
        np.testing.assert_allclose(found.log_probs[row], score.log_probs, atol=1e-5)


@pytest.mark.parametrize("beam", [2, 6, 9])
@pytest.mark.parametrize("size", [1, 2, 3])
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


def test_words_of_two_characters_are_pairs_of_masks_filled_in_both_orders(
    explorer, any_norm_model
):
    """All words of a small vocabulary, by the oracle, one text at a time."""
    chinese, words = with_words(explorer, *CHINESE), OracleWords(any_norm_model)
    two = chinese.tokenize("a[MASK][MASK]。")
    places = two.mask_positions.tolist()
    ids = [chinese.tokenizer.vocabulary.index(sign) for sign in "红绿蓝"]

    def log_probs(filled, place):
        return words.log_probs(filled, two.token_type_ids, place)

    def both(first, then):
        alone = log_probs(two.input_ids, first)
        given = {
            a: log_probs(written(two.input_ids, **{f"p{first}": a}), then) for a in ids
        }
        return {(a, b): alone[a] + given[a][b] for a in ids for b in ids}

    forward = both(*places)
    backward = {(a, b): value for (b, a), value in both(*places[::-1]).items()}
    found = find_whole_words(chinese, "a[MASK]。", 2, beam=99)
    assert found.position == places[0]
    expected = sorted(forward, key=forward.__getitem__, reverse=True)
    assert list(map(tuple, found.ids.tolist())) == expected
    np.testing.assert_allclose(
        found.log_prob, [forward[pair] for pair in expected], atol=1e-5
    )
    pairs = best_pairs(chinese, "a[MASK][MASK]。", top_k=99, num_pairs=999)
    shown = pairs.ids.tolist()
    for pair in expected:
        row = shown.index(list(pair))
        assert pairs.log_prob_forward[row] == pytest.approx(forward[pair], abs=1e-5)
        assert pairs.log_prob_backward[row] == pytest.approx(backward[pair], abs=1e-5)
    assert max(abs(forward[pair] - backward[pair]) for pair in expected) > 1e-3


def test_a_vocabulary_without_such_pieces_is_refused(explorer):
    with pytest.raises(TextError, match="no pieces to build"):
        find_whole_words(with_words(explorer, "a", "##b"), TEXT, 2)
    with pytest.raises(TextError, match="no pieces to build"):
        find_whole_words(with_words(explorer, "红"), TEXT, 2, "pieces")


@pytest.mark.parametrize(
    "wrong", [{"num_pieces": 0}, {"num_pieces": 9}, {"kind": "x"}, {"beam": 0}]
)
def test_numbers_outside_their_range_are_refused(explorer, wrong):
    with pytest.raises(ValueError, match="Received"):
        find_whole_words(explorer, TEXT, **({"num_pieces": 1} | wrong))


def test_a_word_that_makes_the_text_too_long_is_refused(explorer):
    with pytest.raises(TextError, match="13 tokens"):
        find_whole_words(explorer, TEXT, 8, "pieces")


def test_progress_counts_pieces_and_may_cancel(explorer):
    seen = []
    find_whole_words(
        explorer, TEXT, 2, "pieces", progress=lambda done, _: seen.append(done)
    )
    assert seen == [0.5, 1.0]

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        find_whole_words(explorer, TEXT, 2, "pieces", progress=cancel)


def test_a_model_without_the_head_is_refused():
    explorer = explorer_of(random_model(heads=("pooler",))[0])
    with pytest.raises(CheckpointError, match="MLM"):
        find_whole_words(explorer, TEXT, 2)
