"""The lens equals the oracle's head at every layer, and the model at the last."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.lens import read_layers
from tests.core import oracle
from tests.core.brute_force import log_softmax
from tests.core.random_models import CONFIG, VOCABULARY, explorer_of, random_model

TEXT = "the [MASK] sat ."


@pytest.fixture(scope="module")
def explorer(any_norm_explorer):
    return any_norm_explorer


def states_by_hand(any_norm_model, tokenized):
    model, weights = any_norm_model
    inputs = {
        "input_ids": tokenized.input_ids[None],
        "token_type_ids": tokenized.token_type_ids[None],
    }
    states = oracle.forward(weights, model.config, inputs)["hidden_states"][0]
    if model.config.pre_norm:
        states = oracle.layer_norm(
            states, *weights["final_norm"], model.config.layer_norm_eps
        )
    return states


@pytest.mark.parametrize("pair", [None, "a mat"])
def test_every_layer_equals_the_oracles_head(any_norm_model, explorer, pair):
    model, weights = any_norm_model
    asked = [VOCABULARY.index("cat"), VOCABULARY.index("红")]
    lens = read_layers(explorer, TEXT, pair, word_ids=asked, top_k=4)
    states = states_by_hand(any_norm_model, lens.tokenized)
    assert lens.top_ids.shape == (CONFIG.num_hidden_layers + 1, len(lens.positions), 4)
    for layer in range(len(states)):
        for column, position in enumerate(lens.positions):
            log_probs = log_softmax(
                oracle.mlm(weights, model.config, states[layer][position])
            )
            order = np.argsort(-log_probs)
            assert lens.top_ids[layer, column].tolist() == order[:4].tolist()
            np.testing.assert_allclose(
                lens.top_log_probs[layer, column], log_probs[order[:4]], atol=1e-5
            )
            entropy = -(np.exp(log_probs) * log_probs).sum() / np.log(2)
            assert lens.entropy_bits[layer, column] == pytest.approx(entropy, abs=1e-4)
            for row, index in enumerate(asked):
                assert lens.word_log_probs[row, layer, column] == pytest.approx(
                    log_probs[index], abs=1e-5
                )
                rank = order.tolist().index(index) + 1
                assert lens.word_ranks[row, layer, column] == rank


def test_the_last_layer_is_the_models_own_answer(explorer):
    everything = range(CONFIG.vocab_size)
    lens = read_layers(explorer, TEXT, word_ids=everything)
    trace = explorer.trace(TEXT, mlm_positions=lens.positions)
    expected = np.stack(
        [log_softmax(row.astype("float64")) for row in trace.mlm_logits]
    )
    np.testing.assert_allclose(
        lens.word_log_probs[:, -1].T, expected, rtol=0, atol=1e-5
    )


def test_only_the_asked_places_are_read(explorer):
    lens = read_layers(explorer, TEXT, positions=[4, 0])
    whole = read_layers(explorer, TEXT, positions=range(6))
    np.testing.assert_array_equal(lens.top_ids, whole.top_ids[:, [4, 0]])
    assert read_layers(explorer, TEXT).positions.tolist() == [1, 2, 3, 4]


def test_words_have_names(explorer):
    lens = read_layers(explorer, TEXT, word_ids=[VOCABULARY.index("cat")], top_k=2)
    assert lens.word_tokens == ("cat",)
    ids = lens.top_ids[1, 2]
    names = (*VOCABULARY, "[row 21]", "[row 22]")
    assert lens.top_tokens[1][2] == tuple(names[i] for i in ids)


def test_no_words_are_followed_unless_asked(explorer):
    lens = read_layers(explorer, TEXT)
    assert lens.word_ranks.shape == (0, CONFIG.num_hidden_layers + 1, 4)


@pytest.mark.parametrize(
    "wrong",
    [{"positions": [6]}, {"positions": [-1]}, {"word_ids": [CONFIG.vocab_size]}],
)
def test_places_and_words_that_do_not_exist_are_refused(explorer, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        read_layers(explorer, TEXT, **wrong)


def test_progress_counts_layers_and_may_cancel(explorer):
    seen = []
    read_layers(explorer, TEXT, progress=lambda done, _: seen.append(done))
    assert seen == [0.25, 0.5, 0.75, 1.0]

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        read_layers(explorer, TEXT, progress=cancel)


def test_a_model_without_the_head_is_refused():
    explorer = explorer_of(random_model(heads=("pooler",))[0])
    with pytest.raises(CheckpointError, match="MLM"):
        read_layers(explorer, TEXT)
