"""What the engine says about masked words is what the experiments say."""

import json

import numpy as np
import pytest

from bertviz_core.analysis.logit_rows import log_softmax
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments import every_position, gibbs, next_sentence, scoring
from bertviz_core.experiments.attribution import AttributionSettings, attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.chain_results import GibbsRun, GibbsSettings
from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.gelu_switch import switch_gelu
from bertviz_core.experiments.gibbs import follow_chain
from bertviz_core.experiments.joint_filling import best_pairs, fill_masks
from bertviz_core.experiments.lens import read_layers
from bertviz_core.experiments.next_sentence import (
    predict_next_sentence,
    run_shuffled_test,
)
from bertviz_core.experiments.random_weights import (
    check_with_random_weights,
    shuffled_explorer,
)
from bertviz_core.experiments.scoring import (
    score_known_words,
    score_minimal_pair,
    score_sentence,
)
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.explorer import Explorer
from tests.core.checkpoint_copies import HF
from tests.core.engine_waiting import ended

MODEL = str(HF)
TEXT = "ab [MASK] cab [MASK] ba"


@pytest.fixture(scope="module")
def explorer():
    return Explorer.open(MODEL)


def result(client, task, *given, **named):
    question = client.ask(task).about(MODEL, *given, **named)
    status = ended(client, client.start(question))
    assert status.error is None
    return status.result


def logits(client, text):
    return client.ask(Explorer.predict_masks)(MODEL, text).logits


def test_filling_begins_with_the_best_word_of_the_prediction(client):
    filling = client.ask(fill_masks)(MODEL, TEXT, "left_to_right", top_k=3)
    assert len(filling.steps) == 2
    step = filling.steps[0]
    alone = log_softmax(logits(client, TEXT))[0]
    assert step.log_prob == pytest.approx(alone[step.token_id], abs=1e-5)
    assert len(step.top_ids) == 3


def test_pairs_keep_the_best_of_both_orders(client):
    pairs = result(client, best_pairs, text=TEXT, top_k=4, num_pairs=3)
    assert 3 <= len(pairs.ids) <= 6
    total = pairs.log_prob_forward + pairs.log_prob_backward
    assert (np.diff(total) <= 1e-9).all()


def test_a_word_of_one_piece_has_its_entry_of_the_softmax(client):
    word = client.ask(vocabulary)(MODEL)[9]
    (score,) = client.ask(score_known_words)(MODEL, TEXT, (word,), 1)
    alone = log_softmax(logits(client, TEXT))[1, 9]
    assert score.log_prob == pytest.approx(alone, abs=1e-5)


def test_words_that_cannot_be_scored_are_left_out(client):
    room = client.ask(Explorer.info)(MODEL).config.max_position_embeddings
    words = ("ab", "[MASK]", "红", "a" * room, "ba")
    scores = client.ask(score_known_words)(MODEL, TEXT, words, 1)
    assert [score.word for score in scores] == ["ab", "ba"]
    assert client.ask(score_known_words)(MODEL, TEXT, ("红",), 1) == ()


def test_long_work_says_the_same_as_the_quick_question(client):
    filling = client.ask(fill_masks)(MODEL, TEXT, "left_to_right")
    as_job = result(client, fill_masks, text=TEXT, mode="left_to_right")
    assert [s.token for s in as_job.steps] == [s.token for s in filling.steps]
    whole = client.ask(find_whole_words)(MODEL, TEXT, 2, "pieces", 1)
    as_job = result(
        client, find_whole_words, text=TEXT, num_pieces=2, kind="pieces",
        mask_index=1,
    )  # fmt: skip
    assert as_job.words == whole.words
    words = ("ab", "红", "ba")
    scores = client.ask(score_known_words)(MODEL, TEXT, words, 1)
    as_job = result(client, score_known_words, text=TEXT, words=words, mask_index=1)
    assert [s.log_prob for s in as_job] == pytest.approx([s.log_prob for s in scores])


def test_scores_of_sentences_are_those_of_the_experiment(client, explorer):
    found = result(client, score_sentence, text="ab cab ba", variant="naive")
    expected = scoring.score_sentence(explorer, "ab cab ba", variant="naive")
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-6)
    pair = result(
        client, score_minimal_pair, first="ab cab ba", second="ab ba", variant="naive"
    )
    assert pair.first.log_prob == pytest.approx(expected.log_prob, abs=1e-5)
    assert len(pair.second.positions) < len(pair.first.positions)


def test_every_position_says_how_it_looked(client, explorer):
    found = result(client, predict_every_position, text="ab cab", masked=False)
    expected = every_position.predict_every_position(explorer, "ab cab", masked=False)
    assert not found.masked
    np.testing.assert_allclose(found.surprisal_bits, expected.surprisal_bits, atol=1e-5)


def test_the_last_layer_of_the_lens_is_the_prediction(client):
    lens = client.ask(read_layers)(MODEL, TEXT, word_ids=(5, 8), top_k=2)
    place = list(lens.positions).index(
        client.ask(Explorer.tokenize)(MODEL, TEXT).mask_positions[0]
    )
    alone = log_softmax(logits(client, TEXT))[0]
    np.testing.assert_allclose(
        lens.word_log_probs[:, -1, place], alone[[5, 8]], atol=1e-4
    )
    assert lens.top_ids.shape[-1] == 2


@pytest.mark.tensorflow
def test_an_attribution_explains_the_answer_that_was_asked_for(client):
    position = int(client.ask(Explorer.tokenize)(MODEL, TEXT).mask_positions[0])
    target = Target("mlm", 7, position)
    found = result(
        client, attribute, TEXT, target, 9, settings=AttributionSettings(baseline="pad")
    )
    row = logits(client, TEXT)[0]
    assert found.value == pytest.approx(float(row[7] - row[9]), abs=1e-4)
    assert found.baseline == "pad"


