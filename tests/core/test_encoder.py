"""Feed-forward and encoder block against the oracle, both orders of the norm."""

import dataclasses

import numpy as np
import pytest
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model.encoder import EncoderBlock, FeedForward
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    PRE_NORM,
    TOKENS,
    agree,
    evaluate,
    random_inputs,
    set_block,
    set_feed_forward,
)


@pytest.fixture(scope="module")
def weights():
    return oracle.random_weights(CONFIG, seed=7)["layers"][2]


@pytest.fixture(scope="module")
def vectors():
    shape = (BATCH, TOKENS, CONFIG.hidden_size)
    return np.random.default_rng(8).normal(size=shape).astype("float32")


@pytest.fixture(scope="module")
def mask():
    return random_inputs()["attention_mask"]


def block_layer(weights, config):
    layer = EncoderBlock(config)
    layer.build()
    set_block(layer, weights)
    return layer


@pytest.mark.parametrize("activation", sorted(oracle.ACTIVATIONS))
def test_feed_forward_matches_the_formula(weights, vectors, activation):
    config = dataclasses.replace(CONFIG, hidden_act=activation)
    layer = FeedForward(config)
    layer.build()
    set_feed_forward(layer, weights)
    expected = oracle.feed_forward(weights, config, vectors.astype("float64"))
    agree(evaluate(layer, vectors), expected)


@pytest.mark.parametrize("config", [CONFIG, PRE_NORM], ids=["post-norm", "pre-norm"])
def test_block_matches_the_formula(weights, vectors, mask, config):
    expected = [
        oracle.block(weights, config, text.astype("float64"), keep)
        for text, keep in zip(vectors, mask, strict=True)
    ]
    states, probs = evaluate(block_layer(weights, config), vectors, mask)
    agree(states, [text[0] for text in expected])
    agree(probs, [text[1] for text in expected])


@pytest.mark.parametrize("part", ["attention", "feed-forward"])
def test_dropout_acts_on_each_update_and_not_on_what_it_is_added_to(
    weights, vectors, mask, part
):
    """With one of the two updates made 0, the other is 0 or scaled up."""
    config = dataclasses.replace(PRE_NORM, attention_probs_dropout_prob=0.0)
    layer = block_layer(weights, config)
    silent = (
        layer.feed_forward.output_projection
        if part == "attention"
        else layer.attention_output
    )
    silent.kernel.assign(np.zeros(silent.kernel.shape))
    silent.bias.assign(np.zeros(silent.bias.shape))
    whole = evaluate(layer, vectors, mask)[0] - vectors
    update = to_numpy(layer(vectors, mask, training=True)[0]) - vectors
    is_dropped = np.abs(update) < 1e-7
    assert is_dropped.mean() == pytest.approx(config.hidden_dropout_prob, abs=0.1)
    scaled = whole / (1 - config.hidden_dropout_prob)
    agree(update[~is_dropped], scaled[~is_dropped])
