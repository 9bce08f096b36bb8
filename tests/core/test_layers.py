"""Projection, layer norm, activations and embeddings against the oracle."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
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


def dense_of(weights):
    layer = Dense(CONFIG.hidden_size, CONFIG.intermediate_size, CONFIG)
    layer.build()
    set_dense(layer, weights["layers"][0]["inner"])
    return layer


def embedding_layer(weights):
    layer = Embeddings(CONFIG)
    layer.build()
    set_embeddings(layer, weights)
    return layer


def test_dense_maps_the_last_axis(weights, vectors):
    agree(
        dense_of(weights)(vectors),
        oracle.dense(vectors, *weights["layers"][0]["inner"]),
    )


def test_layer_norm_matches_the_formula(weights, vectors):
    expected = oracle.layer_norm(
        vectors.astype("float64"), *weights["embedding_norm"], CONFIG.layer_norm_eps
    )
    agree(layer_norm_layer(weights)(vectors), expected)


def gradient_of(layer, x, given):
    """Float64, of the sum of the outputs, each times a number of its own."""
    return gradients_of(layer, x, given)[0]


def gradients_of(layer, x, given, weights=()):
    """The same, and those of weights of the layer."""
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
    sources = [x, *(weight.value for weight in weights)]
    found = tape.gradient(y, sources, output_gradients=tf.constant(given))
    return [gradient.numpy() for gradient in found]


def slopes_of(formula, x, given, step=1e-5):
    """The same by central differences, of an oracle."""
    found = np.empty_like(x)
    for index in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[index] = step
        change = formula(x + moved) - formula(x - moved)
        found[index] = (change * given).sum() / (2 * step)
    return found


def test_the_gradient_of_layer_norm_is_the_slope_of_the_formula(weights, rng):
    layer = layer_norm_layer(weights, dtype="float64")
    x, given = rng.normal(0.5, 2.0, (2, 3, 4, CONFIG.hidden_size))[:, 0]
    arguments = (*weights["embedding_norm"], CONFIG.layer_norm_eps)
    expected = slopes_of(lambda x: oracle.layer_norm(x, *arguments), x, given)
    np.testing.assert_allclose(gradient_of(layer, x, given), expected, atol=1e-7)


def test_the_gradients_of_gain_and_bias_are_slopes_of_the_formula(weights, rng):
    layer = layer_norm_layer(weights, dtype="float64")
    x, given = rng.normal(0.5, 2.0, (2, 3, 4, CONFIG.hidden_size))
    gain, bias = weights["embedding_norm"]
    epsilon = CONFIG.layer_norm_eps
    _, *found = gradients_of(layer, x, given, [layer.gamma, layer.beta])
    by_gain = slopes_of(lambda g: oracle.layer_norm(x, g, bias, epsilon), gain, given)
    by_bias = slopes_of(lambda b: oracle.layer_norm(x, gain, b, epsilon), bias, given)
    np.testing.assert_allclose(found[0], by_gain, atol=1e-7)
    np.testing.assert_allclose(found[1], by_bias, atol=1e-7)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4)], ids=["rows", "texts"])
def test_the_gradients_of_a_projection_are_slopes_of_the_formula(shape, rng):
    size_in, size_out = 5, 6
    layer = Dense(size_in, size_out, CONFIG, dtype="float64")
    layer.build()
    kernel, bias = rng.normal(size=(size_in, size_out)), rng.normal(size=size_out)
    set_dense(layer, (kernel, bias))
    x, given = rng.normal(size=(*shape, size_in)), rng.normal(size=(*shape, size_out))
    found = gradients_of(layer, x, given, [layer.kernel, layer.bias])
    expected = (
        slopes_of(lambda x: oracle.dense(x, kernel, bias), x, given),
        slopes_of(lambda k: oracle.dense(x, k, bias), kernel, given),
        slopes_of(lambda b: oracle.dense(x, kernel, b), bias, given),
    )
    for gradient, slopes in zip(found, expected, strict=True):
        np.testing.assert_allclose(gradient, slopes, atol=1e-8)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_the_gradient_of_an_activation_is_the_slope_of_its_formula(name, rng):
    x = np.linspace(-8.03, 8, 401)  # not 0, where "relu" has a corner
    given = rng.normal(size=x.shape)
    formula = oracle.ACTIVATIONS[name]
    slopes = (formula(x + 1e-5) - formula(x - 1e-5)) / 2e-5
    found = gradient_of(ACTIVATIONS[name], x, given)
    np.testing.assert_allclose(found, slopes * given, atol=1e-8)


@pytest.mark.parametrize("make", [layer_norm_layer, dense_of])
def test_a_layer_and_its_gradient_take_a_shape_that_is_open(make, weights, vectors):
    layer = make(weights)

    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
        return y, tape.gradient(y, x, output_gradients=tf.ones_like(y))

    signature = [tf.TensorSpec([None, None, None])]
    opened = tf.function(both, input_signature=signature)(vectors)
    for found, expected in zip(opened, both(tf.constant(vectors)), strict=True):
        agree(found, expected)


def test_layer_norm_of_equal_numbers_is_its_bias(weights):
    flat = np.full((3, CONFIG.hidden_size), 7.5, "float32")
    agree(
        layer_norm_layer(weights)(flat), np.tile(weights["embedding_norm"][1], (3, 1))
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layer_norm_of_a_half_precision_model_is_computed_in_float32(
    weights, vectors, dtype
):
    """Only the result is rounded: neither the variance nor the gain."""
    layer = layer_norm_layer(weights, dtype=f"mixed_{dtype}")
    # A mean far from 0 ruins a variance in half precision.
    x = cast(vectors + 40.0, dtype)
    expected = oracle.layer_norm(
        to_numpy(cast(x, "float64")), *weights["embedding_norm"], CONFIG.layer_norm_eps
    )
    result = layer(x)
    assert standardize_dtype(result.dtype) == dtype
    rounded = to_numpy(cast(cast(expected, dtype), "float32"))
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
    agree(ACTIVATIONS[name](x), oracle.ACTIVATIONS[name](x.astype("float64")), 1e-6)


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
    agree(embedding_layer(weights)(ids, types), expected)


def test_embeddings_drop_after_the_norm(weights):
    """A dropped number is 0 and the others are scaled, in what leaves the layer."""
    layer = embedding_layer(weights)
    inputs = random_inputs()
    ids, types = inputs["input_ids"], inputs["token_type_ids"]
    kept = to_numpy(layer(ids, types, training=False))
    dropped = to_numpy(layer(ids, types, training=True))
    is_dropped = dropped == 0
    assert is_dropped.mean() == pytest.approx(CONFIG.hidden_dropout_prob, abs=0.1)
    scaled = kept * oracle.dropout_scale(CONFIG.hidden_dropout_prob)
    agree(dropped[~is_dropped], scaled[~is_dropped])
