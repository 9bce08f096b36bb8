"""Small networks: gradients by differences, and the weaknesses that they show."""

import dataclasses
import math

import numpy as np
import pytest

from bertviz_core.analysis import dying_neurons
from bertviz_core.analysis.activations import (
    ACTIVATIONS,
    activate,
    differentiate,
    largest_slope,
)
from bertviz_core.analysis.dying_neurons import NUM_EXAMPLES, NUM_NEURONS, train
from bertviz_core.analysis.small_networks import (
    collapse,
    gradient_through_layers,
    learn_two_weights,
    linear_layers,
    output_signs,
    run_layers,
)

NAMES = list(ACTIVATIONS)
# What the page begins with.
SEED, LEAK = 214, 0.1


@pytest.mark.parametrize("name", NAMES)
def test_in_a_chain_the_gradient_is_the_product_of_weight_times_slope(name):
    path = gradient_through_layers(name, 6, 1.3, start=0.4)
    signal, product, products = 0.4, 1.0, []
    for _ in range(6):
        products.append(1.3 * float(differentiate(name, np.array(1.3 * signal))))
        signal = float(activate(name, np.array(1.3 * signal)))
    for back, factor in enumerate(reversed(products), start=1):
        product *= factor
        assert path.gradients[back] == pytest.approx(abs(product), rel=1e-12)
    assert path.gradients[0] == 1
    np.testing.assert_allclose(1.3 * path.slopes[:, 0], products, rtol=1e-12)


def test_in_a_wide_network_the_gradient_is_that_of_differences():
    depth, width, weight, seed = 3, 7, 1.2, 11

    def forward(start, rng):
        hidden = start
        for _ in range(depth):
            kernel = rng.standard_normal((width, width)) * weight / math.sqrt(width)
            hidden = np.tanh(kernel @ hidden)
        return hidden

    def output(change):
        rng = np.random.default_rng(seed)
        start = rng.standard_normal(width) + change
        direction = rng.standard_normal(width)
        return forward(start, rng) @ direction / np.linalg.norm(direction)

    step = 1e-6
    gradient = [
        (output(step * unit) - output(-step * unit)) / (2 * step)
        for unit in np.eye(width)
    ]
    path = gradient_through_layers("tanh", depth, weight, width=width, seed=seed)
    assert path.gradients[-1] == pytest.approx(np.linalg.norm(gradient), rel=1e-7)
    # A deeper network begins with the same layers.
    deep = gradient_through_layers("tanh", 9, weight, width=width, seed=seed)
    np.testing.assert_array_equal(deep.inputs[:depth], path.inputs)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_lie_where_draws_say_they_do(name):
    draws = activate(name, np.random.default_rng(8).standard_normal((60_000, 3)))
    signs = output_signs(name)
    assert signs.mean == pytest.approx(draws.mean(), abs=0.006)
    assert signs.deviation == pytest.approx(draws.std(), abs=0.006)
    assert signs.positive == pytest.approx((draws > 0).mean(), abs=0.004)
    assert signs.negative == pytest.approx((draws < 0).mean(), abs=0.004)
    differ = (draws.min(axis=1) < 0) & (draws.max(axis=1) > 0)
    assert signs.one_sided(3) == pytest.approx(1 - differ.mean(), abs=0.01)


def test_behind_sigmoids_every_step_is_one_sided_and_the_goal_is_farther():
    sigmoid, tanh = (learn_two_weights(n, num_steps=40) for n in ("sigmoid", "tanh"))
    assert sigmoid.num_one_sided == 40
    assert 8 < tanh.num_one_sided < 32
    assert sigmoid.distances[-1] > 100 * tanh.distances[-1]
    assert sigmoid.distances[0] == tanh.distances[0] == pytest.approx(math.sqrt(2))


