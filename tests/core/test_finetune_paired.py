"""Two methods on the same rows, by hand."""

import numpy as np
import pytest

from bertviz_core.finetune.paired import paired_counts


def counts(only_first, only_second, both=3, neither=2):
    targets = np.zeros(only_first + only_second + both + neither, int)
    first = np.ones_like(targets)
    second = np.ones_like(targets)
    first[: only_first + both] = 0
    second[:both] = 0
    second[only_first + both : only_first + both + only_second] = 0
    return paired_counts(targets, first, second)


def test_rows_that_one_alone_got_right_are_counted():
    found = counts(5, 1)
    assert (found.only_first, found.only_second) == (5, 1)
    # Two tails of six coins: (1 + 6) / 64 each.
    assert found.p_value == pytest.approx(2 * 7 / 64)


def test_methods_that_never_differ_are_equal_by_chance():
    assert counts(0, 0).p_value == 1
    assert counts(4, 4).p_value == 1


def test_a_large_table_has_nearly_the_same_probability_as_an_exact_sum():
    exact, large = counts(1060, 939).p_value, counts(1061, 940).p_value
    assert large == pytest.approx(exact, rel=0.05)
    assert 0.001 < large < 0.05
