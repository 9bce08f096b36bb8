"""Joint filling equals filling by hand, and pairs equal brute force."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.joint_filling import MODES, best_pairs, fill_masks
from tests.core.brute_force import ALLOWED, written
from tests.core.cause_models import explorer_named
from tests.core.random_models import VOCABULARY

THREE = "the [MASK] sat [MASK] a [MASK] ."
TWO = "[MASK] cat [MASK] on ."


def best_allowed(log_probs):
    best = max(ALLOWED, key=lambda index: log_probs[index])
    return best, log_probs[best]


def fill_by_hand(words, tokenized, mode):
    """(position, id, log-probability) of each step, one text at a time."""
    ids, left = tokenized.input_ids, list(tokenized.mask_positions)
    steps = []
    while left:
        seen = tokenized.input_ids if mode == "independent" else ids
        found = {
            p: best_allowed(words.log_probs(seen, tokenized.token_type_ids, p))
            for p in left
        }
        if mode == "most_confident_first":
            position = max(left, key=lambda p: found[p][1])
        else:
            position = left[0]
        steps.append((position, *found[position]))
        ids = written(ids, **{f"p{position}": found[position][0]})
        left.remove(position)
    return steps, ids


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_equals_filling_by_hand(explorer, words, mode):
    filling = fill_masks(explorer, THREE, mode)
    expected, ids = fill_by_hand(words, filling.tokenized, mode)
    for step, (position, index, log_prob) in zip(filling.steps, expected, strict=True):
        assert (step.position, step.token_id) == (position, index)
        assert np.exp(step.log_prob) == pytest.approx(np.exp(log_prob), abs=1e-6)
    np.testing.assert_array_equal(filling.steps[-1].input_ids, ids)
    assert filling.log_prob == pytest.approx(sum(e[2] for e in expected), abs=1e-4)
    assert filling.tokens == tuple(VOCABULARY[ids[p]] for p in filling.positions)


def test_a_step_knows_the_confidence_of_open_masks_only(explorer):
    steps = fill_masks(explorer, THREE, "most_confident_first", top_k=99).steps
    assert sorted(steps[0].top_ids) == ALLOWED  # no special token
    assert (np.diff(steps[0].top_log_probs) <= 0).all()
    for number, step in enumerate(steps):
        filled = [earlier.mask_index for earlier in steps[:number]]
        assert np.flatnonzero(np.isnan(step.confidences)).tolist() == sorted(filled)
        assert np.nanargmax(step.confidences) == step.mask_index
        assert np.exp(step.log_prob) == pytest.approx(np.nanmax(step.confidences))


def brute_pairs(words, tokenized, first, second):
    """log p(a) + log p(b | a) of all pairs, by one pass for each a."""
    ids, types = tokenized.input_ids, tokenized.token_type_ids
    alone = words.log_probs(ids, types, first)
    pairs = {}
    for a in ALLOWED:
        given = words.log_probs(written(ids, **{f"p{first}": a}), types, second)
        pairs |= {(a, b): alone[a] + given[b] for b in ALLOWED}
    return pairs


@pytest.mark.parametrize(
    ("top_k", "num_pairs"), [(2, 3), (6, 99), (len(ALLOWED), 7), (len(ALLOWED), 9999)]
)
def test_pairs_equal_brute_force_and_none_above_the_bound_is_missing(
    explorer, words, top_k, num_pairs
):
    found = best_pairs(explorer, TWO, top_k=top_k, num_pairs=num_pairs)
    shown = list(map(tuple, found.ids.tolist()))
    tokens = tuple(tuple(VOCABULARY[i] for i in pair) for pair in shown)
    assert tuple(map(tuple, found.tokens)) == tokens
    text = found.tokenized
    p, q = (int(position) for position in found.positions)
    first, second = (
        words.log_probs(text.input_ids, text.token_type_ids, place) for place in (p, q)
    )
    expected = [first[a] + second[b] for a, b in shown]
    np.testing.assert_allclose(found.log_prob_independent, expected, atol=1e-5)
    mean = found.log_prob_forward + found.log_prob_backward
    assert (np.diff(mean) <= 0).all()
    forward = brute_pairs(words, text, p, q)
    turned = brute_pairs(words, text, q, p)
    backward = {(a, b): value for (b, a), value in turned.items()}
    for values, log_probs, bound in (
        (forward, found.log_prob_forward, found.bound_forward),
        (backward, found.log_prob_backward, found.bound_backward),
    ):
        expected = np.exp([values[pair] for pair in shown])
        np.testing.assert_allclose(np.exp(log_probs), expected, rtol=0, atol=1e-6)
        missing = [v for pair, v in values.items() if pair not in shown]
        assert max(missing, default=-np.inf) <= bound + 1e-5
        if top_k == len(ALLOWED):
            best = sorted(values, key=values.__getitem__, reverse=True)[:num_pairs]
            assert set(best) <= set(shown)
            assert bound == pytest.approx(max(missing, default=-np.inf), abs=1e-5)


def test_pairs_of_a_sure_mask_and_one_that_may_be_anything_have_a_bound(
    explorer, monkeypatch
):
    """The first mask is peaked, the second flat: many pairs are equally good."""
    first, second = explorer.tokenize(TWO).mask_positions
    num_words, sure = explorer.config.vocab_size, VOCABULARY.index("mat")

    def peaked_then_flat(inputs, outputs):
        places = inputs["mlm_positions"] % inputs["input_ids"].shape[1]
        logits = np.zeros((len(places), num_words), "float32")
        logits[places == first, sure] = 9.0
        assert set(places) <= {first, second}
        return {"mlm_logits": logits}

    monkeypatch.setattr(explorer, "forward", peaked_then_flat)
    found = best_pairs(explorer, TWO, top_k=2, num_pairs=3)
    assert 3 <= len(found.ids) < len(ALLOWED)
    likely = np.exp(9.0) / (np.exp(9.0) + num_words - 1) / num_words
    assert np.exp(found.bound_forward) == pytest.approx(likely)
    assert np.exp(found.bound_backward) == pytest.approx(1 / num_words)


def test_the_words_of_a_mask_run_in_one_batch(explorer, monkeypatch):
    shapes, forward = [], explorer.forward

    def counting(inputs, outputs):
        shapes.append(inputs["input_ids"].shape)
        return forward(inputs, outputs)

    monkeypatch.setattr(explorer, "forward", counting)
    found = best_pairs(explorer, TWO, top_k=6, num_pairs=2)
    tokens = found.tokenized.num_tokens
    assert shapes[:3] == [(1, tokens), (6, tokens), (6, tokens)]


@pytest.mark.parametrize(
    ("text", "run", "error", "said"),
    [
        (THREE, best_pairs, TextError, "Received: 3"),
        ("the cat", best_pairs, TextError, "no \\[MASK\\]"),
        ("the cat", lambda e, t: fill_masks(e, t, MODES[0]), TextError, "no \\[MASK"),
        (THREE, lambda e, t: fill_masks(e, t, "sideways"), ValueError, "sideways"),
    ],
)
def test_what_cannot_be_filled_is_refused(explorer, text, run, error, said):
    with pytest.raises(error, match=said):
        run(explorer, text)
    if error is TextError:
        with pytest.raises(CheckpointError, match="MLM"):
            run(explorer_named("headless"), THREE)


def test_a_pair_of_texts_is_read_as_one(explorer):
    alone = fill_masks(explorer, "the [MASK]", "independent")
    paired = fill_masks(explorer, "the [MASK]", "independent", pair="cat [MASK] .")
    assert [len(f.steps) for f in (alone, paired)] == [1, 2]
    assert paired.tokenized.token_type_ids[paired.positions].tolist() == [0, 1]
