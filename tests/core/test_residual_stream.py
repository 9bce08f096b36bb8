"""Lengths and cosines of the residual stream against the oracle's vectors."""

import math

import numpy as np
import pytest

from bertviz_core.experiments.residual_stream import residual_stream
from tests.core import oracle
from tests.core.random_models import CONFIG, explorer_of, random_model

TEXT = "the cats [MASK] on a mat"


def length(vector):
    return math.sqrt(sum(value * value for value in vector))


def cosine(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True)) / (length(x) * length(y))


def test_every_number_is_that_of_the_oracles_vectors(any_norm_model):
    model, weights = any_norm_model
    config = model.config
    explorer = explorer_of(model)
    trace = explorer.trace(TEXT)
    found = residual_stream(explorer, trace)
    tokens = trace.tokenized.num_tokens
    assert found.residual_norms.shape == (CONFIG.num_hidden_layers, tokens)
    assert found.tokens == trace.tokenized.tokens
    assert found.pre_norm == config.pre_norm

    def norm(part, x):
        return oracle.layer_norm(x, *part, config.layer_norm_eps)

    for index, layer in enumerate(weights["layers"]):
        x = trace.hidden_states[index].astype("float64")
        source = norm(layer["attention_norm"], x) if config.pre_norm else x
        context, _, _ = oracle.attention(
            layer, config.num_attention_heads, source, np.ones(tokens)
        )
        attention = oracle.dense(context, *layer["attention_output"])
        middle = x + attention
        if config.pre_norm:
            enters = norm(layer["output_norm"], middle)
        else:
            enters = middle = norm(layer["attention_norm"], middle)
        update = oracle.feed_forward(layer, config, enters)
        for token in range(tokens):
            expected = {
                "residual_norms": length(x[token]),
                "attention_norms": length(attention[token]),
                "attention_cosines": cosine(attention[token], x[token]),
                "middle_norms": length(middle[token]),
                "feed_forward_norms": length(update[token]),
                "feed_forward_cosines": cosine(update[token], middle[token]),
            }
            for name, value in expected.items():
                shown = getattr(found, name)[index, token]
                assert shown == pytest.approx(value, rel=1e-6, abs=1e-6), name
    outputs = np.linalg.norm(trace.hidden_states[1:], axis=-1)
    np.testing.assert_allclose(found.output_norms, outputs, rtol=1e-5)
    np.testing.assert_allclose(
        found.residual_norms[1:], found.output_norms[:-1], rtol=1e-5
    )


def test_the_law_of_cosines_holds_in_a_pre_norm_model(pre_norm_model):
    """Nothing but the two updates changes the residual there."""
    explorer = explorer_of(pre_norm_model[0])
    found = residual_stream(explorer, explorer.trace(TEXT))

    def of_sum(x, update, cosines):
        return np.sqrt(x**2 + update**2 + 2 * x * update * cosines)

    middle = of_sum(
        found.residual_norms, found.attention_norms, found.attention_cosines
    )
    np.testing.assert_allclose(found.middle_norms, middle, rtol=1e-6)
    output = of_sum(middle, found.feed_forward_norms, found.feed_forward_cosines)
    np.testing.assert_allclose(found.output_norms, output, rtol=1e-6)


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


def test_hidden_states_are_needed(explorer):
    trace = explorer.trace(TEXT).only(("nsp_logits",))
    with pytest.raises(ValueError, match="hidden_states"):
        residual_stream(explorer, trace)
