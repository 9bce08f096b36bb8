import itertools

import numpy as np
import pytest

from bertviz_core.analysis.attention_change import head_change
from bertviz_core.analysis.comparison import align_tokens, attention_difference


def pairs(alignment):
    return list(zip(alignment.first.tolist(), alignment.second.tolist(), strict=True))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", []),
        ("a", "", []),
        ("a", "b", [(0, 0)]),
        ("ab", "c", []),
        ("abac", "ac", [(2, 0), (3, 1)]),
        # A replaced word is paired with what replaced it.
        ("axbc", "aybc", [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ("abc", "axybcz", [(0, 0), (1, 3), (2, 4)]),
    ],
)
def test_texts_are_aligned_word_by_word(first, second, expected):
    alignment = align_tokens(list(first), list(second))
    assert pairs(alignment) == expected
    same = [first[i] == second[j] for i, j in expected]
    assert alignment.is_same.tolist() == same


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
    covered = sorted([*alignment.second, *alignment.only_second])
    assert covered == list(range(len(second)))


def test_the_difference_is_second_minus_first_on_pairs_and_names_the_rest():
    rng = np.random.default_rng(2)
    one, other = rng.dirichlet(np.ones(4), (2, 3, 4))[:2]
    replaced = align_tokens(list("abcd"), list("abxd"))
    found = attention_difference(one, other, replaced)
    np.testing.assert_allclose(found.values, other - one)
    # Where all tokens have partners the distance is the change of heads.
    np.testing.assert_allclose(found.distances, head_change(one[None], other[None])[0])
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


def test_attention_to_tokens_without_a_partner_counts_as_one_place():
    first = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    second = np.array([[1.0, 0.0], [0.5, 0.5]])
    alignment = align_tokens(["a", "x", "b"], ["a", "b"])
    # From a: 0.5, 0.5 outside, 0.0 against 1, 0, 0; from b: 1 against 0.5, 0.5.
    assert attention_difference(first, second, alignment).distances == 0.5
