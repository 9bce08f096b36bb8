"""Activation functions and their derivatives. NumPy in and out, float64 throughout.

Each function has its name in `ACTIVATIONS`, in the order of their invention. A
function with a corner has no derivative there; like Keras and PyTorch, `differentiate`
then gives that of the left side, which for ReLU is 0.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

_ERF = np.frompyfunc(math.erf, 1, 1)
_ERFC = np.frompyfunc(math.erfc, 1, 1)

# Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
PAPER_CONSTANT = 0.044715

_Function = Callable[[np.ndarray, Any], np.ndarray]


@dataclass(frozen=True)
class Parameter:
    """The number that shapes a function."""

    symbol: str  # as formulas write it, in LaTeX
    default: float  # of the function's paper
    # Between these it is worth looking at.
    lowest: float
    highest: float


@dataclass(frozen=True)
class Activation:
    """One activation function."""

    value: _Function  # f(x, parameter)
    derivative: _Function  # f′(x, parameter), by x
    # What shapes it, or `None`; then the number given is not used.
    parameter: Parameter | None = None


def activate(
    name: str, x: np.ndarray, parameter: float | np.ndarray | None = None
) -> np.ndarray:
    """Applies an activation function to every number, float64, shaped like `x`.

    Args:
        name: a key of `ACTIVATIONS`.
        x: float, any shape.
        parameter: of the function; its default if `None`. An array, for each number
            its own, must broadcast with `x`.
    """
    function = _activation(name)
    return function.value(_floats(x), _parameter_of(function, parameter))


def differentiate(
    name: str, x: np.ndarray, parameter: float | np.ndarray | None = None
) -> np.ndarray:
    """The derivative likewise, see `activate`; at a corner that of the left side."""
    function = _activation(name)
    return function.derivative(_floats(x), _parameter_of(function, parameter))


@functools.cache
def largest_slope(name: str) -> float:
    """The largest |f′(x)| with the function's default parameter.

    Found on steps of 0.001 from -20 to 20, so too small by less than 1e-6.
    """
    return float(np.abs(differentiate(name, np.linspace(-20, 20, 40001))).max())


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, 2/√π ∫₀ˣ exp(−s²) ds, exact to float64."""
    return np.asarray(_ERF(_floats(x)), np.float64)


def normal_density(x: np.ndarray) -> np.ndarray:
    """The density φ of the standard normal distribution."""
    x = _floats(x)
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def normal_cumulative(x: np.ndarray) -> np.ndarray:
    """Φ(x): the share of the standard normal distribution that lies below x.

    By the complement of erf: (1 + erf(x/√2))/2 would lose every digit far left.
    """
    return np.asarray(_ERFC(-_floats(x) / math.sqrt(2)), np.float64) / 2


def gelu_tanh(
    x: np.ndarray, constant: float | np.ndarray = PAPER_CONSTANT
) -> np.ndarray:
    """GELU with Φ replaced by a tanh.

    Args:
        x: float, any shape.
        constant: before x³; see `gelu_approximation`.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """
    x = _floats(x)
    return x * (1 + np.tanh(tanh_argument(x, constant))) / 2


def _gelu_tanh_derivative(x: np.ndarray, constant: float) -> np.ndarray:
    tanh = np.tanh(tanh_argument(x, constant))
    inner = math.sqrt(2 / math.pi) * (1 + 3 * constant * x * x)
    return (1 + tanh) / 2 + x / 2 * (1 - tanh**2) * inner


def tanh_argument(x: np.ndarray, constant: float | np.ndarray) -> np.ndarray:
    """√(2/π) (x + c x³), to which `gelu_tanh` applies tanh."""
    return math.sqrt(2 / math.pi) * (x + constant * x**3)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    # exp(-|x|) never overflows.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _sigmoid_derivative(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return small / (1 + small) ** 2


def _leaky(x: np.ndarray, slope: float) -> np.ndarray:
    return np.where(x > 0, x, slope * x)


def _leaky_derivative(x: np.ndarray, slope: float) -> np.ndarray:
    return np.where(x > 0, 1.0, slope)


def _elu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _elu_derivative(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x > 0, 1.0, alpha * np.exp(np.minimum(x, 0)))


def _swish(x: np.ndarray, beta: float) -> np.ndarray:
    return x * _sigmoid(beta * x)


def _swish_derivative(x: np.ndarray, beta: float) -> np.ndarray:
    return _sigmoid(beta * x) + beta * x * _sigmoid_derivative(beta * x)


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "sigmoid": Activation(
            lambda x, _: _sigmoid(x), lambda x, _: _sigmoid_derivative(x)
        ),
        "tanh": Activation(lambda x, _: np.tanh(x), lambda x, _: 1 - np.tanh(x) ** 2),
        # Source: Nair and Hinton 2010, "Rectified Linear Units Improve Restricted
        # Boltzmann Machines".
        "relu": Activation(
            lambda x, _: _leaky(x, 0), lambda x, _: _leaky_derivative(x, 0)
        ),
        # Source: Maas et al. 2013, "Rectifier Nonlinearities Improve Neural Network
        # Acoustic Models"; the slope of its section 2.
        "leaky_relu": Activation(
            _leaky, _leaky_derivative, Parameter(r"\lambda", 0.01, 0.0, 0.5)
        ),
        # Source: He et al. 2015 (arXiv:1502.01852), section 2.1; training starts
        # from 0.25.
        "prelu": Activation(_leaky, _leaky_derivative, Parameter("a", 0.25, -0.5, 1.0)),
        # Source: Clevert et al. 2015 (arXiv:1511.07289), section 3.
        "elu": Activation(_elu, _elu_derivative, Parameter(r"\alpha", 1.0, 0.1, 2.0)),
        # Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
        "gelu": Activation(
            lambda x, _: x * normal_cumulative(x),
            lambda x, _: normal_cumulative(x) + x * normal_density(x),
        ),
        "gelu_tanh": Activation(
            lambda x, _: gelu_tanh(x),
            lambda x, _: _gelu_tanh_derivative(x, PAPER_CONSTANT),
        ),
        # Source: Ramachandran et al. 2017 (arXiv:1710.05941), section 4.
        "swish": Activation(
            _swish, _swish_derivative, Parameter(r"\beta", 1.0, 0.0, 5.0)
        ),
    }
)


def _activation(name: str) -> Activation:
    if name not in ACTIVATIONS:
        raise ValueError(
            f"`name` must be one of {list(ACTIVATIONS)}. Received: name={name!r}."
        )
    return ACTIVATIONS[name]


def _parameter_of(
    function: Activation, given: float | np.ndarray | None
) -> float | np.ndarray:
    if given is not None:
        return given
    return function.parameter.default if function.parameter else 0.0


def _floats(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float64)
