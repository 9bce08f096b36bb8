"""Chains repeat, resume, and draw what the model's distribution says."""

import dataclasses
import pickle

import numpy as np
import pytest

from bertviz_core.analysis.sampling import sampling_distribution
from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_chain, start_from_masks
from tests.core.brute_force import ALLOWED, OracleWords, written
from tests.core.random_models import VOCABULARY, explorer_of, random_model

TEXT = "the [MASK] sat on ."
HIDDEN = VOCABULARY.index("[MASK]")


@pytest.fixture(scope="module")
def explorer(any_norm_explorer):
    return any_norm_explorer


@pytest.fixture(scope="module")
def words(any_norm_model):
    return OracleWords(any_norm_model)


def same(one, other):
    for field in ("positions", "old_ids", "new_ids"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    for field in ("log_probs", "entropy_bits"):
        np.testing.assert_allclose(
            getattr(one, field), getattr(other, field), rtol=0, atol=1e-4
        )


def test_every_step_draws_from_the_models_distribution_with_its_own_numbers(
    explorer, words
):
    settings = GibbsSettings(temperature=0.7, top_k=9, top_p=0.8, seed=6)
    run = run_chain(explorer, start_chain(explorer, TEXT, settings), 7)
    ids = run.start.input_ids[0]
    for step in range(7):
        position = run.positions[step, 0]
        seen = written(ids, **{f"p{position}": HIDDEN})
        logits = words.log_probs(seen, run.start.token_type_ids, position)
        probs = sampling_distribution(logits[ALLOWED], 0.7, 9, 0.8)
        drawn = ALLOWED.index(run.new_ids[step, 0])
        rng = np.random.default_rng((6, 0, step))
        rng.integers(5)
        uniform, before = rng.random(), probs[:drawn].sum()
        assert before <= uniform < before + probs[drawn]
        assert run.log_probs[step, 0] == pytest.approx(np.log(probs[drawn]), abs=1e-4)
        entropy = -(probs[probs > 0] * np.log2(probs[probs > 0])).sum()
        assert run.entropy_bits[step, 0] == pytest.approx(entropy, abs=1e-4)
        assert run.old_ids[step, 0] == ids[position]
        ids = written(ids, **{f"p{position}": run.new_ids[step, 0]})
    np.testing.assert_array_equal(run.end.input_ids[0], ids)


@pytest.mark.parametrize("order", ["random", "in_order"])
def test_a_chain_is_the_same_in_one_run_and_in_chunks(explorer, order):
    settings = GibbsSettings(order=order, seed=4, num_chains=3)
    start = start_chain(explorer, TEXT, settings)
    whole = run_chain(explorer, start, 12)
    first = run_chain(explorer, start, 5)
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


def test_another_seed_gives_another_chain(explorer):
    runs = [
        run_chain(explorer, start_chain(explorer, TEXT, GibbsSettings(seed=seed)), 20)
        for seed in (1, 1, 2)
    ]
    same(runs[0], runs[1])
    assert (runs[0].new_ids != runs[2].new_ids).any()


def test_special_tokens_and_places_without_a_word_are_never_drawn(explorer):
    settings = GibbsSettings(temperature=50.0, seed=3, num_chains=7)
    run = run_chain(explorer, start_chain(explorer, TEXT, settings), 60)
    drawn = set(np.unique(run.new_ids).tolist())
    assert drawn <= set(ALLOWED)
    # Nearly level probabilities: 420 draws that miss a word would be odd.
    assert len(drawn) == len(ALLOWED)


def test_only_open_places_change_and_in_order_they_take_turns(explorer):
    settings = GibbsSettings(order="in_order")
    start = start_chain(explorer, TEXT, settings, positions=[2, 4])
    run = run_chain(explorer, start, 5)
    assert run.positions[:, 0].tolist() == [2, 4, 2, 4, 2]
    others = [0, 1, 3, 5, 6]
    assert (run.sequences()[:, 0, others] == start.input_ids[0, others]).all()


def test_a_random_order_visits_every_word_about_as_often(explorer):
    run = run_chain(explorer, start_chain(explorer, TEXT, GibbsSettings()), 200)
    visited = np.bincount(run.positions[:, 0], minlength=7)
    assert visited[[0, 6]].tolist() == [0, 0]
    # 40 expected, standard deviation 5.7: within five of them.
    assert (np.abs(visited[1:6] - 40) < 28).all()


def test_a_chain_starts_from_nothing_but_masks(explorer):
    start = start_from_masks(explorer, 4, GibbsSettings(order="in_order", num_chains=2))
    tokens = [VOCABULARY[index] for index in start.input_ids[1]]
    assert tokens == ["[CLS]", *["[MASK]"] * 4, "[SEP]"]
    run = run_chain(explorer, start, 4)
    assert "[MASK]" not in run.tokens_after(4, chain=1)
    assert run.tokens_after(0) == tuple(tokens)
    assert run.tokens_after(2).count("[MASK]") == 2


def test_no_temperature_takes_the_best_word_every_time(explorer, words):
    settings = GibbsSettings(temperature=0, order="in_order")
    run = run_chain(explorer, start_chain(explorer, TEXT, settings), 1)
    seen = written(run.start.input_ids[0], p1=HIDDEN)
    logits = words.log_probs(seen, run.start.token_type_ids, 1)
    assert run.new_ids[0, 0] == max(ALLOWED, key=lambda index: logits[index])
    assert run.log_probs[0, 0] == run.entropy_bits[0, 0] == 0


def test_what_changed_is_counted_after_burn_in(explorer):
    settings = GibbsSettings(seed=1, burn_in=6)
    start = start_chain(explorer, TEXT, settings)
    first = run_chain(explorer, start, 4)
    second = run_chain(explorer, first.end, 9)
    assert first.is_burn_in.all()
    assert np.isnan(first.change_rate)
    assert second.is_burn_in.tolist() == [True] * 2 + [False] * 7
    changed = [
        old != new
        for old, new in zip(second.old_ids[2:, 0], second.new_ids[2:, 0], strict=True)
    ]
    assert second.change_rate == pytest.approx(sum(changed) / 7)
    assert 0 < second.has_changed.sum() < 9 or second.change_rate in (0, 1)


def test_sequences_repeat_every_step(explorer):
    run = run_chain(
        explorer, start_chain(explorer, TEXT, GibbsSettings(num_chains=2)), 6
    )
    chain = run.sequences()
    assert chain.shape == (7, 2, 7)
    for step in range(6):
        for row in range(2):
            expected = written(
                chain[step, row],
                **{f"p{run.positions[step, row]}": run.new_ids[step, row]},
            )
            np.testing.assert_array_equal(chain[step + 1, row], expected)
    assert run.tokens_after(6, 1) == tuple(VOCABULARY[i] for i in chain[6, 1])


def test_the_start_is_not_changed_by_a_run(explorer):
    start = start_chain(explorer, TEXT, GibbsSettings())
    before = start.input_ids.copy()
    run_chain(explorer, start, 8)
    np.testing.assert_array_equal(start.input_ids, before)
    assert not start.input_ids.flags.writeable


def test_progress_reports_chunks_and_may_cancel(explorer):
    start, seen = start_chain(explorer, TEXT, GibbsSettings()), []
    run_chain(explorer, start, 25, lambda fraction, _: seen.append(fraction))
    assert seen == [0.4, 0.8, 1.0]

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run_chain(explorer, start, 25, cancel)


def test_no_steps_are_a_run_too(explorer):
    start = start_chain(explorer, TEXT, GibbsSettings(num_chains=2))
    run = run_chain(explorer, start, 0)
    assert run.positions.shape == (0, 2)
    assert run.sequences().shape == (1, 2, 7)
    same(run.then(run_chain(explorer, run.end, 3)), run_chain(explorer, start, 3))


def test_runs_that_do_not_follow_each_other_are_not_joined(explorer):
    start = start_chain(explorer, TEXT, GibbsSettings())
    run = run_chain(explorer, start, 3)
    with pytest.raises(ValueError, match=r"end.step=3, start.step=0"):
        run.then(run)


def test_a_state_of_another_model_is_a_mistake_of_the_caller(explorer):
    start = start_chain(explorer, TEXT, GibbsSettings())
    with pytest.raises(ValueError, match="another"):
        run_chain(explorer, dataclasses.replace(start, model_id="another"), 1)


@pytest.mark.parametrize("positions", [[0], [6], [7], []])
def test_special_and_absent_places_are_not_opened(explorer, positions):
    with pytest.raises(ValueError, match="positions"):
        start_chain(explorer, TEXT, GibbsSettings(), positions=positions)


@pytest.mark.parametrize(
    ("num_masks", "message"), [(0, "at least one mask"), (10, "12 tokens")]
)
def test_a_length_that_cannot_be_is_refused(explorer, num_masks, message):
    with pytest.raises(TextError, match=message):
        start_from_masks(explorer, num_masks, GibbsSettings())


@pytest.mark.parametrize(
    "wrong", [{"order": "up"}, {"num_chains": 0}, {"seed": -1}, {"burn_in": -2}]
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        GibbsSettings(**wrong)


def test_a_model_without_the_head_is_refused():
    explorer = explorer_of(random_model(heads=("pooler",))[0])
    with pytest.raises(CheckpointError, match="MLM"):
        start_chain(explorer, TEXT, GibbsSettings())
