"""Intervals and chances by drawing, held against loops and against formulas."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import f1_score

from bertviz_core.finetune.resampling import (
    macro_f1_chance,
    macro_f1_interval,
    mean_difference_chance,
    mean_interval,
)
from bertviz_core.finetune.scores import macro_f1, wilson_interval

NUM_CLASSES = 3


def rows(count, seed, share_right=0.7):
    rng = np.random.default_rng(seed)
    targets = rng.choice(NUM_CLASSES, count, p=[0.7, 0.2, 0.1])
    said = rng.integers(NUM_CLASSES, size=count)
    return targets, np.where(rng.random(count) < share_right, targets, said)


def test_the_interval_of_macro_f1_is_that_of_rows_drawn_one_by_one():
    targets, said = rows(80, 3)
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(2000):
        chosen = rng.integers(80, size=80)
        drawn.append(macro_f1(targets[chosen], said[chosen], NUM_CLASSES))
    found = macro_f1_interval(targets, said, NUM_CLASSES)
    # The ends of 2,000 draws, each known to about a hundredth.
    np.testing.assert_allclose(found, np.percentile(drawn, (2.5, 97.5)), atol=0.02)
    exact = f1_score(targets, said, average="macro")
    assert found[0] < exact < found[1]


def test_every_row_right_or_the_same_said_twice_leaves_no_doubt():
    targets, said = rows(60, 6)
    assert macro_f1_interval(targets, targets, NUM_CLASSES).tolist() == [1, 1]
    assert macro_f1_chance(targets, said, said, NUM_CLASSES) == 1
    assert mean_difference_chance(targets, targets) == 1
    first, second = (macro_f1_interval(targets, said, NUM_CLASSES) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_the_interval_of_a_share_is_nearly_that_of_wilson():
    is_right = np.arange(400) % 4 == 0
    found = mean_interval(is_right.astype(float))
    np.testing.assert_allclose(found, wilson_interval(100, 400), atol=0.01)


def test_the_chance_is_that_of_all_ways_to_swap():
    targets = np.array([0, 0, 1, 1, 2, 2, 0, 1])
    first = np.array([0, 0, 1, 1, 2, 2, 1, 1])
    second = np.array([0, 1, 1, 0, 2, 0, 0, 0])
    found = macro_f1(targets, first, 3) - macro_f1(targets, second, 3)
    far = []
    for swap in itertools.product((False, True), repeat=8):
        one = np.where(swap, second, first)
        other = np.where(swap, first, second)
        gap = macro_f1(targets, one, 3) - macro_f1(targets, other, 3)
        far.append(abs(gap) >= abs(found) - 1e-12)
    chance = macro_f1_chance(targets, first, second, 3)
    assert chance == pytest.approx(np.mean(far), abs=0.03)


def test_a_large_difference_is_no_chance_in_either_direction():
    targets, said = rows(500, 7, share_right=0.9)
    always = np.zeros_like(targets)
    for pair in ((said, always), (always, said)):
        assert macro_f1_chance(targets, *pair, NUM_CLASSES) < 0.01


def test_errors_that_are_smaller_row_by_row_are_no_chance():
    rng = np.random.default_rng(8)
    errors = rng.exponential(10, 40)
    assert mean_difference_chance(errors, errors + 1) < 0.01
    assert mean_difference_chance(errors, rng.permutation(errors)) == 1
    gaps = np.array([3.0, -1.0, 2.0, 2.0, -0.5])
    ways = np.array(list(itertools.product((-1, 1), repeat=5)))
    exact = np.mean(np.abs((ways * gaps).mean(axis=1)) >= gaps.mean() - 1e-12)
    found = mean_difference_chance(gaps, np.zeros(5))
    assert found == pytest.approx(exact, abs=0.03)
