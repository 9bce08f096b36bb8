"""Neurons against the oracle, against switches, and against a forward pass without."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.cause_results import Switches
from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.neurons import (
    neuron_activations,
    strongest_neurons,
    switch_neurons_off,
    words_of_neuron,
    words_of_neuron_here,
)
from bertviz_core.experiments.switching import switch_off
from bertviz_core.interventions import Interventions
from tests.core import oracle
from tests.core.cause_models import TARGETS, answer
from tests.core.random_models import (
    CONFIG,
    VOCABULARY,
    agree,
    explorer_of,
    random_model,
)
from tests.core.step_reading import step_values

TEXT = "The cats [MASK] on a mat"  # 9 tokens with those that are added
LAYERS, NEURONS = CONFIG.num_hidden_layers, CONFIG.intermediate_size


@dataclasses.dataclass(frozen=True)
class Case:
    config: object
    weights: dict
    explorer: object
    trace: object

    def neurons(self, layer):
        """Inputs and activations [T, I], and the residual that they are added to."""
        parts, config = self.weights["layers"][layer], self.config

        def norm(name, x):
            return oracle.layer_norm(x, *parts[name], config.layer_norm_eps)

        x = self.trace.hidden_states[layer].astype("float64")
        source = norm("attention_norm", x) if config.pre_norm else x
        context, _, _ = oracle.attention(
            parts, config.num_attention_heads, source, np.ones(len(x))
        )
        kept = x + oracle.dense(context, *parts["attention_output"])
        if config.pre_norm:
            enters = norm("output_norm", kept)
        else:
            enters = kept = norm("attention_norm", kept)
        inputs = oracle.dense(enters, *parts["inner"])
        return inputs, oracle.ACTIVATIONS[config.hidden_act](inputs), kept

    def read(self, layer, token, without=None):
        """Logits of a layer's output at a token, read as if it were the last."""
        parts, config = self.weights["layers"][layer], self.config
        _, activations, kept = self.neurons(layer)
        activations = activations[token].copy()
        if without is not None:
            activations[without] = 0
        x = (kept[token] + oracle.dense(activations, *parts["outer"]))[None]
        norm = self.weights["final_norm"] if config.pre_norm else parts["output_norm"]
        x = oracle.layer_norm(x, *norm, config.layer_norm_eps)
        return oracle.mlm(self.weights, config, x[0])


@pytest.fixture(scope="module")
def case(any_norm_model):
    model, weights = any_norm_model
    explorer = explorer_of(model)
    return Case(model.config, weights, explorer, explorer.trace(TEXT))


@pytest.mark.parametrize("layer", range(LAYERS))
def test_the_strongest_neurons_come_first(case, layer):
    token = 4
    activations = case.neurons(layer)[1][token]
    found = strongest_neurons(case.explorer, case.trace, layer, token, 5)
    order = sorted(range(NEURONS), key=lambda neuron: -activations[neuron])[:5]
    assert found.neurons.tolist() == order
    agree(found.activations, activations[order], 2e-6)
    kernel = case.weights["layers"][layer]["outer"][0]
    added = [np.linalg.norm(activations[i] * kernel[i]) for i in order]
    agree(found.contributions, added, 2e-6)


def test_by_contribution_a_negative_activation_can_lead(case):
    kernel = case.weights["layers"][1]["outer"][0]
    activations = case.neurons(1)[1][2]
    added = [np.linalg.norm(activations[i] * kernel[i]) for i in range(NEURONS)]
    found = strongest_neurons(
        case.explorer, case.trace, 1, 2, NEURONS + 4, order="contribution"
    )
    assert len(found.neurons) == NEURONS
    agree(found.contributions, sorted(added)[::-1], 2e-6)
    agree(found.activations, activations[found.neurons], 2e-6)
    by_activation = strongest_neurons(case.explorer, case.trace, 1, 2, NEURONS)
    assert by_activation.neurons.tolist() != found.neurons.tolist()


