import itertools

import numpy as np
import pytest

from bertviz_core.analysis.attention_change import head_change
from bertviz_core.analysis.comparison import align_tokens, attention_difference


def pairs(alignment):
    return list(zip(alignment.first.tolist(), alignment.second.tolist(), strict=True))


def test_a_replaced_word_is_paired_with_what_replaced_it():
    alignment = align_tokens(
        ["[CLS]", "he", "works", "here", "[SEP]"],
        ["[CLS]", "she", "works", "here", "[SEP]"],
    )
    assert pairs(alignment) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    assert alignment.is_same.tolist() == [True, False, True, True, True]
    assert not len(alignment.only_first)
    assert not len(alignment.only_second)


def test_a_word_without_a_counterpart_has_no_partner():
    alignment = align_tokens(
        ["a", "cat", "sat"], ["a", "very", "old", "cat", "sat", "down"]
    )
    assert pairs(alignment) == [(0, 0), (1, 3), (2, 4)]
    assert alignment.is_same.all()
    assert alignment.only_first.tolist() == []
    assert alignment.only_second.tolist() == [1, 2, 5]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([], [], []),
        (["a"], [], []),
        (["a"], ["b"], [(0, 0)]),
        (["a", "b"], ["c"], []),
        (["a", "b", "a", "c"], ["a", "c"], [(2, 0), (3, 1)]),
    ],
)
def test_texts_with_little_in_common_are_aligned_too(first, second, expected):
    assert pairs(align_tokens(first, second)) == expected


def longest_common(first, second):
    """Length by trying every choice of tokens."""
    return max(
        size
        for size in range(len(first) + 1)
        for kept in itertools.combinations(first, size)
        if kept in set(itertools.combinations(second, size))
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_other_alignment_has_more_equal_tokens(seed):
    rng = np.random.default_rng(seed)
    first = rng.choice(list("abc"), rng.integers(0, 7)).tolist()
    second = rng.choice(list("abcd"), rng.integers(0, 8)).tolist()
    alignment = align_tokens(first, second)
    # Tokens that were paired as replaced are never the same by chance.
    assert alignment.is_same.sum() == longest_common(first, second)
    assert (np.diff(alignment.first) > 0).all()
    assert (np.diff(alignment.second) > 0).all()
    covered = sorted([*alignment.first, *alignment.only_first])
    assert covered == list(range(len(first)))
    assert sorted([*alignment.second, *alignment.only_second]) == list(
        range(len(second))
    )


def test_the_difference_is_second_minus_first_on_pairs_and_names_the_rest():
    rng = np.random.default_rng(2)
    first, second = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(5), (2, 5))
    alignment = align_tokens(["a", "x", "b"], ["a", "b", "p", "q", "r"])
    result = attention_difference(first, second, alignment)
    assert pairs(alignment) == [(0, 0), (2, 1)]
    for head in range(2):
        for row, (i, j) in enumerate(pairs(alignment)):
            for column, (m, n) in enumerate(pairs(alignment)):
                expected = second[head, j, n] - first[head, i, m]
                assert result.values[head, row, column] == pytest.approx(expected)
            assert result.outside_first[head, row] == pytest.approx(first[head, i, 1])
            assert result.outside_second[head, row] == pytest.approx(
                second[head, j, 2:].sum()
            )
    # Nothing is lost: what rows gain on pairs, they lose outside.
    moved = result.values.sum(-1) + result.outside_second - result.outside_first
    np.testing.assert_allclose(moved, 0, atol=1e-12)


def test_a_text_compared_with_itself_differs_in_nothing():
    attention = np.random.default_rng(1).dirichlet(np.ones(4), 4)
    result = attention_difference(
        attention, attention, align_tokens(list("abca"), list("abca"))
    )
    np.testing.assert_array_equal(result.values, np.zeros((4, 4)))


def softmax_rows(shape, seed):
    powers = np.exp(np.random.default_rng(seed).normal(size=shape))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_where_all_tokens_have_partners_the_distance_is_the_change_of_heads():
    first, second = softmax_rows((2, 3, 5, 5), 1), softmax_rows((2, 3, 5, 5), 2)
    alignment = align_tokens(list("abcde"), list("abxde"))
    found = attention_difference(first, second, alignment).distances
    np.testing.assert_allclose(found, head_change(first, second))


def test_attention_to_tokens_without_a_partner_counts_as_one_place():
    first = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    second = np.array([[1.0, 0.0], [0.5, 0.5]])
    alignment = align_tokens(["a", "x", "b"], ["a", "b"])
    # From a: 0.5, 0.5 outside, 0.0 against 1, 0, 0; from b: 1 against 0.5, 0.5.
    assert attention_difference(first, second, alignment).distances == 0.5
