"""Intervals and chances by drawing, held against loops and against formulas."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import f1_score

from bertviz_core.finetune.metrics import (
    compare_errors,
    compare_macro_f1,
    compare_right,
    macro_f1,
    macro_f1_interval,
    mean_interval,
    wilson_interval,
)

NUM_CLASSES = 3


def rows(count, seed, share_right=0.7):
    rng = np.random.default_rng(seed)
    targets = rng.choice(NUM_CLASSES, count, p=[0.7, 0.2, 0.1])
    said = rng.integers(NUM_CLASSES, size=count)
    return targets, np.where(rng.random(count) < share_right, targets, said)


def interval(targets, said, texts=None):
    texts = np.arange(len(targets)) if texts is None else texts
    return macro_f1_interval(np.array(targets), np.array(said), NUM_CLASSES, texts)


@pytest.mark.parametrize("copies", [1, 4])
def test_the_interval_of_macro_f1_is_that_of_texts_drawn_one_by_one(copies):
    targets, said = (np.repeat(part, copies) for part in rows(400, 3))
    texts = np.arange(len(targets)) // copies
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(1000):
        chosen = rng.integers(400, size=400)
        every = np.concatenate([chosen * copies + copy for copy in range(copies)])
        drawn.append(f1_score(targets[every], said[every], average="macro"))
    found = interval(targets, said, texts)
    # The ends of 1,000 draws, each known to about a hundredth.
    np.testing.assert_allclose(found, np.percentile(drawn, (2.5, 97.5)), atol=0.02)
    if copies > 1:  # as if each copy were another text: half as wide
        apart = np.diff(interval(targets, said))
        assert apart == pytest.approx(np.diff(found) / 2, rel=0.1)


@pytest.mark.parametrize(
    ("counts", "low"), [((4, 4), 0.8), ((95, 5), 0.87), ((1000, 800), 0.998)]
)
def test_rows_that_are_all_right_leave_as_much_doubt_as_there_are_rows(counts, low):
    targets = np.repeat([0, 1], counts)
    found = interval(targets, targets)
    assert found[0] == pytest.approx(low, abs=0.03)
    assert found[0] < found[1] == 1
    one_wrong = targets.copy()
    one_wrong[0] = 1
    assert interval(targets, one_wrong)[0] < found[0]
    # Of one class, it is what Wilson's interval says of its share.
    ends = interval(np.zeros(9, int), np.zeros(9, int))
    share = wilson_interval(9, 9)
    np.testing.assert_allclose(ends, 2 * share / (1 + share))


def test_the_same_rows_give_the_same_and_equals_are_equal_by_chance():
    targets, said = rows(60, 6)
    texts = np.arange(60)
    assert compare_macro_f1(targets, said, said, texts).chance == 1
    assert compare_errors(targets, targets, texts).chance == 1
    first, second = (interval(targets, said) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_the_interval_of_a_share_is_nearly_that_of_wilson():
    is_right = np.arange(400) % 4 == 0
    found = mean_interval(is_right.astype(float), np.arange(400))
    np.testing.assert_allclose(found, wilson_interval(100, 400), atol=0.01)
    copied = mean_interval(np.repeat(is_right, 3).astype(float), np.arange(1200) // 3)
    np.testing.assert_allclose(copied, found, atol=0.01)


def test_the_chance_is_that_of_all_ways_to_swap():
    targets = np.array([0, 0, 1, 1, 2, 2, 0, 1])
    first = np.array([0, 0, 1, 1, 2, 2, 1, 1])
    second = np.array([0, 1, 1, 0, 2, 0, 0, 0])
    found = macro_f1(targets, first) - macro_f1(targets, second)
    for texts in (np.arange(8), np.array([0, 0, 1, 1, 2, 3, 4, 5])):
        far = []
        for swap in itertools.product((False, True), repeat=int(texts.max()) + 1):
            swaps = np.array(swap)[texts]
            one, other = np.where(swaps, second, first), np.where(swaps, first, second)
            gap = macro_f1(targets, one) - macro_f1(targets, other)
            far.append(abs(gap) >= abs(found) - 1e-12)
        chance = compare_macro_f1(targets, first, second, texts).chance
        assert chance == pytest.approx(np.mean(far), abs=1e-9)


def test_a_large_difference_is_no_chance_in_either_direction():
    targets, said = rows(500, 7, share_right=0.9)
    always = np.zeros_like(targets)
    for pair in ((said, always), (always, said)):
        assert compare_macro_f1(targets, *pair, np.arange(500)).chance < 0.01


def test_errors_that_are_smaller_row_by_row_are_no_chance():
    rng = np.random.default_rng(8)
    errors = rng.exponential(10, 40)
    assert compare_errors(errors, errors + 1, np.arange(40)).chance < 0.01
    # Two texts, each twenty times: no more than two that agree.
    copied = compare_errors(errors, errors + 1, np.arange(40) // 20)
    assert copied.chance == 0.5
    gaps = np.array([3.0, -1.0, 2.0, 2.0, -0.5])
    ways = np.array(list(itertools.product((-1, 1), repeat=5)))
    exact = np.mean(np.abs((ways * gaps).mean(axis=1)) >= gaps.mean() - 1e-12)
    found = compare_errors(gaps, np.zeros(5), np.arange(5))
    assert found.chance == pytest.approx(exact, abs=1e-9)


def right(only_first, only_second, both=3, neither=2, copies=1):
    targets = np.zeros(only_first + only_second + both + neither, int)
    first = np.ones_like(targets)
    second = np.ones_like(targets)
    first[: only_first + both] = 0
    second[:both] = 0
    second[only_first + both : only_first + both + only_second] = 0
    texts = np.repeat(np.arange(len(targets)), copies)
    parts = (np.repeat(part, copies) for part in (targets, first, second))
    return compare_right(*parts, texts)


@pytest.mark.parametrize("copies", [1, 3])
def test_rows_that_one_alone_got_right_are_counted(copies):
    found = right(5, 1, copies=copies)
    assert (found.only_first, found.only_second) == (5 * copies, copies)
    # Two tails of six coins, (1 + 6) / 64 each: one for a text, not for a copy.
    assert found.chance == pytest.approx(2 * 7 / 64)


def test_methods_that_never_differ_are_equal_by_chance():
    assert right(0, 0).chance == 1
    assert right(4, 4).chance == 1