def test_a_step_of_the_two_weights_goes_down_the_gradient_of_its_example():
    path = learn_two_weights("gelu", num_steps=5, learning_rate=0.3, seed=4)
    inputs = activate("gelu", np.random.default_rng(4).standard_normal((5, 2)))
    signs = output_signs("gelu")
    rate = 0.3 / (2 * (signs.mean**2 + signs.deviation**2))

    def loss(weights, example):
        return (weights @ example - (example[0] - example[1])) ** 2 / 2

    for before, after, example in zip(
        path.weights[:-1], path.weights[1:], inputs, strict=True
    ):
        slopes = [
            (loss(before + h, example) - loss(before - h, example)) / 2e-5
            for h in 1e-5 * np.eye(2)
        ]
        np.testing.assert_allclose(after - before, -rate * np.array(slopes), atol=1e-9)


@pytest.mark.parametrize("function", [None, "tanh"])
def test_layers_run_one_after_the_other_and_linear_ones_are_one_layer(function):
    layers = linear_layers(3, seed=7)
    inputs = np.random.default_rng(3).normal(size=(11, 2))
    x, expected = inputs, []
    for layer in layers:
        expected.append(x @ layer.kernel.T + layer.bias)
        x = np.tanh(expected[-1]) if function else expected[-1]
    *inner, last = run_layers(layers, inputs, *[function] * bool(function))
    np.testing.assert_allclose(last, expected[-1], atol=1e-11)
    for found, before in zip(inner, expected, strict=False):
        np.testing.assert_allclose(found, np.tanh(before) if function else before)
    (one,) = run_layers((collapse(layers),), inputs)
    assert np.allclose(one, last, atol=1e-11) == (function is None)


def test_a_relu_dies_while_it_trains_and_its_leaky_twin_comes_back():
    relu = train("relu", seed=SEED, learning_rate=0.1, num_steps=300)
    leaky = train(
        "leaky_relu", parameter=LEAK, seed=SEED, learning_rate=0.1, num_steps=300
    )
    np.testing.assert_array_equal(relu.died_at(), [-1, -1, -1, 11, -1, -1])
    np.testing.assert_array_equal(leaky.died_at(), [-1] * NUM_NEURONS)
    np.testing.assert_array_equal(relu.activity[0], leaky.activity[0])
    assert relu.activity[0, 3] > 0.5
    assert (relu.activity[11:, 3] == 0).all()
    assert (relu.gradients[11:, 3] == 0).all()
    assert (leaky.activity[20:150, 3] == 0).all()
    assert (leaky.gradients[:, 3] > 0).all()
    assert leaky.activity[-1, 3] > 0.25
    assert leaky.losses[-1] < relu.losses[-1] < relu.losses[0]


def test_the_measured_gradient_is_that_of_the_loss(monkeypatch):
    """One step of the training, checked by moving each first weight a little."""
    first = dying_neurons._first_weights(5)
    measured = train("gelu", seed=5, num_steps=1).gradients[0]
    step = 1e-6

    def loss_with(field, neuron, change):
        moved = getattr(first, field).copy()
        moved[neuron] += change
        changed = dying_neurons._Weights(**{**vars(first), field: moved})
        monkeypatch.setattr(dying_neurons, "_first_weights", lambda _: changed)
        return train("gelu", num_steps=0).losses[0]

    for neuron in range(NUM_NEURONS):
        slopes = [
            (loss_with(field, neuron, step) - loss_with(field, neuron, -step))
            / (2 * step)
            for field in ("into", "biases")
        ]
        assert measured[neuron] == pytest.approx(np.hypot(*slopes), rel=1e-6)


def test_the_slope_that_prelu_learns_follows_the_loss(monkeypatch):
    """One step of the training, checked by moving each leak a little."""
    first = dying_neurons._first_weights(5)
    leaks = np.linspace(-0.2, 0.6, NUM_NEURONS)
    step, rate = 1e-6, 1e-3

    def trained_with(moved):
        changed = dataclasses.replace(first, leaks=moved)
        monkeypatch.setattr(dying_neurons, "_with_leaks", lambda *_: changed)
        return train("prelu", seed=5, num_steps=1, learning_rate=rate)

    def loss(moved):
        return trained_with(moved).losses[0]

    slopes = np.array(
        [
            (loss(leaks + step * one) - loss(leaks - step * one)) / (2 * step)
            for one in np.eye(NUM_NEURONS)
        ]
    )
    taken = np.diff(trained_with(leaks).leaks, axis=0)[0]
    # A long gradient is shortened as a whole: the direction is the loss's own.
    cosine = taken @ slopes / np.linalg.norm(taken) / np.linalg.norm(slopes)
    assert cosine == pytest.approx(-1, abs=1e-8)
    assert np.linalg.norm(taken) <= rate * np.linalg.norm(slopes) * (1 + 1e-6)


