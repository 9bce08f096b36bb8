"""Lengths and cosines of the residual stream against the oracle's vectors."""

import numpy as np
import pytest

from bertviz_core.experiments.residual_stream import layer_similarity, residual_stream
from tests.core.random_models import explorer_of, random_model
from tests.core.traced_models import Traced

TEXT = "the cats [MASK] on a mat"


def test_every_number_is_that_of_the_oracles_vectors(any_norm_model, any_norm_explorer):
    (model, weights), explorer = any_norm_model, any_norm_explorer
    trace = explorer.trace(TEXT)
    with pytest.raises(ValueError, match="hidden_states"):
        residual_stream(explorer, trace.only(("nsp_logits",)))
    found = residual_stream(explorer, trace)
    num_layers, tokens = model.config.num_hidden_layers, trace.tokenized.tokens
    assert found.residual_norms.shape == (num_layers, len(tokens))
    assert (found.tokens, found.pre_norm) == (tokens, model.config.pre_norm)
    case = Traced(model.config, weights, explorer, trace)

    def lengths(x):
        return np.sqrt((x * x).sum(axis=1))

    def cosines(x, y):
        return (x * y).sum(axis=1) / lengths(x) / lengths(y)

    for layer in range(num_layers):
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
