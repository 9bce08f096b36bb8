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


def test_temperature_one_is_the_raw_softmax():
    np.testing.assert_allclose(softmax(HAND_LOGITS), HAND_PROBS, rtol=1e-12)
    logits = random_logits()
    expected = [math.exp(x) / sum(math.exp(y) for y in logits) for x in logits]
    np.testing.assert_allclose(softmax(logits, 1.0), expected, rtol=1e-12)
    np.testing.assert_array_equal(sampling_distribution(logits), softmax(logits))


def test_half_the_temperature_squares_the_odds():
    squares = HAND_PROBS**2
    np.testing.assert_allclose(
        softmax(HAND_LOGITS, 0.5), squares / squares.sum(), rtol=1e-12
    )


def test_double_the_temperature_takes_roots_of_the_odds():
    roots = np.sqrt(HAND_PROBS)
    np.testing.assert_allclose(
        softmax(HAND_LOGITS, 2.0), roots / roots.sum(), rtol=1e-12
    )


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 1e-5, 0.3, 1.0, 5.0, 1e9])
def test_temperature_never_changes_the_order_and_the_sum_is_one(temperature):
    logits = random_logits()
    probs = softmax(logits, temperature)
    assert np.isfinite(probs).all()
    assert abs(probs.sum() - 1) < 1e-6
    assert (np.diff(probs[rank_order(logits)]) <= 0).all()


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 1e-6])
def test_temperature_towards_zero_is_the_most_likely_word(temperature):
    logits = random_logits()
    probs = softmax(logits, temperature)
    assert probs[np.argmax(logits)] == 1.0
    assert probs.sum() == 1.0


def test_words_that_tie_for_the_first_place_share_it_at_temperature_zero():
    np.testing.assert_array_equal(
        softmax(np.array([2.0, 5.0, 1.0, 5.0, 5.0]), 0.0), [0, 1 / 3, 0, 1 / 3, 1 / 3]
    )


