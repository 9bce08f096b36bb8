"""Next-sentence answers equal the oracle's, and the shuffled test its own count."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import masked_rows
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.next_sentence import (
    predict_next_sentence,
    run_shuffled_test,
)
from bertviz_core.experiments.random_weights import shuffled_explorer
from tests.core.cause_models import by_oracle, explorer_named

PAIRS = [
    ("the cat", "sat on a mat"),
    ("a mat .", "!"),
    ("红", "the cats sat"),
    ("e", "on"),
    ("on a", "cat . !"),
]


def is_next(first, second):
    """P(is next) of one pair by the oracle."""
    return by_oracle("post-norm", first, Target("nsp", 0), second)[0]


def test_a_pair_and_its_swap_equal_the_oracle_in_one_pass(explorer):
    for first, second in PAIRS:
        before = explorer.num_forward_passes
        found = predict_next_sentence(explorer, first, second)
        assert explorer.num_forward_passes == before + 1
        assert found.probability == pytest.approx(is_next(first, second), abs=1e-6)
        swapped = pytest.approx(is_next(second, first), abs=1e-6)
        assert found.probability_swapped == swapped


def test_the_shuffled_test_asks_about_true_and_shuffled_pairs(explorer, monkeypatch):
    # Small batches: pairs of several lengths, back in their order afterwards.
    monkeypatch.setattr(masked_rows, "TOKENS_A_PASS", 24)
    found = run_shuffled_test(explorer, PAIRS, seed=3)
    assert sorted(found.partners) == list(range(5))
    true = [is_next(*pair) for pair in PAIRS]
    shuffled = [is_next(PAIRS[i][0], PAIRS[p][1]) for i, p in enumerate(found.partners)]
    np.testing.assert_allclose(found.probabilities, true, atol=1e-6)
    np.testing.assert_allclose(found.shuffled, shuffled, atol=1e-6)
    right = sum(p > 0.5 for p in true) + sum(p <= 0.5 for p in shuffled)
    assert found.num_right == right
    assert found.accuracy == pytest.approx(right / 10)
    assert (found.num_pairs, found.num_cut) == (5, 0)


CHAIN = ("the cat", "sat on a mat", "on a", "cat . !")
OVERLAPPING = {
    "two": PAIRS[:2],
    "five": PAIRS,
    "two and one": [CHAIN[:2], CHAIN[1:3], ("e", "on")],
    "three in a row": [CHAIN[:2], CHAIN[1:3], CHAIN[2:]],
    "a text twice": [("e", "on"), ("e", "a mat ."), CHAIN[:2], CHAIN[1:3]],
    "a pair twice": [("e", "on"), ("e", "on"), CHAIN[:2], CHAIN[1:3]],
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_no_text_is_put_behind_itself_or_one_that_it_follows(explorer, name):
    pairs, shuffles = OVERLAPPING[name], set()
    for seed in (0, 1, 2, 3, 2):
        partners = run_shuffled_test(explorer, pairs, seed).partners
        shuffles.add(tuple(partners))
        assert sorted(partners) == list(range(len(pairs)))
        for (first, _), partner in zip(pairs, partners, strict=True):
            asked = (first, pairs[partner][1])
            assert asked[0] != asked[1]
            assert asked not in pairs
    assert 1 < len(shuffles) < 5 or name != "five"


def test_pairs_that_are_too_long_are_cut_and_counted(explorer):
    long = ("the cat sat on a mat", "the cat sat on a mat")
    found = run_shuffled_test(explorer, [long, ("e", "on")])
    assert found.num_cut == 1
    with pytest.raises(TextError, match="too long"):
        predict_next_sentence(explorer, *long)


def test_what_cannot_be_asked_is_refused(explorer):
    for pair in (("", "on"), ("on", "  ")):
        with pytest.raises(TextError, match="one is empty"):
            predict_next_sentence(explorer, *pair)
    with pytest.raises(TextError, match="at least two pairs"):
        run_shuffled_test(explorer, PAIRS[:1])
    for pairs in ([CHAIN[:2], CHAIN[1:3]], [("e", "on")] * 3):
        with pytest.raises(TextError, match="cannot be shuffled"):
            run_shuffled_test(explorer, pairs)
    with pytest.raises(CheckpointError, match="NSP"):
        predict_next_sentence(explorer_named("headless"), "the", "cat")


def test_a_network_with_random_weights_can_be_asked(explorer):
    pairs = PAIRS[:2]
    own, other = (
        run_shuffled_test(explorer, pairs, random_weights=has) for has in (False, True)
    )
    expected = run_shuffled_test(shuffled_explorer(explorer, 0), pairs)
    np.testing.assert_allclose(other.probabilities, expected.probabilities, atol=1e-5)
    assert np.abs(other.probabilities - own.probabilities).max() > 1e-3
