"""The switched model equals one that was made with the other curve."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, ConfigError, TextError
from bertviz_core.experiments.gelu_switch import switch_gelu
from bertviz_core.weights import as_numpy
from tests.core.brute_force import OracleWords, log_softmax
from tests.core.random_models import (
    CONFIG,
    PRE_NORM,
    VOCABULARY,
    explorer_of,
    random_model,
)

TEXT = "the [MASK] sat [MASK] ."
OTHER = {"gelu": "gelu_new", "gelu_new": "gelu"}


# Each curve and each order of the norm once: neither depends on the other.
KINDS = {
    "post-norm": (CONFIG, "gelu"),
    "pre-norm": (PRE_NORM, "gelu_new"),
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(scope="module")
def activation(kind):
    return kind[1]


@pytest.fixture(scope="module")
def made(kind):
    """A model with large neurons, where the two curves differ, and its weights."""
    config, activation = kind
    model, weights = random_model(dataclasses.replace(config, hidden_act=activation))
    for block, layer in zip(model.blocks, weights["layers"], strict=True):
        kernel, bias = layer["inner"]
        layer["inner"] = (kernel * 2, bias)
        block.feed_forward.intermediate.kernel.assign(kernel * 2)
    return model, weights


@pytest.fixture(scope="module")
def explorer(made):
    return explorer_of(made[0])


def test_both_predictions_equal_the_oracles(made, explorer, activation):
    model, weights = made
    found = switch_gelu(explorer, TEXT, top_k=4)
    assert (found.own_activation, found.other_activation) == (
        activation,
        OTHER[activation],
    )
    text, both = found.tokenized, []
    for name, logits in (
        (activation, found.own_logits),
        (OTHER[activation], found.other_logits),
    ):
        words = OracleWords((model, weights))
        words.config = dataclasses.replace(model.config, hidden_act=name)
        rows = [
            words.log_probs(text.input_ids, text.token_type_ids, position)
            for position in found.positions
        ]
        both.append(np.array(rows))
        own = logits.astype("float64")
        own -= np.log(np.exp(own).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(own, rows, atol=1e-5)
    assert np.abs(both[0] - both[1]).max() > 1e-4, "the curves must differ to test this"
    for side, log_probs in enumerate(both):
        order = np.argsort(-log_probs, axis=1)[:, :4]
        np.testing.assert_array_equal(found.top_ids[side], order)
        np.testing.assert_allclose(
            found.top_log_probs[side],
            np.take_along_axis(log_probs, order, 1),
            atol=1e-5,
        )
        names = (*VOCABULARY, "[row 21]", "[row 22]")
        for row, tokens in zip(order, found.top_tokens[side], strict=True):
            assert tokens == tuple(names[i] for i in row)


def test_the_divergence_is_that_of_the_two_predictions(explorer):
    found = switch_gelu(explorer, TEXT)
    for row, (own, other) in enumerate(
        zip(found.own_logits, found.other_logits, strict=True)
    ):
        p, q = (log_softmax(logits.astype("float64")) for logits in (own, other))
        bits = sum(np.exp(x) * (x - y) for x, y in zip(p, q, strict=True)) / np.log(2)
        assert bits > 0
        assert found.divergence_bits[row] == pytest.approx(bits, rel=1e-5)


def test_the_largest_difference_is_between_logits_of_one_word(explorer):
    found = switch_gelu(explorer, TEXT)
    difference = np.abs(found.own_logits - found.other_logits)
    np.testing.assert_allclose(
        found.largest_differences, difference.max(axis=1), rtol=1e-6
    )


def test_the_served_model_is_not_changed(made, activation):
    model = made[0]
    explorer = explorer_of(model)
    before = explorer.predict_masks(TEXT).logits
    weights = [as_numpy(weight) for weight in model.weights]
    own = switch_gelu(explorer, TEXT).own_logits
    fresh = explorer_of(model).predict_masks(TEXT).logits
    np.testing.assert_array_equal(before, own)
    np.testing.assert_array_equal(before, fresh)
    for weight, old in zip(model.weights, weights, strict=True):
        np.testing.assert_array_equal(as_numpy(weight), old)
    assert model.config.hidden_act == activation


def test_new_weights_of_the_served_model_count_at_once(activation):
    model, _ = random_model(dataclasses.replace(CONFIG, hidden_act=activation))
    explorer = explorer_of(model)
    before = switch_gelu(explorer, TEXT).other_logits
    model.mlm.bias.assign(as_numpy(model.mlm.bias) + 1)
    np.testing.assert_allclose(
        switch_gelu(explorer, TEXT).other_logits, before + 1, atol=1e-5
    )


def test_another_activation_has_no_twin():
    explorer = explorer_of(
        random_model(dataclasses.replace(CONFIG, hidden_act="relu"))[0]
    )
    with pytest.raises(ConfigError, match="hidden_act=relu"):
        switch_gelu(explorer, TEXT)


def test_a_text_without_masks_is_refused(explorer):
    with pytest.raises(TextError, match="no \\[MASK\\]"):
        switch_gelu(explorer, "the cat")


def test_a_model_without_the_head_is_refused():
    explorer = explorer_of(random_model(heads=("pooler",))[0])
    with pytest.raises(CheckpointError, match="MLM"):
        switch_gelu(explorer, TEXT)
