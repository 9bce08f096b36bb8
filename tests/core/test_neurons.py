"""Neurons against the oracle, against switches, and against a forward pass without."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.neurons import (
    neuron_activations,
    strongest_neurons,
    words_of_neuron,
    words_of_neuron_here,
)
from tests.core import oracle
from tests.core.cause_models import explorer_named
from tests.core.random_models import (
    CONFIG,
    VOCABULARY,
    agree,
    explorer_of,
    random_model,
)
from tests.core.traced_models import Traced

TEXT = "The cats [MASK] on a mat"  # 9 tokens with those that are added
LAYERS, NEURONS = CONFIG.num_hidden_layers, CONFIG.intermediate_size


@pytest.fixture(scope="module")
def case(any_norm_model, any_norm_explorer):
    (model, weights), explorer = any_norm_model, any_norm_explorer
    return Traced(model.config, weights, explorer, explorer.trace(TEXT))


@pytest.mark.parametrize("layer", range(LAYERS))
def test_the_strongest_neurons_come_first(case, layer):
    token = 4
    activations = case.steps(layer)["mlp.post"][token]
    found = strongest_neurons(case.explorer, case.trace, layer, token, 5)
    order = sorted(range(NEURONS), key=lambda neuron: -activations[neuron])[:5]
    assert found.neurons.tolist() == order
    agree(found.activations, activations[order], 2e-6)
    kernel = case.weights["layers"][layer]["outer"][0]
    added = [np.linalg.norm(activations[i] * kernel[i]) for i in order]
    agree(found.contributions, added, 2e-6)


def test_by_contribution_a_negative_activation_can_lead(case):
    kernel = case.weights["layers"][1]["outer"][0]
    activations = case.steps(1)["mlp.post"][2]
    added = np.linalg.norm(activations[:, None] * kernel, axis=1)
    found = strongest_neurons(
        case.explorer, case.trace, 1, 2, NEURONS + 4, order="contribution"
    )
    assert len(found.neurons) == NEURONS
    agree(found.contributions, sorted(added)[::-1], 2e-6)
    agree(found.activations, activations[found.neurons], 2e-6)


def test_one_neuron_is_shown_at_all_tokens(case):
    found = neuron_activations(case.explorer, case.trace, 2, 11)
    noted = case.steps(2)
    agree(found.inputs, noted["mlp.pre"][:, 11], 2e-6)
    agree(found.activations, noted["mlp.post"][:, 11], 2e-6)
    assert found.tokens == case.trace.tokenized.tokens


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
    noted = case.steps(layer)
    without = noted["mlp.post"].copy()
    without[:, neuron] = 0
    logits = [
        oracle.mlm(case.weights, case.config, case.last_norm(steps["output"])[token])
        for steps in (noted, case.steps(layer, {"mlp.post": without}))
    ]
    changes = logits[0] - logits[1]
    found = words_of_neuron_here(
        case.explorer, case.trace, layer, neuron, token, CONFIG.vocab_size
    )
    assert found.promoted_ids.tolist() == np.argsort(-changes).tolist()
    # A difference of two logits that are up to 10.
    agree(found.promoted_changes, np.sort(changes)[::-1], 5e-6)
    agree(found.suppressed_changes, np.sort(changes), 5e-6)
    assert (found.reading, found.token) == ("head", token)


def test_factors_are_those_of_the_positive_activations_of_the_layers(case):
    def factors(seed):
        return neuron_factors(case.explorer, case.trace, 3, seed, (2, 0), top_k=4)

    found = factors(2)
    np.testing.assert_array_equal(found.weights, factors(2).weights)
    assert (found.weights != factors(3).weights).any()
    every = np.concatenate([case.steps(i)["mlp.post"] for i in (2, 0)], axis=1)
    positive = np.maximum(every, 0)
    assert found.weights.shape == (3, case.trace.tokenized.num_tokens)
    left_out = np.linalg.norm(np.minimum(every, 0)) / np.linalg.norm(every)
    assert found.negative_share == pytest.approx(left_out)
    values = np.linalg.svd(positive, compute_uv=False)
    least = np.sqrt(np.square(values[3:]).sum()) / np.linalg.norm(positive)
    assert least < found.error < 1
    assert found.top_neurons.shape == (3, 4, 2)
    assert set(found.top_neurons[..., 0].ravel()) <= {0, 2}


def test_with_one_factor_the_top_neurons_are_those_of_the_singular_vector(case):
    found = neuron_factors(case.explorer, case.trace, 1, seed=5, top_k=6)
    every = np.concatenate([case.steps(i)["mlp.post"] for i in range(LAYERS)], axis=1)
    vector = np.abs(np.linalg.svd(np.maximum(every, 0))[2][0])
    top = np.argsort(-vector)[:6]
    pairs = [[index // NEURONS, index % NEURONS] for index in top]
    assert found.layers == (0, 1, 2)
    assert found.top_neurons[0].tolist() == pairs
    np.testing.assert_allclose(found.top_shares[0], vector[top], atol=1e-3)


def test_neurons_that_never_fire_leave_nothing_out():
    config = dataclasses.replace(CONFIG, hidden_act="relu")
    model, _ = random_model(config, seed=4)
    model.blocks[1].feed_forward.intermediate.bias.assign(np.full(NEURONS, -1e3))
    explorer = explorer_of(model)
    found = neuron_factors(explorer, explorer.trace(TEXT), 2, seed=0, layers=(1,))
    assert (found.error, found.negative_share) == (0, 0)


def test_a_model_without_the_head_reads_by_weights_alone():
    explorer = explorer_named("headless")
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
