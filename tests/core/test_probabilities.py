"""Logits, probabilities, draws and ranks against what paper and pencil give."""

import math

import numpy as np
import pytest

from bertviz_core.analysis.attention import attention_mass
from bertviz_core.analysis.correlation import ranks as mean_ranks
from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.logit_rows import (
    entropy_bits_of,
    log_softmax,
    ranks_of,
    top_words,
)
from bertviz_core.analysis.sampling import (
    count_interval,
    draw_tokens,
    effective_choices,
    entropy_bits,
    rank_order,
    sampling_distribution,
    softmax,
)
from bertviz_core.analysis.two_sentences import (
    compare_predictions,
    find_words,
    most_shifted,
    ranks,
)
from tests.core.random_models import agree

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
        # The fewest words that reach it.
        (HAND_LOGITS, {"top_p": 1e-12}, [0, 1, 0, 0]),
        (HAND_LOGITS, {"top_p": 0.39}, [0, 1, 0, 0]),
        (HAND_LOGITS, {"top_p": 0.41}, [0, 4 / 7, 0, 3 / 7]),
        (HAND_LOGITS, {"top_p": 0.69}, [0, 4 / 7, 0, 3 / 7]),
        (HAND_LOGITS, {"top_p": 0.71}, [0, 4 / 9, 2 / 9, 3 / 9]),
        (HAND_LOGITS, {"top_p": 1.0}, HAND_PROBS),
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


ROWS = np.array([[1.0, 3, 2, 3, -1], [0, 0, 0, 0, 0], [-5, 4, 4, 9, 4]], "float32")


def test_log_probabilities_are_those_of_a_softmax():
    found = log_softmax(ROWS)
    for row, expected in zip(found, ROWS.tolist(), strict=True):
        total = sum(math.exp(value) for value in expected)
        np.testing.assert_allclose(row, [v - math.log(total) for v in expected])
    assert found.dtype == np.float64
    huge = log_softmax(np.array([1e30, 1e30, -1e30]))
    np.testing.assert_allclose(huge[:2], -math.log(2))


@pytest.mark.parametrize("count", [1, 3, 5, 8])
def test_the_best_words_come_first_and_equals_by_id(count):
    orders = [[1, 3, 2, 0, 4], [0, 1, 2, 3, 4], [3, 1, 2, 4, 0]]
    assert top_words(ROWS, count).tolist() == [order[:count] for order in orders]
    forbidden = np.array([[-np.inf, 2.0, -np.inf, 3.0]])  # come last
    assert top_words(forbidden, 3).tolist() == [[3, 1, 0]]


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
    assert len(find_words(["star"] * 21, "star")) == 20
    assert find_words(words, "##i").tolist() == [6]
    assert find_words(words, "红").tolist() == []
    assert find_words(words, "  ").tolist() == []


def test_equal_numbers_share_their_mean_rank():
    found = mean_ranks(np.array([[7.0, -1.0, 7.0], [3.0, 7.0, 3.0]]))
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
