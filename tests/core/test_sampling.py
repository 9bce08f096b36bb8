"""Temperature, top-k, top-p and draws against what paper and pencil give."""

import math

import numpy as np
import pytest

from bertviz_core.analysis.sampling import (
    count_interval,
    draw_tokens,
    effective_choices,
    entropy_bits,
    rank_order,
    sampling_distribution,
    softmax,
)

# Probabilities 0.1, 0.4, 0.2, 0.3 at T = 1, with any constant added to the logits.
HAND_PROBS = np.array([0.1, 0.4, 0.2, 0.3])
HAND_LOGITS = np.log(HAND_PROBS) + 7.5


def random_logits(size=31, scale=4.0, seed=3):
    return np.random.default_rng(seed).normal(scale=scale, size=size)


@pytest.mark.parametrize("temperature", [0.5, 1, 2])
def test_temperature_takes_powers_of_the_odds(temperature):
    powers = HAND_PROBS ** (1 / temperature)
    found = softmax(HAND_LOGITS, temperature)
    np.testing.assert_allclose(found, powers / powers.sum(), rtol=1e-12)
    np.testing.assert_array_equal(
        sampling_distribution(HAND_LOGITS, temperature), found
    )


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 1e-5, 0.3, 1.0, 5.0, 1e9])
def test_temperature_never_changes_the_order_and_the_sum_is_one(temperature):
    logits = random_logits()
    probs = softmax(logits, temperature)
    assert np.isfinite(probs).all()
    assert abs(probs.sum() - 1) < 1e-12
    assert (np.diff(probs[rank_order(logits)]) <= 0).all()
    if temperature < 1e-4:
        assert probs[np.argmax(logits)] == 1


@pytest.mark.parametrize("huge", [1e4, 1e300, -1e300])
def test_huge_logits_do_not_overflow(huge):
    probs = softmax(np.array([huge, huge - abs(huge) / 2, huge]), 0.7)
    np.testing.assert_allclose(probs, [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(softmax(np.array([1.7e308, -1.7e308])), [1, 0])
    # Words that tie for the first place share it at temperature 0.
    tied = softmax(np.array([2.0, 5, 1, 5, 5]), 0.0)
    np.testing.assert_array_equal(tied, [0, 1 / 3, 0, 1 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("logits", "settings", "expected"),
    [
        (HAND_LOGITS, {"top_k": 3}, [0, 4 / 9, 2 / 9, 3 / 9]),
        (HAND_LOGITS, {"top_k": 100}, HAND_PROBS),
        # The lower id among equals, and the order where probabilities vanish.
        ([1.0, 2, 2, 2], {"top_k": 2}, [0, 0.5, 0.5, 0]),
        ([1.0, 3, 2], {"temperature": 1e-9, "top_k": 2}, [0, 1, 0]),
        (np.log([0.5, 0.25, 0.25]), {"top_p": 0.5}, [1, 0, 0]),
        # T = 1/2 gives 1, 16, 4, 9 (of 30); top-3 leaves 16, 9, 4 (of 29).
        (
            HAND_LOGITS,
            {"temperature": 0.5, "top_k": 3, "top_p": 0.6},
            [0, 16 / 25, 0, 9 / 25],
        ),
    ],
)
def test_what_is_kept_is_renormalised(logits, settings, expected):
    found = sampling_distribution(np.array(logits), **settings)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [
        (1e-12, [1]),
        (0.39, [1]),
        (0.41, [1, 3]),
        (0.69, [1, 3]),
        (0.71, [1, 2, 3]),
        (0.91, [0, 1, 2, 3]),
        (1.0, [0, 1, 2, 3]),
    ],
)
def test_top_p_keeps_the_fewest_words_that_reach_it(top_p, kept):
    probs = sampling_distribution(HAND_LOGITS, top_p=top_p)
    expected = np.zeros(4)
    expected[kept] = HAND_PROBS[kept] / HAND_PROBS[kept].sum()
    np.testing.assert_allclose(probs, expected, rtol=1e-12)


def test_entropy_and_effective_choices_by_hand():
    assert entropy_bits(np.array([0.0, 1.0, 0.0])) == 0.0
    assert math.copysign(1, entropy_bits(np.array([1.0]))) == 1.0
    assert entropy_bits(np.full(8, 0.125)) == pytest.approx(3.0)
    assert entropy_bits(np.array([0.5, 0.25, 0.25])) == pytest.approx(1.5)
    assert effective_choices(np.full(5, 0.2)) == pytest.approx(5.0)
    assert effective_choices(np.array([0.0, 1.0])) == 1.0


def test_the_same_seed_draws_the_same_and_more_draws_go_on():
    probs = softmax(random_logits())
    draws = draw_tokens(probs, 200, seed=11)
    np.testing.assert_array_equal(draws[:30], draw_tokens(probs, 30, seed=11))
    assert (draws != draw_tokens(probs, 200, seed=12)).any()
    assert draw_tokens(probs, 0, seed=2).size == 0


def test_draws_follow_the_distribution():
    probs = sampling_distribution(random_logits(size=13, scale=1.5), top_k=6)
    num_draws = 40_000
    counts = np.bincount(draw_tokens(probs, num_draws, seed=5), minlength=13)
    deviation = np.abs(counts / num_draws - probs)
    standard_error = np.sqrt(probs * (1 - probs) / num_draws)  # of a binomial share
    assert (deviation <= 5 * standard_error).all()


def test_count_interval_by_hand():
    # Ten tosses of a coin: P(count <= 1) = 11/1024, P(count <= 2) = 56/1024.
    low, high = count_interval(np.array([0.5, 0.0, 1.0, 0.001]), 10)
    np.testing.assert_array_equal(low, [2, 0, 10, 0])
    np.testing.assert_array_equal(high, [8, 0, 10, 0])
    below = np.cumsum(
        [math.comb(37, c) * 0.13**c * 0.87 ** (37 - c) for c in range(38)]
    )
    [low], [high] = count_interval(np.array([0.13]), 37)
    assert below[low - 1] < 0.025 <= below[low]
    assert below[high - 1] < 0.975 <= below[high]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"temperature": -0.1}, "temperature=-0.1"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"temperature": math.inf}, "temperature=inf"),
        ({"top_k": 0}, "top_k=0"),
        ({"top_p": 0.0}, "top_p=0.0"),
        ({"top_p": 1.01}, "top_p=1.01"),
    ],
)
def test_impossible_settings_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        sampling_distribution(HAND_LOGITS, **arguments)
    for logits in ([], [[1.0, 2.0]], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match="logits"):
            softmax(np.array(logits))
