"""Neurons, their factors and the residual stream, against the oracle and by hand."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.neuron_factors import _factorised, neuron_factors
from bertviz_core.experiments.neurons import (
    neuron_activations,
    strongest_neurons,
    words_of_neuron,
    words_of_neuron_here,
)
from bertviz_core.experiments.residual_stream import layer_similarity, residual_stream
from tests.core import oracle
from tests.core.cause_models import explorer_named
from tests.core.random_models import CONFIG, NAMES, agree, explorer_of, random_model
from tests.core.traced_models import traced

TEXT = "The cats [MASK] on a mat"  # 9 tokens with those that are added
LAYERS, NEURONS = CONFIG.num_hidden_layers, CONFIG.intermediate_size


@pytest.fixture(scope="module")
def case(any_norm):
    return traced(any_norm, TEXT)


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
    inputs, activations = neuron_activations(case.explorer, case.trace, 2, 11)
    noted = case.steps(2)
    agree(inputs, noted["mlp.pre"][:, 11], 2e-6)
    agree(activations, noted["mlp.post"][:, 11], 2e-6)


def test_words_by_weights_alone_are_products_with_the_embeddings(case):
    row = case.weights["layers"][1]["outer"][0][7]
    changes = np.array([row @ word for word in case.weights["words"]])
    order = np.argsort(-changes)
    found = words_of_neuron(case.explorer, 1, 7, top_k=6)
    agree(found.promoted_changes, changes[order[:6]], 2e-6)
    agree(found.suppressed_changes, changes[order[::-1][:6]], 2e-6)
    assert found.promoted_tokens == tuple(NAMES[index] for index in order[:6])
    assert found.suppressed_tokens == tuple(NAMES[index] for index in order[::-1][:6])


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
    assert found.promoted_tokens == tuple(NAMES[i] for i in np.argsort(-changes))
    # A difference of two logits that are up to 10.
    agree(found.promoted_changes, np.sort(changes)[::-1], 5e-6)
    agree(found.suppressed_changes, np.sort(changes), 5e-6)


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
    assert len(words_of_neuron(explorer, 0, 0, top_k=3).promoted_tokens) == 3
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


RNG = np.random.default_rng(8)
# Three parts that share no row and no column: only one factorisation fits.
BLOCKS = np.zeros((9, 14))
BLOCKS[:2, :6], BLOCKS[2:5, 6:8], BLOCKS[5:, 8:] = 2.5, 3.0, 1.0
NOISE = RNG.uniform(0, 1, (9, 14))


def test_parts_that_share_nothing_are_found_again_largest_first():
    # A start may lead to a worse end: one part twice, two parts as one.
    ends = [_factorised(BLOCKS, 3, seed) for seed in range(6)]
    weights, factors, _ = min(ends, key=lambda end: left_out(BLOCKS, *end[:2]))
    np.testing.assert_allclose(weights @ factors, BLOCKS, atol=1e-3)
    held = [np.flatnonzero(row > 1e-2).tolist() for row in factors]
    assert held == [list(range(6)), list(range(6, 8)), list(range(8, 14))]
    rows = [np.flatnonzero(column > 1e-2).tolist() for column in weights.T]
    assert rows == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]


def left_out(matrix, weights, factors):
    return np.linalg.norm(matrix - weights @ factors) / np.linalg.norm(matrix)


def test_nothing_is_negative_and_factors_have_length_1():
    weights, factors, num_rounds = _factorised(NOISE, 5, seed=0)
    assert min(weights.min(), factors.min()) >= 0
    np.testing.assert_allclose(np.linalg.norm(factors, axis=1), 1)
    assert (np.diff(np.linalg.norm(weights, axis=0)) <= 0).all()
    assert 1 < num_rounds <= 200


def test_a_search_that_ends_too_early_does_not_warn(monkeypatch):
    monkeypatch.setattr("bertviz_core.experiments.neuron_factors._MOST_ROUNDS", 3)
    assert _factorised(NOISE, 4, seed=0)[2] == 3


def test_every_number_is_that_of_the_oracles_vectors(case):
    trace, tokens = case.trace, case.trace.tokenized.tokens
    with pytest.raises(ValueError, match="hidden_states"):
        residual_stream(case.explorer, trace.only(("nsp_logits",)))
    found = residual_stream(case.explorer, trace)
    assert found.residual_norms.shape == (LAYERS, len(tokens))
    assert (found.tokens, found.pre_norm) == (tokens, case.config.pre_norm)

    def lengths(x):
        return np.sqrt((x * x).sum(axis=1))

    def cosines(x, y):
        return (x * y).sum(axis=1) / lengths(x) / lengths(y)

    for layer in range(LAYERS):
        noted = case.steps(layer)
        x, middle = noted["input"], noted["kept"]
        attention, update = noted["attention.output"], noted["mlp.output"]
        for name, expected in {
            "residual_norms": lengths(x),
            "attention_norms": lengths(attention),
            "attention_cosines": cosines(attention, x),
            "middle_norms": lengths(middle),
            "feed_forward_norms": lengths(update),
            "feed_forward_cosines": cosines(update, middle),
            "output_norms": lengths(noted["output"]),
            "sum_norms": [lengths(x + attention), lengths(middle + update)],
        }.items():
            shown = getattr(found, name)[layer]
            np.testing.assert_allclose(shown, expected, 1e-6, 1e-6, err_msg=name)


def test_an_update_of_nothing_has_no_direction():
    model, _ = random_model(seed=5)
    outer = model.blocks[1].feed_forward.output_projection
    outer.kernel.assign(np.zeros(outer.kernel.shape))
    outer.bias.assign(np.zeros(outer.bias.shape))
    explorer = explorer_of(model)
    found = residual_stream(explorer, explorer.trace(TEXT))
    assert not found.feed_forward_norms[1].any()
    assert np.isnan(found.feed_forward_cosines[1]).all()
    assert np.isfinite(found.feed_forward_cosines[[0, 2]]).all()


def test_the_similarity_of_layers_has_a_row_for_each(explorer):
    found = layer_similarity(explorer.trace(TEXT))
    assert found.shape == (4, 4)
    np.testing.assert_allclose(np.diag(found), 1)
    assert np.abs(
        layer_similarity(explorer.trace("the cats", "a mat")) - found
    ).max() > (1e-3)