def test_one_neuron_is_shown_at_all_tokens(case):
    found = neuron_activations(case.explorer, case.trace, 2, 11)
    inputs, activations, _ = case.neurons(2)
    agree(found.inputs, inputs[:, 11], 2e-6)
    agree(found.activations, activations[:, 11], 2e-6)
    assert found.tokens == case.trace.tokenized.tokens


def test_the_contributions_of_all_neurons_and_the_bias_are_the_update(case):
    kernel, bias = case.weights["layers"][0]["outer"]
    every = [
        neuron_activations(case.explorer, case.trace, 0, index).activations
        for index in range(NEURONS)
    ]
    update = step_values(case.explorer, case.trace, "layer_0/feed_forward_output")
    agree(np.stack(every, axis=1) @ kernel + bias, update, 2e-6)


def test_words_by_weights_alone_are_products_with_the_embeddings(case):
    row = case.weights["layers"][1]["outer"][0][7]
    changes = np.array([row @ word for word in case.weights["words"]])
    order = np.argsort(-changes)
    found = words_of_neuron(case.explorer, 1, 7, top_k=6)
    assert found.promoted_ids.tolist() == order[:6].tolist()
    assert found.suppressed_ids.tolist() == order[::-1][:6].tolist()
    agree(found.promoted_changes, changes[order[:6]], 2e-6)
    agree(found.suppressed_changes, changes[order[::-1][:6]], 2e-6)
    names = (*VOCABULARY, "[row 21]", "[row 22]")  # two rows belong to no word
    assert found.promoted_tokens == tuple(names[index] for index in order[:6])
    assert (found.reading, found.token) == ("embedding", None)


@pytest.mark.parametrize(
    ("layer", "neuron", "token"), [(0, 3, 4), (1, 12, 0), (2, 5, 8)]
)
def test_words_at_a_token_are_the_lens_with_less_the_lens_without(
    case, layer, neuron, token
):
    changes = case.read(layer, token) - case.read(layer, token, neuron)
    found = words_of_neuron_here(
        case.explorer, case.trace, layer, neuron, token, CONFIG.vocab_size
    )
    assert found.promoted_ids.tolist() == np.argsort(-changes).tolist()
    # A difference of two logits that are up to 10.
    agree(found.promoted_changes, np.sort(changes)[::-1], 5e-6)
    agree(found.suppressed_changes, np.sort(changes), 5e-6)
    assert (found.reading, found.token) == ("head", token)


def test_at_the_last_layer_the_change_is_that_of_the_model_itself(case):
    last, neuron, token = LAYERS - 1, 8, 4
    mask = np.ones((LAYERS, NEURONS), "float32")
    mask[last, neuron] = 0
    off = Interventions(neuron_mask=mask)
    asked = {"mlm_positions": [token]}
    own = case.explorer.trace(TEXT, **asked).mlm_logits[0]
    changed = case.explorer.trace(TEXT, interventions=off, **asked).mlm_logits[0]
    found = words_of_neuron_here(
        case.explorer, case.trace, last, neuron, token, CONFIG.vocab_size
    )
    agree(found.promoted_changes, (own - changed)[found.promoted_ids], 5e-6)
    assert np.abs(found.promoted_changes).max() > 1e-3


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.head)
def test_switching_off_gives_what_the_masked_network_gives(case, target):
    mask = np.ones((LAYERS, NEURONS), "float32")
    mask[0, 4] = mask[2, 9] = 0
    found = switch_neurons_off(case.explorer, TEXT, target, [(0, 4), (2, 9)])
    before = answer(case.explorer, target)
    after = answer(case.explorer, target, Interventions(neuron_mask=mask))
    agree(found.delta_probability, after[1] - before[1])
    agree(found.delta_logit, after[0] - before[0])
    assert abs(found.delta_logit) > 1e-4
    same = switch_off(case.explorer, TEXT, target, Switches(neurons=((0, 4), (2, 9))))
    assert same.after.logit == found.after.logit