@pytest.mark.parametrize("huge", [1e4, 1e300, -1e300])
def test_huge_logits_do_not_overflow(huge):
    probs = softmax(np.array([huge, huge - abs(huge) / 2, huge]), 0.7)
    np.testing.assert_allclose(probs, [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(softmax(np.array([1.7e308, -1.7e308])), [1, 0])


def test_float32_logits_are_summed_in_double_precision():
    logits = np.random.default_rng(1).normal(size=50_000).astype(np.float32)
    assert abs(softmax(logits).sum() - 1) < 1e-12


def test_equal_logits_are_ranked_by_id():
    np.testing.assert_array_equal(rank_order(np.array([1.0, 3, 1, 3])), [1, 3, 0, 2])


def test_top_k_keeps_the_most_likely_and_renormalises():
    probs = sampling_distribution(HAND_LOGITS, top_k=3)
    np.testing.assert_allclose(probs, [0, 4 / 9, 2 / 9, 3 / 9], rtol=1e-12)


def test_top_k_of_one_leaves_one_certain_word():
    np.testing.assert_array_equal(
        sampling_distribution(HAND_LOGITS, 3.0, top_k=1), [0, 1, 0, 0]
    )


def test_top_k_beyond_the_vocabulary_keeps_all():
    np.testing.assert_array_equal(
        sampling_distribution(HAND_LOGITS, top_k=100), softmax(HAND_LOGITS)
    )


def test_top_k_among_equals_keeps_the_lower_id():
    probs = sampling_distribution(np.array([1.0, 2.0, 2.0, 2.0]), top_k=2)
    np.testing.assert_array_equal(probs, [0, 0.5, 0.5, 0])


def test_top_k_still_knows_the_order_where_probabilities_vanish():
    # At this temperature all but the first are exactly 0 in float64.
    probs = sampling_distribution(np.array([1.0, 3.0, 2.0]), 1e-9, top_k=2)
    np.testing.assert_array_equal(probs, [0, 1, 0])


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


def test_top_p_is_reached_exactly_by_the_words_that_sum_to_it():
    probs = sampling_distribution(np.log(np.array([0.5, 0.25, 0.25])), top_p=0.5)
    np.testing.assert_array_equal(probs, [1, 0, 0])


def test_top_p_reads_what_temperature_and_top_k_left():
    # T = 1/2 gives 1, 16, 4, 9 (of 30); top-3 leaves 16, 9, 4 (of 29).
    probs = sampling_distribution(HAND_LOGITS, 0.5, top_k=3, top_p=0.6)
    np.testing.assert_allclose(probs, [0, 16 / 25, 0, 9 / 25], rtol=1e-12)


@pytest.mark.parametrize("seed", range(7))
def test_any_distribution_sums_to_one_and_keeps_the_order(seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=9, size=211)
    probs = sampling_distribution(
        logits, rng.uniform(0, 4), int(rng.integers(1, 211)), rng.uniform(0.01, 1)
    )
    assert abs(probs.sum() - 1) < 1e-9
    assert (np.diff(probs[rank_order(logits)]) <= 0).all()
    assert probs[np.argmax(logits)] > 0


def test_entropy_and_effective_choices_by_hand():
    assert entropy_bits(np.array([0.0, 1.0, 0.0])) == 0.0
    assert math.copysign(1, entropy_bits(np.array([1.0]))) == 1.0
    assert entropy_bits(np.full(8, 0.125)) == pytest.approx(3.0)
    assert entropy_bits(np.array([0.5, 0.25, 0.25])) == pytest.approx(1.5)
    assert effective_choices(np.full(5, 0.2)) == pytest.approx(5.0)
    assert effective_choices(np.array([0.0, 1.0])) == 1.0


def test_a_higher_temperature_is_never_less_uncertain():
    logits = random_logits()
    bits = [entropy_bits(softmax(logits, t)) for t in (0.0, 0.2, 0.7, 1, 2, 10)]
    assert bits == sorted(bits)
    assert bits[0] == 0.0


def test_the_same_seed_draws_the_same_and_more_draws_go_on():
    probs = softmax(random_logits())
    draws = draw_tokens(probs, 200, seed=11)
    np.testing.assert_array_equal(draws, draw_tokens(probs, 200, seed=11))
    np.testing.assert_array_equal(draws[:30], draw_tokens(probs, 30, seed=11))
    assert (draws != draw_tokens(probs, 200, seed=12)).any()


def test_draws_follow_the_distribution():
    probs = sampling_distribution(random_logits(size=13, scale=1.5), top_k=6)
    num_draws = 40_000
    counts = np.bincount(draw_tokens(probs, num_draws, seed=5), minlength=13)
    deviation = np.abs(counts / num_draws - probs)
    standard_error = np.sqrt(probs * (1 - probs) / num_draws)  # of a binomial share
    assert (deviation <= 5 * standard_error).all()


def test_a_left_out_word_is_never_drawn():
    probs = np.array([0.0, 0.3, 0.0, 0.7, 0.0])
    assert set(draw_tokens(probs, 5_000, seed=2)) == {1, 3}
    assert draw_tokens(probs, 0, seed=2).size == 0


def test_count_interval_by_hand():
    # Ten tosses of a coin: P(count <= 1) = 11/1024, P(count <= 2) = 56/1024.
    low, high = count_interval(np.array([0.5, 0.0, 1.0, 0.001]), 10)
    np.testing.assert_array_equal(low, [2, 0, 10, 0])
    np.testing.assert_array_equal(high, [8, 0, 10, 0])


def test_count_interval_holds_the_promised_share_of_experiments():
    num_draws, p = 37, 0.13
    [low], [high] = count_interval(np.array([p]), num_draws)

    def at_most(count):
        return sum(
            math.comb(num_draws, c) * p**c * (1 - p) ** (num_draws - c)
            for c in range(count + 1)
        )

    assert at_most(high) - at_most(low - 1) >= 0.95
    assert at_most(low - 1) < 0.025 <= at_most(low)
    assert at_most(high - 1) < 0.975 <= at_most(high)


def test_count_interval_of_many_draws_is_near_the_normal_curve():
    num_draws = 10_000
    [low], [high] = count_interval(np.array([0.3]), num_draws)
    half_width = 1.959964 * math.sqrt(0.3 * 0.7 * num_draws)
    assert abs(low - (3000 - half_width)) < 2
    assert abs(high - (3000 + half_width)) < 2


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


@pytest.mark.parametrize("logits", [[], [[1.0, 2.0]], [1.0, math.nan], [math.inf]])
def test_logits_that_are_no_row_of_numbers_are_refused(logits):
    with pytest.raises(ValueError, match="logits"):
        softmax(np.array(logits))
