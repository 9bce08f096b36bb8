"""What must hold of single layers; `test_taps` holds all their formulas."""

import dataclasses

import numpy as np
import pytest
from keras.backend import standardize_dtype
from keras.ops import cast
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model.attention import SelfAttention
from bertviz_core.model.embeddings import Embeddings
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.layers import ACTIVATIONS, LayerNorm
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    PRE_NORM,
    TOKENS,
    agree,
    evaluate,
    random_inputs,
    random_interventions,
    set_attention,
    set_block,
    set_embeddings,
    set_norm,
)

HEADS = CONFIG.num_attention_heads


@pytest.fixture(scope="module")
def weights():
    return oracle.random_weights(CONFIG, seed=1)


@pytest.fixture(scope="module")
def vectors():
    shape = (BATCH, TOKENS, CONFIG.hidden_size)
    return np.random.default_rng(2).normal(0.5, 2.0, shape).astype("float32")


@pytest.fixture(scope="module")
def mask():
    return random_inputs()["attention_mask"]


def built(layer, set_weights, weights):
    layer.build()
    set_weights(layer, weights)
    return layer


def silence(dense, value=0.0):
    dense.kernel.assign(np.zeros(dense.kernel.shape))
    dense.bias.assign(np.full(dense.bias.shape, value))


def test_layer_norm_of_equal_numbers_is_its_bias(weights):
    layer = built(LayerNorm(CONFIG), set_norm, weights["embedding_norm"])
    flat = np.full((3, CONFIG.hidden_size), 7.5, "float32")
    agree(evaluate(layer, flat), np.tile(weights["embedding_norm"][1], (3, 1)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layer_norm_of_a_half_precision_model_is_computed_in_float32(
    weights, vectors, dtype
):
    """Only the result is rounded: neither the variance nor the gain."""
    norm = weights["embedding_norm"]
    layer = built(LayerNorm(CONFIG, dtype=f"mixed_{dtype}"), set_norm, norm)
    # A mean far from 0 ruins a variance in half precision.
    x = cast(vectors + 40.0, dtype)
    exact = to_numpy(cast(x, "float32")).astype("float64")
    expected = oracle.layer_norm(exact, *norm, CONFIG.layer_norm_eps)
    result = layer(x)
    assert standardize_dtype(result.dtype) == dtype
    rounded = to_numpy(cast(cast(expected.astype("float32"), dtype), "float32"))
    actual = to_numpy(cast(result, "float32"))
    # A number on the edge between two roundings may fall to either side.
    assert (actual != rounded).mean() < 0.01
    agree(actual, rounded, atol=np.abs(expected).max() * 2.0**-7)


@pytest.mark.parametrize("name", sorted(oracle.ACTIVATIONS))
def test_activation_matches_the_formula(name):
    assert set(ACTIVATIONS) == set(oracle.ACTIVATIONS)
    assert dataclasses.replace(CONFIG, hidden_act=name).hidden_act == name
    x = np.linspace(-9, 9, 1001, dtype="float32")
    expected = oracle.ACTIVATIONS[name](x.astype("float64"))
    agree(evaluate(ACTIVATIONS[name], x), expected, 1e-6)


def test_embeddings_take_positions_of_each_text(weights):
    """As packed rows need them, which hold several texts."""
    layer, inputs = built(Embeddings(CONFIG), set_embeddings, weights), random_inputs()
    ids, types = inputs["input_ids"][:1], inputs["token_type_ids"][:1]
    places = np.array([[0, 1, 2, 0, 1, 2, 3, 4]], "int32")
    packed = evaluate(layer, ids, types, places)[0]
    agree(packed[:3], evaluate(layer, ids[:, :3], types[:, :3])[0])
    agree(packed[3:], evaluate(layer, ids[:, 3:], types[:, 3:])[0])


def assert_dropped(dropped, whole, rate):
    """A dropped number is 0 and the others are scaled."""
    is_dropped = np.abs(dropped) < 1e-7
    assert is_dropped.mean() == pytest.approx(rate, abs=0.1)
    agree(dropped[~is_dropped], (whole / (1 - rate))[~is_dropped])


def test_embeddings_drop_after_the_norm(weights):
    layer, inputs = built(Embeddings(CONFIG), set_embeddings, weights), random_inputs()
    ids, types = inputs["input_ids"], inputs["token_type_ids"]
    kept = evaluate(layer, ids, types, training=False)
    dropped = to_numpy(layer(ids, types, training=True))
    assert_dropped(dropped, kept, CONFIG.hidden_dropout_prob)


@pytest.mark.parametrize("part", ["attention", "feed-forward"])
def test_a_block_drops_each_update_and_not_what_it_is_added_to(
    weights, vectors, mask, part
):
    config = dataclasses.replace(PRE_NORM, attention_probs_dropout_prob=0.0)
    layer = built(EncoderBlock(config), set_block, weights["layers"][2])
    is_attention = part == "attention"
    other = layer.feed_forward.output_projection
    silence(other if is_attention else layer.attention_output)
    whole = evaluate(layer, vectors, mask)[0] - vectors
    update = to_numpy(layer(vectors, mask, training=True)[0]) - vectors
    assert_dropped(update, whole, config.hidden_dropout_prob)


@pytest.fixture(scope="module")
def attention(weights):
    return built(SelfAttention(CONFIG), set_attention, weights["layers"][1])


@pytest.mark.parametrize("axis", range(4))
def test_one_row_of_a_mask_serves_all(attention, vectors, axis):
    edges = random_interventions("edge_mask")["edge_mask"][:, 0].take([0], axis)
    everywhere = np.broadcast_to(edges, (BATCH, HEADS, TOKENS, TOKENS)).copy()
    pairs = (evaluate(attention, vectors, given) for given in (edges, everywhere))
    for one, other in zip(*pairs, strict=True):
        agree(one, other, 1e-6)


def test_padding_gets_no_attention_and_rows_sum_to_one(attention, vectors, mask):
    _, probs = evaluate(attention, vectors, mask)
    padding = np.broadcast_to(mask[:, None, None, :] == 0, probs.shape)
    assert padding.any()
    assert probs[padding].max() == 0.0
    mask = mask.copy()
    mask[3] = 0  # a text that is all padding
    _, probs = evaluate(attention, vectors, mask)
    agree(probs.sum(-1), np.ones((BATCH, HEADS, TOKENS)), 1e-6)


def test_attention_drops_whole_probabilities_after_they_are_handed_out(
    weights, vectors, mask
):
    layer = built(SelfAttention(CONFIG), set_attention, weights["layers"][1])
    # With every value 1, a context is the sum of the row that dropout left.
    silence(layer.value, 1.0)
    context, handed = (to_numpy(a) for a in layer(vectors, mask, training=True))
    probs = evaluate(layer, vectors, mask)[1]
    agree(handed, probs, 1e-6)
    by_head = context.reshape(BATCH, TOKENS, HEADS, CONFIG.head_size)
    agree(by_head, np.broadcast_to(by_head[..., :1], by_head.shape), 1e-6)
    scale = 1 / (1 - CONFIG.attention_probs_dropout_prob)
    subsets = (np.arange(2**TOKENS)[:, None] >> np.arange(TOKENS)) & 1
    sums = scale * subsets @ probs[4, 0, 0]
    assert np.abs(sums - by_head[4, 0, 0, 0]).min() < 1e-5
    assert np.abs(by_head - 1).max() > 0.1