def test_a_chain_goes_on_from_chunk_to_chunk_as_if_run_at_once(client, explorer):
    settings = GibbsSettings(temperature=1.3, top_k=6, seed=4, burn_in=2)
    start = client.ask(gibbs.start_chain)(MODEL, "ab cab ba", settings)
    first = result(client, follow_chain, state=start, num_steps=3)
    second = result(client, follow_chain, state=first.end, num_steps=4)
    whole = gibbs.run_chain(explorer, start, 7)
    np.testing.assert_array_equal(first.then(second).new_ids, whole.new_ids)


def test_a_chain_shows_its_steps_while_it_goes_on(client, explorer, monkeypatch):
    monkeypatch.setattr(gibbs, "LOOK_SECONDS", 0.0)  # a report for each step
    start = client.ask(gibbs.start_chain)(MODEL, "ab cab ba", GibbsSettings(seed=4))
    told = []

    def progress(fraction, message, so_far=None):
        told.append((fraction, json.loads(json.dumps(so_far))))

    found = gibbs.follow_chain(explorer, start, 6, progress)
    whole, words = gibbs.run_chain(explorer, start, 6), client.ask(vocabulary)(MODEL)
    np.testing.assert_array_equal(found.new_ids, whole.new_ids)
    assert [fraction for fraction, _ in told] == [n / 6 for n in range(1, 7)]
    for count, (_, raw) in enumerate(told, 1):
        seen = GibbsRun.from_dict(start, raw, words)
        assert (seen.num_steps, seen.end.step) == (count, count)
        np.testing.assert_array_equal(seen.end.input_ids, whole.sequences()[count])
        np.testing.assert_allclose(seen.log_probs, whole.log_probs[:count], atol=1e-5)
        assert seen.tokens_after(count) == whole.tokens_after(count)
        rest = seen.then(gibbs.run_chain(explorer, seen.end, 6 - count))
        np.testing.assert_array_equal(rest.new_ids, whole.new_ids)
        np.testing.assert_array_equal(rest.old_ids, whole.old_ids)


def test_a_chain_can_begin_with_masks_alone(client):
    start = client.ask(gibbs.start_from_masks)(MODEL, 5, GibbsSettings())
    mask = client.ask(Explorer.tokenize)(MODEL, "[MASK]").mask_token_id
    assert (start.input_ids == mask).sum() == 5


def test_the_next_sentence_is_asked_both_ways(client):
    one = client.ask(predict_next_sentence)(MODEL, "ab cab", "ba")
    other = client.ask(predict_next_sentence)(MODEL, "ba", "ab cab")
    assert one.probability == pytest.approx(other.probability_swapped, abs=1e-6)
    assert one.probability != pytest.approx(one.probability_swapped, abs=1e-9)


def test_the_gelu_of_the_checkpoint_gives_its_own_prediction(client):
    found = client.ask(switch_gelu)(MODEL, TEXT, top_k=3)
    np.testing.assert_allclose(found.own_logits, logits(client, TEXT), atol=1e-5)
    assert (found.largest_differences > 0).all()


def test_whole_words_are_scored_as_words(client):
    found = client.ask(find_whole_words)(MODEL, TEXT, 2, "pieces", 1)
    assert found.ids.shape[1] == 2
    (score,) = client.ask(score_known_words)(MODEL, TEXT, (found.words[0],), 1)
    assert found.log_prob[0] == pytest.approx(score.log_prob, abs=1e-4)


def test_a_shuffled_test_counts_right_answers_of_true_and_shuffled_pairs(
    client, explorer
):
    pairs = (("ab cab", "ba"), ("cab", "ab ba ab"), ("ba", "cab"))
    found = result(client, run_shuffled_test, pairs=pairs, seed=3)
    expected = next_sentence.run_shuffled_test(explorer, pairs, 3)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)
    np.testing.assert_array_equal(found.partners, expected.partners)
    known = [
        client.ask(predict_next_sentence)(MODEL, first, second).probability
        for first, second in pairs
    ]
    np.testing.assert_allclose(found.probabilities, known, atol=1e-5)


def test_a_shuffled_test_can_ask_a_network_with_random_weights(client, explorer):
    pairs = (("ab cab", "ba"), ("cab", "ab ba ab"))
    own = result(client, run_shuffled_test, pairs=pairs)
    other = result(client, run_shuffled_test, pairs=pairs, random_weights=True)
    knows_nothing = shuffled_explorer(explorer, 0)
    expected = next_sentence.run_shuffled_test(knows_nothing, pairs, 0)
    np.testing.assert_allclose(other.probabilities, expected.probabilities, atol=1e-5)
    assert np.abs(other.probabilities - own.probabilities).max() > 1e-3
    assert own.num_pairs == other.num_pairs == 2


@pytest.mark.tensorflow
def test_an_attribution_is_checked_with_random_weights(client):
    position = int(client.ask(Explorer.tokenize)(MODEL, TEXT).mask_positions[0])
    settings = AttributionSettings(baseline="pad")
    asked = (TEXT, Target("mlm", 7, position))
    found = result(client, check_with_random_weights, *asked, settings=settings)
    own = result(client, attribute, *asked, settings=settings)
    np.testing.assert_allclose(found.own.scores, own.scores, atol=1e-5)
    assert found.agreement.shape == (len(own.methods),)
    assert np.nanmax(np.abs(found.shuffled.scores - own.scores)) > 1e-3
