"""Pieces put together into words, by hand."""

import numpy as np
import pytest

from bertviz_core.analysis.word_scores import word_scores


def test_pieces_of_a_word_are_added_up_in_both_texts(explorer):
    read = explorer.tokenize("The cats sat", "mats!")
    assert read.tokens == (
        "[CLS]", "the", "cat", "##s", "sat", "[SEP]", "mat", "##s", "!", "[SEP]",
    )  # fmt: skip
    scores = np.array([1, 2, 30, 400, 5, 6, 70, 800, 9, np.nan])
    found = word_scores(read, scores)
    assert found.words == ("[CLS]", "The", "cats", "sat", "[SEP]", "mats", "!", "[SEP]")
    np.testing.assert_allclose(found.values, [1, 2, 430, 5, 6, 870, 9, np.nan])
    assert found.first_tokens.tolist() == [0, 1, 2, 4, 5, 6, 8, 9]


def test_a_word_with_one_known_piece_has_its_score(explorer):
    found = word_scores(
        explorer.tokenize("cats"), np.array([np.nan, np.nan, 3, np.nan])
    )
    np.testing.assert_allclose(found.values, [np.nan, 3, np.nan])


def test_the_last_word_of_one_text_and_the_first_of_the_other_stay_apart(explorer):
    found = word_scores(explorer.tokenize("a", "a"), np.arange(5.0))
    assert found.words == ("[CLS]", "a", "[SEP]", "a", "[SEP]")
    np.testing.assert_allclose(found.values, np.arange(5))


def test_another_number_of_scores_is_a_mistake(explorer):
    with pytest.raises(ValueError, match="scores"):
        word_scores(explorer.tokenize("a"), np.zeros(4))
