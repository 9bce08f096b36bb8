"""How well a tanh stands in for GELU, and which constant serves best.

The tanh form of GELU is x/2 (1 + tanh(√(2/π) (x + c x³))). All errors are found
numerically, on x from 0 to `FARTHEST`: they are the same on the other side of zero,
and farther out both forms are x, or 0, to the last digit that matters.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.activations import (
    gelu_tanh,
    normal_cumulative,
    tanh_argument,
)

# The constant that makes the terms in x³ of both Taylor series equal; the page's
# derivation shows how: 2/(3π) − 1/6 = 0.04553992…
TAYLOR_CONSTANT = 2 / (3 * math.pi) - 1 / 6

FARTHEST = 8.0
MEASURES = ("gelu", "cumulative")
_STEP = 0.005
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class LargestError:
    """Where an approximation is worst."""

    x: float  # at least 0; −x is as bad
    error: float  # absolute, at least 0


def approximation_error(
    x: np.ndarray, constant: float, measure: str = "gelu"
) -> np.ndarray:
    """The tanh form minus the exact one, float64, shaped like `x`.

    Args:
        constant: c, before x³.
        measure: "gelu" for the difference of the two GELUs, "cumulative" for
            that of the two factors of x, (1 + tanh(…))/2 and Φ(x).
    """
    if measure not in MEASURES:
        raise ValueError(
            f"`measure` must be one of {MEASURES}. Received: measure={measure!r}."
        )
    return _error(np.asarray(x, np.float64), normal_cumulative(x), constant, measure)


def sampled_gate(
    x: np.ndarray, num_draws: int, seed: int, mean: float = 0.0, spread: float = 1.0
) -> np.ndarray:
    """Lets x through, or 0, as chance has it; the mean of the draws so far.

    A gate opens where a normal number Z is at most x: with probability Φ. The first
    draws are the same however many follow.

    Args:
        x: float `[P]`, each with draws of its own.
        num_draws: n.
        seed: of Z.
        mean: of Z.
        spread: its standard deviation.

    Returns:
        float64 `[n, P]`, which comes to x Φ((x - mean) / spread).

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """
    draws = np.random.default_rng(seed).normal(mean, spread, (num_draws, len(x)))
    return np.cumsum(x * (draws <= x), axis=0) / np.arange(1, num_draws + 1)[:, None]


def largest_error(constant: float, measure: str = "gelu") -> LargestError:
    """Finds the x at which the tanh form is farthest from the exact one.

    A grid finds the peak, a golden-section search on the neighbouring steps its exact
    place. The constant is from 0 to 0.2; for `measure` see `approximation_error`.
    """
    grid = np.arange(0, FARTHEST, _STEP)
    error = np.abs(approximation_error(grid, constant, measure))
    peak = float(grid[error.argmax()])
    x = _lowest(
        lambda x: -abs(float(approximation_error(np.array(x), constant, measure))),
        max(peak - _STEP, 0.0),
        peak + _STEP,
        1e-9,
    )
    error_there = abs(float(approximation_error(np.array(x), constant, measure)))
    return LargestError(x, error_there)


def largest_errors(constants: np.ndarray, measure: str = "gelu") -> np.ndarray:
    """The largest absolute errors of constants `[C]`, for a curve: on the grid alone.

    Too small by less than 2e-8.
    """
    grid = np.arange(0, FARTHEST, _STEP)
    errors = _error(grid, normal_cumulative(grid), constants[:, None], measure)
    return np.abs(errors).max(axis=1)


def best_constant(measure: str = "gelu") -> float:
    """The constant whose largest error is the smallest, to about six digits."""
    grid = np.arange(0, FARTHEST, _STEP)
    cumulative = normal_cumulative(grid)

    def worst(constant: float) -> float:
        return float(np.abs(_error(grid, cumulative, constant, measure)).max())

    # Between these the largest error falls to one lowest point and rises again.
    return _lowest(worst, 0.04, 0.05, 1e-8)


def _error(
    x: np.ndarray, cumulative: np.ndarray, constant: float | np.ndarray, measure: str
) -> np.ndarray:
    if measure == "gelu":
        return gelu_tanh(x, constant) - x * cumulative
    return (1 + np.tanh(tanh_argument(x, constant))) / 2 - cumulative


def _lowest(
    function: Callable[[float], float], low: float, high: float, width: float
) -> float:
    """The lowest point of a function that falls, then rises.

    Source: Kiefer 1953, "Sequential minimax search for a maximum".
    """
    while high - low > width:
        reach = _GOLDEN * (high - low)
        left, right = high - reach, low + reach
        if function(left) <= function(right):
            high = right
        else:
            low = left
    return (low + high) / 2
