import dataclasses
import json
import pickle

import numpy as np
import pytest

from bertviz_core.analysis.sampling import sampling_distribution
from bertviz_core.errors import TextError
from bertviz_core.experiments import gibbs
from bertviz_core.experiments.chain_results import GibbsRun, GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_chain, start_from_masks
from tests.core.brute_force import ALLOWED, written
from tests.core.random_models import VOCABULARY

TEXT = "the [MASK] sat on ."
HIDDEN = VOCABULARY.index("[MASK]")


def same(one, other):
    for field in ("positions", "old_ids", "new_ids"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    for field in ("log_probs", "entropy_bits"):
        np.testing.assert_allclose(
            getattr(one, field), getattr(other, field), rtol=0, atol=1e-4
        )


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_every_step_draws_from_the_models_distribution_with_its_own_numbers(
    explorer, words, temperature
):
    settings = GibbsSettings(temperature=temperature, top_k=9, top_p=0.8, seed=6)
    run = run_chain(explorer, start_chain(explorer, TEXT, settings), 7)
    ids = run.start.input_ids[0]
    for step in range(7):
        position = run.positions[step, 0]
        seen = written(ids, {position: HIDDEN})
        logits = words.log_probs(seen, run.start.token_type_ids, position)
        probs = sampling_distribution(logits[ALLOWED], temperature, 9, 0.8)
        drawn = ALLOWED.index(run.new_ids[step, 0])
        rng = np.random.default_rng((6, 0, step))
        rng.integers(5)
        uniform, before = rng.random(), probs[:drawn].sum()
        assert before <= uniform < before + probs[drawn]
        assert run.log_probs[step, 0] == pytest.approx(np.log(probs[drawn]), abs=1e-4)
        entropy = -(probs[probs > 0] * np.log2(probs[probs > 0])).sum()
        assert run.entropy_bits[step, 0] == pytest.approx(entropy, abs=1e-4)
        assert run.old_ids[step, 0] == ids[position]
        ids = written(ids, {position: run.new_ids[step, 0]})
        np.testing.assert_array_equal(run.sequences()[step + 1, 0], ids)
    np.testing.assert_array_equal(run.end.input_ids[0], ids)


@pytest.mark.parametrize("order", ["random", "in_order"])
def test_a_chain_is_the_same_in_one_run_and_in_chunks(explorer, order):
    settings = GibbsSettings(order=order, seed=4, num_chains=3)
    start = start_chain(explorer, TEXT, settings)
    whole = run_chain(explorer, start, 12)
    first = run_chain(explorer, start, 0).then(run_chain(explorer, start, 5))
    paused = pickle.loads(pickle.dumps(first.end))
    second = run_chain(explorer, paused, 1)
    joined = first.then(second).then(run_chain(explorer, second.end, 6))
    same(joined, whole)
    np.testing.assert_array_equal(joined.end.input_ids, whole.end.input_ids)
    assert joined.end.step == whole.end.step == 12
    np.testing.assert_array_equal(joined.sequences(), whole.sequences())


def test_a_chain_does_not_depend_on_those_beside_it(explorer):
    together = GibbsSettings(seed=4, num_chains=3)
    alone = dataclasses.replace(together, num_chains=1)
    many = run_chain(explorer, start_chain(explorer, TEXT, together), 9)
    one = run_chain(explorer, start_chain(explorer, TEXT, alone), 9)
    np.testing.assert_array_equal(many.new_ids[:, :1], one.new_ids)
    assert (many.new_ids[:, 0] != many.new_ids[:, 1]).any()
    other = dataclasses.replace(alone, seed=5)
    other = run_chain(explorer, start_chain(explorer, TEXT, other), 9)
    assert (other.new_ids != one.new_ids).any()


def test_special_tokens_and_places_without_a_word_are_never_drawn(explorer):
    settings = GibbsSettings(temperature=50.0, seed=3, num_chains=7)
    run = run_chain(explorer, start_chain(explorer, TEXT, settings), 60)
    drawn = set(np.unique(run.new_ids).tolist())
    assert drawn <= set(ALLOWED)
    # Nearly level probabilities: 420 draws that miss a word would be odd.
    assert len(drawn) == len(ALLOWED)
    visited = np.bincount(run.positions.ravel(), minlength=7)
    assert visited[[0, 6]].tolist() == [0, 0]
    # 84 expected, standard deviation 8.2: within five of them.
    assert (np.abs(visited[1:6] - 84) < 41).all()


def test_only_open_places_change_and_in_order_they_take_turns(explorer):
    settings = GibbsSettings(order="in_order")
    start = start_chain(explorer, TEXT, settings, positions=[2, 4])
    run = run_chain(explorer, start, 5)
    assert run.positions[:, 0].tolist() == [2, 4, 2, 4, 2]
    others = [0, 1, 3, 5, 6]
    assert (run.sequences()[:, 0, others] == start.input_ids[0, others]).all()


def test_a_chain_starts_from_nothing_but_masks(explorer):
    start = start_from_masks(explorer, 4, GibbsSettings(order="in_order", num_chains=2))
    tokens = [VOCABULARY[index] for index in start.input_ids[1]]
    assert tokens == ["[CLS]", *["[MASK]"] * 4, "[SEP]"]
    run = run_chain(explorer, start, 4)
    assert "[MASK]" not in run.tokens_after(4, chain=1)
    assert run.tokens_after(0) == tuple(tokens)
    assert run.tokens_after(2).count("[MASK]") == 2


def test_what_changed_is_counted_after_burn_in(explorer):
    settings = GibbsSettings(seed=1, burn_in=6)
    start = start_chain(explorer, TEXT, settings)
    first = run_chain(explorer, start, 4)
    second = run_chain(explorer, first.end, 9)
    assert first.is_burn_in.all()
    assert np.isnan(first.change_rate)
    assert second.is_burn_in.tolist() == [True] * 2 + [False] * 7
    changed = second.old_ids[2:, 0] != second.new_ids[2:, 0]
    assert second.change_rate == pytest.approx(changed.sum() / 7)
    both = first.then(second)
    kept = (
        both.sequences()[-1][:, start.open_positions]
        == start.input_ids[:, start.open_positions]
    )
    assert both.share_kept == kept.mean() < 1
    with pytest.raises(ValueError, match=r"end.step=4, start.step=0"):
        first.then(first)


def test_what_cannot_be_is_refused(explorer):
    settings = GibbsSettings()
    start = start_chain(explorer, TEXT, settings)
    with pytest.raises(ValueError, match="another"):
        run_chain(explorer, dataclasses.replace(start, model_id="another"), 1)
    for positions in ([0], [6], [7], []):
        with pytest.raises(ValueError, match="positions"):
            start_chain(explorer, TEXT, settings, positions=positions)
    for num_masks, message in [(0, "at least one mask"), (10, "12 tokens")]:
        with pytest.raises(TextError, match=message):
            start_from_masks(explorer, num_masks, settings)
    wrong = ({"order": "up"}, {"num_chains": 0}, {"seed": -1}, {"burn_in": -2})
    for one in wrong:
        with pytest.raises(ValueError, match="must be"):
            GibbsSettings(**one)


def test_a_chunk_ends_by_its_steps_or_by_the_clock(explorer, monkeypatch):
    start = start_chain(explorer, TEXT, GibbsSettings(seed=4))
    monkeypatch.setattr(gibbs, "MOST_STEPS", 4)
    found = gibbs.follow_chain(explorer, start, 6)
    same(found, run_chain(explorer, start, 4))
    monkeypatch.setattr(gibbs, "CHUNK_SECONDS", 0.0)
    assert gibbs.follow_chain(explorer, found.end, 2).num_steps == 1


def test_a_chain_shows_its_steps_while_it_goes_on(explorer, monkeypatch):
    monkeypatch.setattr(gibbs, "LOOK_SECONDS", 0.0)  # a report for each step
    start = start_chain(explorer, TEXT, GibbsSettings(seed=4))
    told = []

    def progress(fraction, message, so_far=None):
        told.append((fraction, json.loads(json.dumps(so_far))))

    found = gibbs.follow_chain(explorer, start, 6, progress)
    whole = run_chain(explorer, start, 6)
    same(found, whole)
    assert [fraction for fraction, _ in told] == [n / 6 for n in range(1, 7)]
    for count, (_, raw) in enumerate(told, 1):
        seen = GibbsRun.from_dict(start, raw, explorer.vocabulary)
        assert (seen.num_steps, seen.end.step) == (count, count)
        np.testing.assert_array_equal(seen.end.input_ids, whole.sequences()[count])
        assert seen.tokens_after(count) == whole.tokens_after(count)
        same(seen.then(run_chain(explorer, seen.end, 6 - count)), whole)
