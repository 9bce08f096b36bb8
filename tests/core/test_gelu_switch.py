"""The switched model equals one that was made with the other curve."""

import dataclasses

import numpy as np
import pytest
from scipy.special import log_softmax

from bertviz_core import explorer as explorer_module
from bertviz_core.errors import CheckpointError, ConfigError, TextError
from bertviz_core.experiments.gelu_switch import OTHER, switch_gelu
from bertviz_core.weights import as_numpy
from tests.core.brute_force import OracleWords
from tests.core.cause_models import explorer_named
from tests.core.random_models import (
    CONFIG,
    PRE_NORM,
    VOCABULARY,
    explorer_of,
    random_model,
)
from tests.core.traced_models import traced

TEXT = "the [MASK] sat [MASK] ."


# Each curve and each order of the norm once: neither depends on the other.
KINDS = {"post-norm": (CONFIG, "gelu"), "pre-norm": (PRE_NORM, "gelu_new")}


@pytest.fixture(scope="module", params=KINDS)
def made(request):
    """A model with large neurons, where the two curves differ, and its weights."""
    config, activation = KINDS[request.param]
    model, weights = random_model(dataclasses.replace(config, hidden_act=activation))
    for block, layer in zip(model.blocks, weights["layers"], strict=True):
        kernel, bias = layer["inner"]
        layer["inner"] = (kernel * 2, bias)
        block.feed_forward.intermediate.kernel.assign(kernel * 2)
    return model, weights, explorer_of(model)


def test_both_predictions_equal_the_oracles(made):
    model, weights, explorer = made
    found = switch_gelu(explorer, TEXT, top_k=4)
    names = (found.own_activation, found.other_activation)
    own = model.config.hidden_act
    assert names == (own, {"gelu": "gelu_new", "gelu_new": "gelu"}[own])
    text, both = found.tokenized, []
    for name, logits in zip(names, (found.own_logits, found.other_logits), strict=True):
        words = OracleWords((model, weights))
        words.config = dataclasses.replace(model.config, hidden_act=name)
        rows = [
            words.log_probs(text.input_ids, text.token_type_ids, position)
            for position in found.positions
        ]
        both.append(np.array(rows))
        found_rows = [log_softmax(row.astype("float64")) for row in logits]
        np.testing.assert_allclose(found_rows, rows, atol=1e-5)
    assert np.abs(both[0] - both[1]).max() > 1e-4, "the curves must differ to test this"
    p, q = both
    bits = (np.exp(p) * (p - q)).sum(axis=1) / np.log(2)
    np.testing.assert_allclose(found.divergence_bits, bits, atol=1e-6)
    difference = np.abs(found.own_logits - found.other_logits).max(axis=1)
    np.testing.assert_allclose(found.largest_differences, difference, rtol=1e-6)
    tokens = (*VOCABULARY, "[row 21]", "[row 22]")
    for side, log_probs in enumerate(both):
        order = np.argsort(-log_probs, axis=1)[:, :4]
        np.testing.assert_array_equal(found.top_ids[side], order)
        best = np.take_along_axis(log_probs, order, 1)
        np.testing.assert_allclose(found.top_log_probs[side], best, atol=1e-5)
        for row, said in zip(order, found.top_tokens[side], strict=True):
            assert said == tuple(tokens[i] for i in row)


def test_the_served_model_is_not_changed_and_a_small_twin_is_kept(made, monkeypatch):
    model, _, explorer = made
    activation = model.config.hidden_act
    weights = [as_numpy(weight) for weight in model.weights]
    before = explorer.predict_masks(TEXT).logits
    switched = switch_gelu(explorer, TEXT)
    np.testing.assert_array_equal(before, switched.own_logits)
    for weight, old in zip(model.weights, weights, strict=True):
        np.testing.assert_array_equal(as_numpy(weight), old)
    assert model.config.hidden_act == activation
    # New weights count at once where they do in the model's own pass; else in neither.
    bias = as_numpy(model.mlm.bias)
    model.mlm.bias.assign(bias + 1)
    again = switch_gelu(explorer, TEXT)
    np.testing.assert_array_equal(again.own_logits, switched.own_logits)
    np.testing.assert_array_equal(again.other_logits, switched.other_logits)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("bertviz_core.model.compile.uses_openvino", lambda: False)
        elsewhere.setattr(explorer, "_form", None)
        again = switch_gelu(explorer, TEXT)
        assert explorer._form is None
    model.mlm.bias.assign(bias)
    np.testing.assert_allclose(again.other_logits, switched.other_logits + 1, atol=1e-5)
    kept = explorer.forward_with(hidden_act=OTHER[activation])
    assert explorer.forward_with(hidden_act=OTHER[activation]) is kept
    assert explorer.forward_with(hidden_act=activation) is not kept
    monkeypatch.setattr(explorer_module, "_MOST_TWICE", model.count_params() - 1)
    one, other = (explorer.forward_with(hidden_act="relu") for _ in range(2))
    assert one is not other


def test_what_has_no_twin_or_no_mask_is_refused(made):
    relu = traced("pre-norm, relu, sparse", TEXT).explorer
    for explorer, text, error, said in (
        (relu, TEXT, ConfigError, "hidden_act=relu"),
        (made[2], "the cat", TextError, "no \\[MASK\\]"),
        (explorer_named("headless"), TEXT, CheckpointError, "MLM"),
    ):
        with pytest.raises(error, match=said):
            switch_gelu(explorer, text)
