"""Joint filling equals filling by hand, and pairs equal brute force."""

import itertools

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.joint_filling import MODES, best_pairs, fill_masks
from tests.core.brute_force import ALLOWED, OracleWords, written
from tests.core.random_models import VOCABULARY, explorer_of, random_model

THREE = "the [MASK] sat [MASK] a [MASK] ."
TWO = "[MASK] cat [MASK] on ."


@pytest.fixture(scope="module")
def explorer(any_norm_explorer):
    return any_norm_explorer


@pytest.fixture(scope="module")
def words(any_norm_model):
    return OracleWords(any_norm_model)


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
    assert [(s.position, s.token_id) for s in filling.steps] == [
        (position, index) for position, index, _ in expected
    ]
    np.testing.assert_allclose(
        np.exp([step.log_prob for step in filling.steps]),
        np.exp([log_prob for *_, log_prob in expected]),
        rtol=0,
        atol=1e-6,
    )
    np.testing.assert_array_equal(filling.steps[-1].input_ids, ids)
    assert filling.log_prob == pytest.approx(sum(e[2] for e in expected), abs=1e-4)
    assert filling.tokens == tuple(VOCABULARY[ids[p]] for p in filling.positions)


def test_the_modes_differ_in_order_and_number_of_passes(explorer):
    orders = {
        mode: [s.mask_index for s in fill_masks(explorer, THREE, mode).steps]
        for mode in MODES
    }
    assert orders["independent"] == orders["left_to_right"] == [0, 1, 2]
    assert sorted(orders["most_confident_first"]) == [0, 1, 2]


def test_a_step_knows_the_confidence_of_open_masks_only(explorer):
    steps = fill_masks(explorer, THREE, "most_confident_first").steps
    for number, step in enumerate(steps):
        filled = [earlier.mask_index for earlier in steps[:number]]
        assert np.flatnonzero(np.isnan(step.confidences)).tolist() == sorted(filled)
        assert np.nanargmax(step.confidences) == step.mask_index
        assert np.exp(step.log_prob) == pytest.approx(np.nanmax(step.confidences))


def test_a_step_keeps_as_many_candidates_as_asked_and_no_special_token(explorer):
    step = fill_masks(explorer, THREE, "independent", top_k=4).steps[0]
    assert step.top_ids.shape == step.top_log_probs.shape == (4,)
    assert (np.diff(step.top_log_probs) <= 0).all()
    everything = fill_masks(explorer, THREE, "independent", top_k=99).steps[0]
    assert sorted(everything.top_ids) == ALLOWED


def brute_pairs(words, tokenized, first, second):
    """log p(a) + log p(b | a) of all pairs, by one pass for each a."""
    types = tokenized.token_type_ids
    alone = words.log_probs(tokenized.input_ids, types, first)
    return {
        (a, b): alone[a] + given[b]
        for a in ALLOWED
        for given in [
            words.log_probs(
                written(tokenized.input_ids, **{f"p{first}": a}), types, second
            )
        ]
        for b in ALLOWED
    }


def test_the_pairs_of_two_masks_equal_brute_force(explorer, words):
    found = best_pairs(explorer, TWO, top_k=6, num_pairs=5)
    p, q = (int(position) for position in found.positions)
    forward = brute_pairs(words, found.tokenized, p, q)
    backward = {
        (a, b): value
        for (b, a), value in brute_pairs(words, found.tokenized, q, p).items()
    }
    for values, log_probs in (
        (forward, found.log_prob_forward),
        (backward, found.log_prob_backward),
    ):
        expected = [values[a, b] for a, b in found.ids.tolist()]
        np.testing.assert_allclose(
            np.exp(log_probs), np.exp(expected), rtol=0, atol=1e-6
        )
    mean = found.log_prob_forward + found.log_prob_backward
    assert (np.diff(mean) <= 0).all()
    assert [tuple(VOCABULARY[i] for i in pair) for pair in found.ids] == list(
        found.tokens
    )


