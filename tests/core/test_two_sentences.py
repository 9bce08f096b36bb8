"""The comparison of two predictions, against sums written out by hand."""

import math

import numpy as np
import pytest

from bertviz_core.analysis.two_sentences import (
    compare_predictions,
    find_words,
    most_shifted,
    ranks,
)

# Probabilities 1/2 1/4 1/8 1/8 0 and 1/8 1/4 1/8 1/2 0, of logits with an offset.
A = np.log([8, 4, 2, 2, 1e-9]) + 5
B = np.log([2, 4, 2, 8, 1e-9]) - 3


def test_shifts_are_differences_of_log_probabilities():
    found = compare_predictions(A, B)
    np.testing.assert_allclose(np.exp(found.log_probs_a)[:4], [0.5, 0.25, 0.125, 0.125])
    np.testing.assert_allclose(np.exp(found.log_probs_b)[:4], [0.125, 0.25, 0.125, 0.5])
    shifts = [-math.log(4), 0, 0, math.log(4), 0]
    np.testing.assert_allclose(found.shifts, shifts, atol=1e-12)
    # Ranks count from one, and equals go by id.
    assert found.ranks_a.tolist() == [1, 2, 3, 4, 5]
    assert found.ranks_b.tolist() == [3, 2, 4, 1, 5]
    assert ranks(np.array([1.0, 3.0, 1.0])).tolist() == [2, 1, 3]


def test_the_divergence_equals_the_formula():
    p, q = [0.5, 0.25, 0.125, 0.125], [0.125, 0.25, 0.125, 0.5]
    m = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    expected = sum(
        (x * math.log2(x / z) + y * math.log2(y / z)) / 2
        for x, y, z in zip(p, q, m, strict=True)
    )
    assert compare_predictions(A, B).divergence_bits == pytest.approx(expected)
    apart = compare_predictions(np.array([90.0, 0]), np.array([0, 90.0]))
    assert apart.divergence_bits == pytest.approx(1)


def test_the_most_shifted_words_are_listed_for_each_side():
    logits_a = np.array([3.0, 0, 1, 0, 2])
    logits_b = np.array([0.0, 3, 1, 2, 0])
    toward_a, toward_b = most_shifted(compare_predictions(logits_a, logits_b), 2)
    assert toward_a.tolist() == [0, 4]
    assert toward_b.tolist() == [1, 3]
    for other in (np.zeros(3), np.zeros((1, 5))):
        with pytest.raises(ValueError, match="one length"):
            compare_predictions(A, other)
    # A word that does not shift is on neither side.
    toward_a, toward_b = most_shifted(compare_predictions(A, A), 5)
    assert len(toward_a) == len(toward_b) == 0


def test_words_below_the_least_probability_are_left_out():
    # Word 4 shifts most by far, from 1e-9 to 1e-5, and matters least.
    other = B.copy()
    other[4] = math.log(1e-4) - 3
    comparison = compare_predictions(A, other)
    assert most_shifted(comparison, 1)[1].tolist() == [4]
    assert most_shifted(comparison, 1, least_prob=0.01)[1].tolist() == [3]
    assert most_shifted(comparison, 9, least_prob=0.6)[1].tolist() == []


def test_a_search_puts_the_word_before_its_beginnings_and_its_insides():
    words = ["starry", "Star", "##star", "a", "mustard", "start", "##ing"]
    assert find_words(words, " star ").tolist() == [1, 0, 2, 5, 4]
    assert find_words(words, "star", limit=2).tolist() == [1, 0]
    assert find_words(words, "##i").tolist() == [6]
    assert find_words(words, "红").tolist() == []
    assert find_words(words, "  ").tolist() == []
