"""Rank correlation and attention mass against numbers worked out by hand."""

import numpy as np
import pytest

from bertviz_core.analysis.attention_mass import attention_mass
from bertviz_core.analysis.correlation import map_agreement, ranks, spearman
from tests.core.random_models import agree


def test_equal_numbers_share_their_mean_rank():
    found = ranks(np.array([[7.0, -1.0, 7.0], [3.0, 7.0, 3.0]]))
    assert found.tolist() == [5.0, 1.0, 5.0, 2.5, 5.0, 2.5]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 1000], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        # Without ties 1 - 6 * sum(d^2) / (n * (n^2 - 1)), d = -1, 1, -1, 1, 0.
        ([1, 2, 3, 4, 5], [2, 1, 5, 2.5, 7], 1 - 6 * 4 / 120),
        # Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: 4.5 / sqrt(4.5 * 5).
        ([0, 1, 1, 2], [0, 2, 1, 3], 4.5 / np.sqrt(22.5)),
        ([1, 1, 1], [1, 2, 3], None),
        ([1], [2], None),
    ],
)
def test_rank_correlation_is_what_its_formula_gives(first, second, expected):
    found = spearman(np.array(first), np.array(second))
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second"),
    [([1, 2], [1, 2, 3]), ([[1, 2]], [1, 2]), ([1, np.nan], [1, 2])],
)
def test_lists_that_cannot_be_compared_are_refused(first, second):
    with pytest.raises(ValueError, match=r"same shape|finite"):
        spearman(np.array(first), np.array(second))


def test_mass_has_no_sign_but_estimates_have():
    exact = np.array([[-4.0, 3.0], [-2.0, 1.0]])
    mass = np.array([[0.9, 0.5], [0.4, 0.1]])
    found = map_agreement(exact, -exact, mass)
    assert found.exact_and_gradient == pytest.approx(-1)
    assert found.exact_and_mass == pytest.approx(1)
    assert found.gradient_and_mass == pytest.approx(1)
    # A model of one head has no order.
    one = map_agreement(*[np.array([[0.3]])] * 3)
    assert one.exact_and_gradient is one.exact_and_mass is None


def test_mass_is_what_a_token_puts_on_the_text():
    rng = np.random.default_rng(2)
    probs = rng.uniform(size=(3, 2, 5, 5))
    probs /= probs.sum(-1, keepdims=True)
    special = np.array([True, False, False, True, False])
    found = attention_mass(probs, special, 2)
    assert found.shape == (3, 2)
    agree(found, probs[:, :, 2, 1] + probs[:, :, 2, 2] + probs[:, :, 2, 4], 1e-12)


@pytest.mark.parametrize(("size", "position"), [(4, 0), (5, 5), (5, -1)])
def test_mass_of_another_text_is_refused(size, position):
    with pytest.raises(ValueError, match="must be"):
        attention_mass(np.ones((1, 1, 5, 5)), np.zeros(size, bool), position)
