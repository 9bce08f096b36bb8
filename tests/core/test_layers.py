"""Projection, layer norm, activations and embeddings against the oracle."""

import dataclasses

import numpy as np
import pytest
from keras.backend import standardize_dtype
from keras.ops import cast
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model.embeddings import Embeddings
from bertviz_core.model.layers import ACTIVATIONS, Dense, LayerNorm
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    TOKENS,
    agree,
    evaluate,
    random_inputs,
    set_dense,
    set_embeddings,
    set_norm,
)

RNG_SEED = 2


@pytest.fixture
def rng():
    return np.random.default_rng(RNG_SEED)


@pytest.fixture
def vectors(rng):
    shape = (BATCH, TOKENS, CONFIG.hidden_size)
    return rng.normal(0.5, 2.0, shape).astype("float32")


@pytest.fixture(scope="module")
def weights():
    return oracle.random_weights(CONFIG, seed=1)


def layer_norm_layer(weights, **arguments):
    layer = LayerNorm(CONFIG, **arguments)
    layer.build()
    set_norm(layer, weights["embedding_norm"])
    return layer


def embedding_layer(weights):
    layer = Embeddings(CONFIG)
    layer.build()
    set_embeddings(layer, weights)
    return layer


def test_dense_maps_the_last_axis(weights, vectors):
    layer = Dense(CONFIG.hidden_size, CONFIG.intermediate_size, "zeros")
    layer.build()
    inner = weights["layers"][0]["inner"]
    set_dense(layer, inner)
    agree(evaluate(layer, vectors), oracle.dense(vectors, *inner))


def test_layer_norm_matches_the_formula(weights, vectors):
    expected = oracle.layer_norm(
        vectors.astype("float64"), *weights["embedding_norm"], CONFIG.layer_norm_eps
    )
    agree(evaluate(layer_norm_layer(weights), vectors), expected)


def test_layer_norm_of_equal_numbers_is_its_bias(weights):
    flat = np.full((3, CONFIG.hidden_size), 7.5, "float32")
    bias = weights["embedding_norm"][1]
    agree(evaluate(layer_norm_layer(weights), flat), np.tile(bias, (3, 1)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layer_norm_of_a_half_precision_model_is_computed_in_float32(
    weights, vectors, dtype
):
    """Only the result is rounded: neither the variance nor the gain."""
    layer = layer_norm_layer(weights, dtype=f"mixed_{dtype}")
    # A mean far from 0 ruins a variance in half precision.
    x = cast(vectors + 40.0, dtype)
    exact = to_numpy(cast(x, "float32")).astype("float64")
    expected = oracle.layer_norm(
        exact, *weights["embedding_norm"], CONFIG.layer_norm_eps
    )
    result = layer(x)
    assert standardize_dtype(result.dtype) == dtype
    rounded = to_numpy(cast(cast(expected.astype("float32"), dtype), "float32"))
    actual = to_numpy(cast(result, "float32"))
    # A number on the edge between two roundings may fall to either side.
    assert (actual != rounded).mean() < 0.01
    agree(actual, rounded, atol=np.abs(expected).max() * 2.0**-7)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layer_norm_weights_stay_float32_in_a_half_precision_model(weights, dtype):
    layer = layer_norm_layer(weights, dtype=f"mixed_{dtype}")
    assert {weight.dtype for weight in layer.weights} == {"float32"}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activation_matches_the_formula(name):
    x = np.linspace(-9, 9, 1001, dtype="float32")
    expected = oracle.ACTIVATIONS[name](x.astype("float64"))
    agree(evaluate(ACTIVATIONS[name], x), expected, 1e-6)


def test_every_activation_of_the_config_has_a_curve():
    assert set(ACTIVATIONS) == set(oracle.ACTIVATIONS)
    for name in ACTIVATIONS:
        assert dataclasses.replace(CONFIG, hidden_act=name).hidden_act == name


def test_the_two_gelus_differ_by_more_than_the_tolerance():
    """Else the comparisons here could not tell which one is in use."""
    x = np.linspace(-3, 3, 61)
    erf, tanh = (oracle.ACTIVATIONS[name](x) for name in ("gelu", "gelu_new"))
    assert np.abs(erf - tanh).max() > 1e-4


def test_embeddings_match_the_formula(weights):
    inputs = random_inputs()
    ids, types = inputs["input_ids"], inputs["token_type_ids"]
    expected = [
        oracle.embeddings(weights, CONFIG, *text)
        for text in zip(ids, types, strict=True)
    ]
    agree(evaluate(embedding_layer(weights), ids, types), expected)


def test_embeddings_take_positions_of_each_text(weights):
    """As packed rows need them, which hold several texts."""
    layer, inputs = embedding_layer(weights), random_inputs()
    ids, types = inputs["input_ids"][:1], inputs["token_type_ids"][:1]
    places = np.array([[0, 1, 2, 0, 1, 2, 3, 4]], "int32")
    packed = evaluate(layer, ids, types, places)[0]
    agree(packed[:3], evaluate(layer, ids[:, :3], types[:, :3])[0])
    agree(packed[3:], evaluate(layer, ids[:, 3:], types[:, 3:])[0])


def test_embeddings_drop_after_the_norm(weights):
    """A dropped number is 0 and the others are scaled, in what leaves the layer."""
    layer = embedding_layer(weights)
    inputs = random_inputs()
    ids, types = inputs["input_ids"], inputs["token_type_ids"]
    kept = evaluate(layer, ids, types, training=False)
    dropped = to_numpy(layer(ids, types, training=True))
    is_dropped = dropped == 0
    assert is_dropped.mean() == pytest.approx(CONFIG.hidden_dropout_prob, abs=0.1)
    scaled = kept / (1 - CONFIG.hidden_dropout_prob)
    agree(dropped[~is_dropped], scaled[~is_dropped])