def test_factors_are_those_of_the_positive_activations_of_the_layers(case):
    found = neuron_factors(case.explorer, case.trace, 3, seed=2, layers=(2, 0), top_k=4)
    every = np.concatenate([case.neurons(2)[1], case.neurons(0)[1]], axis=1)
    positive = np.maximum(every, 0)
    tokens = case.trace.tokenized.num_tokens
    assert found.weights.shape == (3, tokens)
    assert found.top_neurons.shape == (3, 4, 2)
    left_out = np.linalg.norm(np.minimum(every, 0)) / np.linalg.norm(every)
    assert found.negative_share == pytest.approx(left_out)
    values = np.linalg.svd(positive, compute_uv=False)
    least = np.sqrt(np.square(values[3:]).sum()) / np.linalg.norm(positive)
    assert least < found.error < 1
    assert set(found.top_neurons[..., 0].ravel()) <= {0, 2}
    assert found.top_neurons[..., 1].max() < NEURONS


def test_with_one_factor_the_top_neurons_are_those_of_the_singular_vector(case):
    found = neuron_factors(case.explorer, case.trace, 1, seed=5, top_k=6)
    every = np.concatenate([case.neurons(layer)[1] for layer in range(LAYERS)], axis=1)
    vector = np.abs(np.linalg.svd(np.maximum(every, 0))[2][0])
    top = np.argsort(-vector)[:6]
    pairs = [[index // NEURONS, index % NEURONS] for index in top]
    assert found.layers == (0, 1, 2)
    assert found.top_neurons[0].tolist() == pairs
    np.testing.assert_allclose(found.top_shares[0], vector[top], atol=1e-3)


def test_a_seed_repeats_the_factors(case):
    first, again = (
        neuron_factors(case.explorer, case.trace, 2, seed=9) for _ in range(2)
    )
    np.testing.assert_array_equal(first.weights, again.weights)
    other = neuron_factors(case.explorer, case.trace, 2, seed=10)
    assert (other.weights != first.weights).any()


def test_neurons_that_never_fire_leave_nothing_out():
    config = dataclasses.replace(CONFIG, hidden_act="relu")
    model, _ = random_model(config, seed=4)
    model.blocks[1].feed_forward.intermediate.bias.assign(np.full(NEURONS, -1e3))
    explorer = explorer_of(model)
    found = neuron_factors(explorer, explorer.trace(TEXT), 2, seed=0, layers=(1,))
    assert (found.error, found.negative_share) == (0, 0)


def test_a_model_without_the_head_reads_by_weights_alone():
    explorer = explorer_of(random_model(heads=())[0])
    trace = explorer.trace(TEXT)
    assert len(words_of_neuron(explorer, 0, 0, top_k=3).promoted_ids) == 3
    with pytest.raises(CheckpointError, match="MLM"):
        words_of_neuron_here(explorer, trace, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("layer", lambda e, t: strongest_neurons(e, t, LAYERS, 0)),
        ("token", lambda e, t: strongest_neurons(e, t, 0, 9)),
        ("order", lambda e, t: strongest_neurons(e, t, 0, 0, order="size")),
        ("neuron", lambda e, t: neuron_activations(e, t, 0, NEURONS)),
        ("neuron", lambda e, t: words_of_neuron(e, 0, -1)),
        ("layer", lambda e, t: words_of_neuron(e, -1, 0)),
        ("token", lambda e, t: words_of_neuron_here(e, t, 0, 0, -1)),
        ("layers", lambda e, t: neuron_factors(e, t, 2, 0, layers=())),
        ("layer", lambda e, t: neuron_factors(e, t, 2, 0, layers=(3,))),
    ],
)
def test_what_there_is_not_is_refused(case, name, call):
    with pytest.raises(ValueError, match=f"`{name}`"):
        call(case.explorer, case.trace)