@pytest.mark.parametrize(
    ("top_k", "num_pairs"), [(2, 3), (6, 5), (6, 99), (len(ALLOWED), 7)]
)
def test_no_pair_above_the_bound_is_missing(explorer, words, top_k, num_pairs):
    found = best_pairs(explorer, TWO, top_k=top_k, num_pairs=num_pairs)
    p, q = (int(position) for position in found.positions)
    shown = set(map(tuple, found.ids.tolist()))
    forward = brute_pairs(words, found.tokenized, p, q)
    backward = {
        (a, b): value
        for (b, a), value in brute_pairs(words, found.tokenized, q, p).items()
    }
    for values, bound in (
        (forward, found.bound_forward),
        (backward, found.bound_backward),
    ):
        best_missing = max(v for pair, v in values.items() if pair not in shown)
        assert best_missing <= bound + 1e-5
        best = sorted(values, key=values.__getitem__, reverse=True)[:num_pairs]
        if top_k == len(ALLOWED):
            assert set(best) <= shown
            assert bound == pytest.approx(best_missing, abs=1e-5)


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


def test_independent_pairs_multiply_the_two_predictions(explorer, words):
    found = best_pairs(explorer, TWO, top_k=3, num_pairs=4)
    text = found.tokenized
    alone = [
        words.log_probs(text.input_ids, text.token_type_ids, p) for p in found.positions
    ]
    expected = [alone[0][a] + alone[1][b] for a, b in found.ids]
    np.testing.assert_allclose(found.log_prob_independent, expected, atol=1e-5)


def test_the_words_of_a_mask_run_in_one_batch(explorer, monkeypatch):
    shapes, forward = [], explorer.forward

    def counting(inputs, outputs):
        shapes.append(inputs["input_ids"].shape)
        return forward(inputs, outputs)

    monkeypatch.setattr(explorer, "forward", counting)
    found = best_pairs(explorer, TWO, top_k=6, num_pairs=2)
    tokens = found.tokenized.num_tokens
    assert shapes[:3] == [(1, tokens), (6, tokens), (6, tokens)]


def test_pairs_want_two_masks(explorer):
    with pytest.raises(TextError, match="3 in the text"):
        best_pairs(explorer, THREE)


@pytest.mark.parametrize("run", [lambda e, t: fill_masks(e, t, MODES[0]), best_pairs])
def test_a_text_without_masks_is_refused(explorer, run):
    with pytest.raises(TextError, match="no \\[MASK\\]"):
        run(explorer, "the cat")


def test_a_model_without_the_head_is_refused():
    explorer = explorer_of(random_model(heads=("pooler",))[0])
    with pytest.raises(CheckpointError, match="MLM"):
        fill_masks(explorer, THREE, "independent")


def test_an_unknown_mode_is_a_mistake_of_the_caller(explorer):
    with pytest.raises(ValueError, match="sideways"):
        fill_masks(explorer, THREE, "sideways")


@pytest.mark.parametrize(
    "run",
    [
        lambda e, p: fill_masks(e, THREE, MODES[1], progress=p),
        lambda e, p: best_pairs(e, TWO, progress=p),
    ],
)
def test_progress_ends_at_one_and_may_cancel(explorer, run):
    seen = []
    run(explorer, lambda fraction, _: seen.append(fraction))
    assert seen[-1] == 1

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run(explorer, cancel)


def test_a_pair_of_texts_is_read_as_one(explorer):
    alone = fill_masks(explorer, "the [MASK]", "independent")
    paired = fill_masks(explorer, "the [MASK]", "independent", pair="cat [MASK] .")
    assert [len(f.steps) for f in (alone, paired)] == [1, 2]
    assert paired.tokenized.token_type_ids[paired.positions].tolist() == [0, 1]


def test_products_over_every_pair_sum_to_the_share_of_words(explorer, words):
    found = best_pairs(explorer, TWO, top_k=len(ALLOWED), num_pairs=len(ALLOWED) ** 2)
    assert len(found.ids) == len(ALLOWED) ** 2
    assert set(map(tuple, found.ids.tolist())) == set(
        itertools.product(ALLOWED, ALLOWED)
    )
    assert 0 < np.exp(found.log_prob_forward).sum() < 1
    assert found.bound_forward == found.bound_backward == -np.inf
