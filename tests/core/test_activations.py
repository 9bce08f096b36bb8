"""Activation functions against independent computations, and GELU's stand-in."""

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
    normal_cumulative,
    normal_density,
)
from bertviz_core.analysis.gelu_approximation import (
    FARTHEST,
    TAYLOR_CONSTANT,
    approximation_error,
    best_constant,
    largest_error,
    largest_errors,
    sampled_gate,
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
