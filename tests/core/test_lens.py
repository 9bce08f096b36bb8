"""The lens equals the oracle's head at every layer, and the model at the last."""

import numpy as np
import pytest
from scipy.special import log_softmax

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.lens import read_layers
from tests.core import oracle
from tests.core.cause_models import explorer_named
from tests.core.random_models import CONFIG, VOCABULARY, agree
from tests.core.traced_models import Traced

TEXT = "the [MASK] sat ."


@pytest.mark.parametrize("pair", [None, "a mat"])
def test_every_layer_equals_the_oracles_head(any_norm_model, any_norm_explorer, pair):
    (model, weights), seen = any_norm_model, []
    asked = [VOCABULARY.index("cat"), VOCABULARY.index("红")]
    lens = read_layers(
        any_norm_explorer,
        TEXT,
        pair,
        word_ids=asked,
        top_k=4,
        progress=lambda done, _: seen.append(done),
    )
    assert seen == [0.25, 0.5, 0.75, 1.0]
    assert lens.word_tokens == ("cat", "红")
    names = (*VOCABULARY, "[row 21]", "[row 22]")
    trace = any_norm_explorer.trace(TEXT, pair)
    case = Traced(model.config, weights, any_norm_explorer, trace)
    states = [case.last_norm(x.astype("float64")) for x in trace.hidden_states]
    assert lens.top_ids.shape == (CONFIG.num_hidden_layers + 1, len(lens.positions), 4)
    for layer in range(len(states)):
        for column, position in enumerate(lens.positions):
            log_probs = log_softmax(
                oracle.mlm(weights, model.config, states[layer][position])
            )
            order = np.argsort(-log_probs)
            assert lens.top_ids[layer, column].tolist() == order[:4].tolist()
            assert lens.top_tokens[layer][column] == tuple(names[i] for i in order[:4])
            np.testing.assert_allclose(
                lens.top_log_probs[layer, column], log_probs[order[:4]], atol=1e-5
            )
            entropy = -(np.exp(log_probs) * log_probs).sum() / np.log(2)
            assert lens.entropy_bits[layer, column] == pytest.approx(entropy, abs=1e-4)
            for row, index in enumerate(asked):
                found = lens.word_log_probs[row, layer, column]
                assert found == pytest.approx(log_probs[index], abs=1e-5)
                rank = order.tolist().index(index) + 1
                assert lens.word_ranks[row, layer, column] == rank


def test_the_last_layer_is_the_models_own_answer(explorer):
    everything = range(CONFIG.vocab_size)
    lens = read_layers(explorer, TEXT, word_ids=everything)
    trace = explorer.trace(TEXT, mlm_positions=lens.positions)
    expected = [log_softmax(row.astype("float64")) for row in trace.mlm_logits]
    agree(lens.word_log_probs[:, -1].T, expected)


def test_only_the_asked_places_are_read(explorer):
    lens = read_layers(explorer, TEXT, positions=[4, 0])
    whole = read_layers(explorer, TEXT, positions=range(6))
    np.testing.assert_array_equal(lens.top_ids, whole.top_ids[:, [4, 0]])
    nothing = read_layers(explorer, TEXT)
    assert nothing.positions.tolist() == [1, 2, 3, 4]
    assert nothing.word_ranks.shape == (0, CONFIG.num_hidden_layers + 1, 4)


@pytest.mark.parametrize(
    "wrong",
    [{"positions": [6]}, {"positions": [-1]}, {"word_ids": [CONFIG.vocab_size]}],
)
def test_places_and_words_that_do_not_exist_are_refused(explorer, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        read_layers(explorer, TEXT, **wrong)
    with pytest.raises(CheckpointError, match="MLM"):
        read_layers(explorer_named("headless"), TEXT)