def test_leaks_are_learned_by_prelu_alone_and_start_at_its_papers_value():
    prelu = train("prelu", seed=2, num_steps=40)
    np.testing.assert_array_equal(prelu.leaks[0], [0.25] * NUM_NEURONS)
    assert np.ptp(prelu.leaks[-1]) > 0.01
    assert train("prelu", parameter=0.1, num_steps=1).leaks[0, 0] == 0.1
    assert train("leaky_relu", num_steps=4).leaks.shape == (5, 0)
    fixed = train("leaky_relu", parameter=0.25, seed=2, num_steps=40)
    np.testing.assert_array_equal(fixed.outputs[0], prelu.outputs[0])
    assert np.abs(fixed.outputs[-1] - prelu.outputs[-1]).max() > 1e-3


def test_a_small_step_lowers_the_loss_and_a_long_gradient_is_shortened():
    run = train("tanh", seed=1, learning_rate=0.01, num_steps=30)
    assert (np.diff(run.losses) < 0).all()
    assert run.outputs.shape == (31, NUM_EXAMPLES)
    wild = train("relu", seed=1, learning_rate=1.0, num_steps=60)
    assert np.isfinite(wild.losses).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("width", [1, 8])
def test_no_gradient_exceeds_the_bound_of_its_weights_and_slopes(name, width):
    slope = largest_slope(name)
    for seed in range(4):
        path = gradient_through_layers(name, 7, 1.3, width=width, seed=seed)
        assert path.gradients[-1] <= path.bound(slope) * (1 + 1e-6)
        assert path.bound(slope) == pytest.approx(
            np.prod([np.linalg.norm(w, 2) * slope for w in kernels(width, seed)])
        )
    line = gradient_through_layers("relu", 7, 1.3, start=1.0)
    assert line.gradients[-1] == pytest.approx(line.bound(1.0))  # it is reached


def kernels(width, seed):
    """The weights of seven layers, drawn as the network draws them."""
    if width == 1:
        return [np.array([[1.3]])] * 7
    rng = np.random.default_rng(seed)
    rng.standard_normal((2, width))  # input and direction
    return [rng.standard_normal((width, width)) * 1.3 / width**0.5 for _ in range(7)]


def test_the_steepest_place_is_where_calculus_puts_it():
    root = math.sqrt(2)
    density = math.exp(-1) / math.sqrt(2 * math.pi)
    gelu = (1 + math.erf(1)) / 2 + root * density  # where the second derivative is 0
    assert largest_slope("gelu") == pytest.approx(gelu, abs=1e-6)
    assert largest_slope("sigmoid") == 0.25
    assert {largest_slope(name) for name in ("tanh", "relu", "leaky_relu")} == {1}


@pytest.mark.parametrize("name", ["relu", "prelu", "swish"])
def test_three_steps_back_give_the_slope_of_the_loss(name):
    training = train(name, num_steps=12, learning_rate=0.3, seed=5)
    step, neuron, change = 9, 2, 1e-6

    def loss(by):
        total = training.outputs[step].copy()
        w, b = training.into[step, neuron], training.biases[step, neuron]
        leak = training.leaks[step, neuron] if name == "prelu" else None
        for sign, weight in ((-1, w), (1, w + by)):
            z = weight * training.inputs + b
            total += sign * training.out[step, neuron] * activate(name, z, leak)
        return ((total - training.targets) ** 2).mean()

    found = training.steps_back(step, neuron)
    expected = (loss(change) - loss(-change)) / (2 * change)
    assert found.terms.sum() == pytest.approx(expected, rel=1e-5)
    assert (found.errors**2).mean() == pytest.approx(training.losses[step])
    # Together with the bias, what was measured while it trained.
    by_bias = (found.residuals * found.out * found.slopes).sum()
    both = math.hypot(found.terms.sum(), by_bias)
    assert both == pytest.approx(training.gradients[step, neuron])
