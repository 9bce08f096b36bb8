"""Rows of logits, against sums and orders written out by hand."""

import math

import numpy as np
import pytest

from bertviz_core.analysis.logit_rows import (
    entropy_bits_of,
    log_softmax,
    ranks_of,
    top_words,
)

ROWS = np.array([[1.0, 3, 2, 3, -1], [0, 0, 0, 0, 0], [-5, 4, 4, 9, 4]], "float32")


def test_log_probabilities_are_those_of_a_softmax():
    found = log_softmax(ROWS)
    for row, expected in zip(found, ROWS.tolist(), strict=True):
        total = sum(math.exp(value) for value in expected)
        np.testing.assert_allclose(row, [v - math.log(total) for v in expected])
    assert found.dtype == np.float64


def test_huge_logits_do_not_overflow():
    np.testing.assert_allclose(
        log_softmax(np.array([1e30, 1e30, -1e30]))[:2], -math.log(2)
    )


@pytest.mark.parametrize("count", [1, 3, 5, 8])
def test_the_best_words_come_first_and_equals_by_id(count):
    orders = [[1, 3, 2, 0, 4], [0, 1, 2, 3, 4], [3, 1, 2, 4, 0]]
    assert top_words(ROWS, count).tolist() == [order[:count] for order in orders]


def test_a_forbidden_word_comes_last():
    row = np.array([[-np.inf, 2.0, -np.inf, 3.0]])
    assert top_words(row, 3).tolist() == [[3, 1, 0]]


def test_a_rank_is_the_place_among_the_best_words():
    for index in range(5):
        ids = np.full(3, index)
        orders = top_words(ROWS, 5).tolist()
        expected = [order.index(index) + 1 for order in orders]
        assert ranks_of(ROWS, ids).tolist() == expected
    assert ranks_of(ROWS, np.array([3, 4, 0])).tolist() == [2, 5, 5]


def test_entropy_counts_in_bits():
    level = np.log(np.full((1, 8), 1 / 8))
    certain = np.array([[0.0, -np.inf]])
    found = [entropy_bits_of(rows)[0] for rows in (level, certain)]
    assert found == pytest.approx([3, 0])
    assert entropy_bits_of(np.log([0.5, 0.25, 0.25])) == pytest.approx(1.5)
