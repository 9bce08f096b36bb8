import numpy as np
import pytest
import tensorflow as tf
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.training.fast import ByteDropout

pytestmark = pytest.mark.tensorflow

ROWS, SIZE = 400, 301


def dropped_of(rate, rows=ROWS, size=SIZE, seed=3):
    """Bool `[rows, size]`."""
    ones = np.ones((rows, size), "float32")
    return to_numpy(ByteDropout(rate, seed=seed)(ones, training=True)) == 0


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_each_number_is_dropped_at_the_rate_to_a_256th(rate):
    dropped, rounded = dropped_of(rate), round(256 * rate) / 256
    error = np.sqrt(rate * (1 - rate) / dropped.size)
    assert dropped.mean() == pytest.approx(rounded, abs=4 * error)
    columns = dropped.mean(axis=0)
    spread = np.sqrt(rate * (1 - rate) / ROWS)
    assert np.abs(columns - rounded).max() < 5 * spread


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_the_four_numbers_of_one_draw_are_dropped_independently(apart):
    rate = 77 / 256
    dropped = dropped_of(rate, rows=2000).reshape(-1, 4)  # a draw in each row
    first = dropped[:, : 4 - apart]
    both = (first & dropped[:, apart:]).mean()
    assert both == pytest.approx(rate**2, abs=0.005)


@pytest.mark.parametrize(("rate", "dropped"), [(1e-6, 1), (0.9999, 255)])
def test_a_rate_near_an_end_is_neither_none_nor_all(rate, dropped):
    layer = ByteDropout(rate, seed=4)
    assert layer.scale == 256 / (256 - dropped)
    share = (to_numpy(layer(np.ones((400, 500), "float32"), training=True)) == 0).mean()
    assert share == pytest.approx(dropped / 256, abs=5 * np.sqrt(dropped) / 6000)


@pytest.mark.parametrize("shape", [(1,), (5,), (3, 2), (2, 3, 5, 7)])
def test_any_number_of_numbers_can_be_drawn_for(shape):
    layer = ByteDropout(0.5, seed=6)
    kept = to_numpy(layer.kept(tf.ones(shape)))
    assert kept.shape == shape
    assert set(kept.ravel()) <= {0.0, 1.0}


def test_what_is_kept_is_scaled_up_and_the_gradient_goes_where_it_went():
    x, given = (
        np.random.default_rng(seed).normal(size=(7, 9)).astype("float32")
        for seed in (0, 1)
    )
    layer, x = ByteDropout(0.4, seed=2), tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
    assert 0 < (y.numpy() == 0).sum() < y.numpy().size
    scale = np.where(y.numpy() == 0, 0.0, 256 / (256 - 102))
    np.testing.assert_allclose(y, x * scale, rtol=1e-6)
    gradient = tape.gradient(y, x, output_gradients=tf.constant(given))
    np.testing.assert_allclose(gradient, given * scale, rtol=1e-6)


def test_every_call_draws_anew_and_a_seed_draws_the_same():
    layer, ones = ByteDropout(0.5, seed=5), np.ones((4, 64), "float32")
    first, second = (to_numpy(layer(ones, training=True)) for _ in range(2))
    assert not np.array_equal(first, second)
    again = ByteDropout(0.5, seed=5)
    np.testing.assert_array_equal(to_numpy(again(ones, training=True)), first)


@pytest.mark.parametrize(("rate", "training"), [(0.5, False), (0.5, None), (0.0, True)])
def test_outside_training_and_without_a_rate_nothing_is_dropped(rate, training):
    x = np.ones((3, 5), "float32")
    np.testing.assert_array_equal(to_numpy(ByteDropout(rate)(x, training=training)), x)


def test_half_precision_stays_half_precision():
    x = tf.ones((3, 6), "bfloat16")
    y = ByteDropout(0.5, seed=1, dtype="mixed_bfloat16")(x, training=True)
    assert y.dtype == "bfloat16"
    assert set(np.unique(np.asarray(y, "float32"))) == {0.0, 2.0}
