"""Activation functions, and small networks with them, by independent computations."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from bertviz_core.analysis.activations import (
    ACTIVATIONS,
    PAPER_CONSTANT,
    activate,
    differentiate,
    gelu_tanh,
    largest_slope,
    normal_cumulative,
    normal_density,
)
from bertviz_core.analysis.dying_neurons import NUM_NEURONS, train
from bertviz_core.analysis.gelu_approximation import (
    FARTHEST,
    TAYLOR_CONSTANT,
    approximation_error,
    best_constant,
    largest_error,
    largest_errors,
    sampled_gate,
)
from bertviz_core.analysis.small_networks import (
    collapse,
    gradient_through_layers,
    learn_two_weights,
    linear_layers,
    output_signs,
    run_layers,
)
from bertviz_core.experiments.activation_times import (
    ALONE,
    compiled_activation,
    time_activations,
)

NORMAL = NormalDist()
# Each function once more, number by number, from its formula as the papers write it.
BY_HAND = {
    "sigmoid": lambda x, _: 1 / (1 + math.exp(-x)),
    "tanh": lambda x, _: (math.exp(2 * x) - 1) / (math.exp(2 * x) + 1),
    "relu": lambda x, _: max(0.0, x),
    "leaky_relu": lambda x, a: max(0.0, x) + a * min(0.0, x),
    "prelu": lambda x, a: max(0.0, x) + a * min(0.0, x),
    "elu": lambda x, a: x if x > 0 else a * (math.exp(x) - 1),
    "gelu": lambda x, _: x * NORMAL.cdf(x),
    "gelu_tanh": lambda x, _: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "swish": lambda x, b: x / (1 + math.exp(-b * x)),
}
PARAMETERS = {"leaky_relu": 0.07, "prelu": -0.3, "elu": 1.7, "swish": 2.3}
CORNERS = ("relu", "leaky_relu", "prelu", "elu")


def slopes_of(function, at, step=1e-6):
    """Along each axis, by the difference of two values."""
    steps = step * np.eye(len(at))
    return [(function(at + by) - function(at - by)) / (2 * step) for by in steps]


@pytest.fixture
def x():
    points = np.random.default_rng(5).normal(0, 2.5, 67)
    assert np.abs(points).min() > 1e-3
    return points


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_function_has_the_values_of_its_formula(name, x):
    parameter = PARAMETERS.get(name)
    expected = [BY_HAND[name](value, parameter) for value in x.tolist()]
    found = activate(name, x.reshape(1, -1), parameter)[0]
    # Far left 1 + erf, as the standard library has it, keeps no digit below 1e-16.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_derivative_is_the_limit_of_differences(name, x):
    parameter = PARAMETERS.get(name)
    step = 1e-5
    high, low = (activate(name, x + way, parameter) for way in (step, -step))
    # The next term of the difference's series is of the size of step².
    np.testing.assert_allclose(
        differentiate(name, x, parameter), (high - low) / (2 * step), atol=2e-9
    )


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_without_a_parameter_a_function_takes_the_one_of_its_paper(name, x):
    default = {"leaky_relu": 0.01, "prelu": 0.25, "elu": 1.0, "swish": 1.0}.get(name)
    np.testing.assert_array_equal(activate(name, x), activate(name, x, default))
    parameter = ACTIVATIONS[name].parameter
    assert (parameter.default if parameter else None) == default
    if parameter:
        assert parameter.lowest < default < parameter.highest


@pytest.mark.parametrize("name", CORNERS)
def test_at_its_corner_a_function_has_the_slope_of_the_left_side(name):
    parameter = PARAMETERS.get(name)
    at_corner, left = differentiate(name, np.array([0.0, -1e-9]), parameter)
    assert at_corner == pytest.approx(left, abs=1e-8)
    assert at_corner != pytest.approx(1)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_nothing_overflows_far_out(name):
    far = np.array([-1e30, -750.0, 750.0, 1e30])
    for values in (activate(name, far), differentiate(name, far)):
        assert np.isfinite(values).all()
        assert values.dtype == np.float64


def test_an_unknown_name_is_refused():
    for call in (activate, differentiate):
        with pytest.raises(ValueError, match="'softplus'"):
            call("softplus", np.zeros(3))
    with pytest.raises(ValueError, match="'erf'"):
        approximation_error(np.zeros(2), 0.04, "erf")


def test_the_normal_distribution_is_that_of_the_standard_library(x):
    np.testing.assert_allclose(
        normal_density(x), [NORMAL.pdf(v) for v in x], rtol=1e-13
    )
    np.testing.assert_allclose(
        normal_cumulative(x), [NORMAL.cdf(v) for v in x], rtol=1e-12, atol=1e-16
    )


def test_the_share_below_keeps_its_digits_far_left():
    # Source: asymptotic series, φ(x)/|x| (1 − 1/x² + 3/x⁴ − 15/x⁶ + …).
    x = -20.0
    series = 1 - 1 / x**2 + 3 / x**4 - 15 / x**6
    expected = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) / -x * series
    assert normal_cumulative(np.array(x)) == pytest.approx(expected, rel=1e-7)


def test_the_error_is_the_difference_of_both_forms(x):
    difference = gelu_tanh(x, 0.031) - activate("gelu", x)
    found = approximation_error(x, 0.031)
    np.testing.assert_allclose(found, difference, atol=1e-15)
    found = approximation_error(x, 0.031, "cumulative")
    np.testing.assert_allclose(found, difference / x, atol=1e-13)


@pytest.mark.parametrize("measure", ["gelu", "cumulative"])
@pytest.mark.parametrize("constant", [0.0412, PAPER_CONSTANT, 0.0487])
def test_no_point_of_a_fine_grid_is_worse_than_the_largest_error(measure, constant):
    fine = np.linspace(0, FARTHEST, 200_001)
    errors = np.abs(approximation_error(fine, constant, measure))
    found = largest_error(constant, measure)
    assert found.error >= errors.max() - 1e-16
    assert found.error == pytest.approx(errors.max(), rel=1e-7)
    assert found.x == pytest.approx(fine[errors.argmax()], abs=1e-4)
    [on_grid] = largest_errors(np.array([constant]), measure)
    assert found.error - 2e-8 < on_grid <= found.error


def test_the_constants_and_errors_are_those_that_the_page_names():
    assert f"{TAYLOR_CONSTANT:.8f}" == "0.04553992"
    assert f"{best_constant('cumulative'):.6f}" == f"{PAPER_CONSTANT:.6f}" == "0.044715"
    assert f"{best_constant('gelu'):.6f}" == "0.044383"
    taylor, paper = largest_error(TAYLOR_CONSTANT), largest_error(PAPER_CONSTANT)
    assert taylor.error == pytest.approx(7.4617e-4, rel=1e-4)
    assert paper.error == pytest.approx(4.7324e-4, rel=1e-4)


@pytest.mark.parametrize("measure", ["gelu", "cumulative"])
def test_no_other_constant_has_a_smaller_largest_error(measure):
    best = best_constant(measure)
    others = np.linspace(0.04, 0.05, 1001)
    least = largest_error(best, measure).error
    assert (largest_errors(others, measure) > least - 2e-8).all()
    # Two peaks are equally high there, so no change lowers both.
    x = np.linspace(0, FARTHEST, 80_001)
    errors = np.abs(approximation_error(x, best, measure))
    peaks = errors[1:-1][(errors[1:-1] > errors[:-2]) & (errors[1:-1] >= errors[2:])]
    highest, second = np.sort(peaks)[:-3:-1]
    assert second == pytest.approx(highest, rel=1e-3)


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 1.0), (-0.6, 1.7)])
def test_the_mean_of_a_sampled_gate_comes_to_the_curve(mean, spread):
    x, n = np.array([-1.5, -0.2, 0.4, 2.0]), 40_000
    means = sampled_gate(x, n, 3, mean, spread)
    assert set(np.unique(means[0])) <= {0.0, *x}  # one draw: x or nothing
    share = np.array([NormalDist(mean, spread).cdf(value) for value in x])
    error = np.abs(x) * np.sqrt(share * (1 - share) / n)
    assert (np.abs(means[-1] - x * share) < 4 * error).all()
    np.testing.assert_allclose(sampled_gate(x, 50, 3, mean, spread), means[:50])


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_what_is_timed_is_the_function_and_its_derivative(name, x):
    x = x.astype("float32")
    for is_slope, expected in ((False, activate), (True, differentiate)):
        found = compiled_activation(name, is_slope)(x)
        np.testing.assert_allclose(found, expected(name, x), atol=3e-6)


@pytest.mark.tensorflow
def test_every_function_is_timed_and_the_way_there_alone():
    told = []
    found = time_activations(lambda fraction, _: told.append(fraction))
    assert set(found) == {ALONE, *ACTIVATIONS}
    assert all(one.seconds > 0 and one.gradient_seconds > 0 for one in found.values())
    assert told == sorted(told)
    assert len(told) == len(found)


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

    gradient = slopes_of(output, np.zeros(width))
    path = gradient_through_layers("tanh", depth, weight, width=width, seed=seed)
    assert path.gradients[-1] == pytest.approx(np.linalg.norm(gradient), rel=1e-7)
    # A deeper network begins with the same layers.
    deep = gradient_through_layers("tanh", 9, weight, width=width, seed=seed)
    np.testing.assert_array_equal(deep.slopes[:depth], path.slopes)


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
    path = learn_two_weights("gelu", num_steps=5, seed=4)
    inputs = activate("gelu", np.random.default_rng(4).standard_normal((5, 2)))
    signs = output_signs("gelu")
    rate = 0.5 / (2 * (signs.mean**2 + signs.deviation**2))

    def loss(weights, example):
        return (weights @ example - (example[0] - example[1])) ** 2 / 2

    for before, after, example in zip(
        path.weights[:-1], path.weights[1:], inputs, strict=True
    ):
        slopes = slopes_of(lambda at, example=example: loss(at, example), before, 1e-5)
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


def test_the_slope_that_prelu_learns_follows_the_loss():
    """One step of the training, checked by moving each leak a little."""
    leaks = np.linspace(-0.2, 0.6, NUM_NEURONS)
    rate = 1e-3

    def trained_with(moved):
        return train("prelu", parameter=moved, seed=5, num_steps=1, learning_rate=rate)

    slopes = np.array(slopes_of(lambda at: trained_with(at).losses[0], leaks))
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


@pytest.mark.parametrize("neuron", range(NUM_NEURONS))
@pytest.mark.parametrize("name", ["relu", "prelu", "swish", "gelu"])
def test_three_steps_back_give_the_slope_of_the_loss(name, neuron):
    training = train(name, num_steps=12, learning_rate=0.3, seed=5)
    step = 9

    def loss(by):
        to_weight, to_bias = by
        total = training.outputs[step].copy()
        w, b = training.into[step, neuron], training.biases[step, neuron]
        leak = training.leaks[step, neuron] if name == "prelu" else None
        for sign, weight, bias in ((-1, w, b), (1, w + to_weight, b + to_bias)):
            z = weight * training.inputs + bias
            total += sign * training.out[step, neuron] * activate(name, z, leak)
        return ((total - training.targets) ** 2).mean()

    found = training.steps_back(step, neuron)
    slopes = slopes_of(loss, np.zeros(2))
    assert found.terms.sum() == pytest.approx(slopes[0], rel=1e-5, abs=1e-9)
    assert (found.errors**2).mean() == pytest.approx(training.losses[step])
    # Together with the bias, what was measured while it trained.
    measured = training.gradients[step, neuron]
    assert measured == pytest.approx(math.hypot(*slopes), rel=1e-6, abs=1e-9)
