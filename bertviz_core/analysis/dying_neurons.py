"""A small network that trains, in which neurons can die while it does.

A ReLU passes a gradient only where its input is positive. Once a step has pushed a
neuron so far that its input is negative for every example, its gradient is exactly
zero, and no later step can bring it back. One input, H hidden neurons, one output;
everything is float64 and comes from a seed.

P examples, S steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.analysis.activations import activate, differentiate
from bertviz_core.trace import FrozenArrays

NUM_EXAMPLES = 41
NUM_NEURONS = 6
LEARNED = "prelu"  # the function whose parameter is a weight
FIRST_LEAK = 0.25  # Source: He et al. 2015 (arXiv:1502.01852), section 2.1.
# Source: google-research/bert, `optimization.py`: BERT's training, too, shortens a
# gradient that is longer than this.
LARGEST_NORM = 1.0


@dataclass(frozen=True)
class Training(FrozenArrays):
    """One training run, with everything that was measured on the way."""

    inputs: np.ndarray  # float64 [P], the examples
    targets: np.ndarray  # float64 [P], what the network should say
    # float64 [S + 1, P], what it says before the first step and after each.
    outputs: np.ndarray
    # float64 [S + 1, H], the share of the examples for which a neuron's input is
    # positive, in [0, 1].
    activity: np.ndarray
    # float64 [S + 1, H], the size (Euclidean norm) of the loss's gradient by the
    # neuron's own weight and bias.
    gradients: np.ndarray
    losses: np.ndarray  # float64 [S + 1], mean squared errors
    # float64 [S + 1, H], each neuron's slope left of 0 where that is learned, as in
    # PReLU; 0 wide for another function, [S + 1, 0].
    leaks: np.ndarray
    # w, b and v of neurons that give v f(w x + b), float64 [S + 1, H].
    into: np.ndarray
    biases: np.ndarray
    out: np.ndarray
    name: str  # of f
    parameter: float | None  # of f

    def died_at(self) -> np.ndarray:
        """When each neuron died, int64 `[H]`; -1 for one that lives.

        The first step from which its gradient is exactly 0 to the end; 0 means
        that it was born dead.
        """
        is_dead = self.gradients == 0  # [S + 1, H]
        # Dead from here on: every later row is dead, too.
        for_good = np.logical_and.accumulate(is_dead[::-1], axis=0)[::-1]
        return np.where(for_good.any(axis=0), for_good.argmax(axis=0), -1)

    def steps_back(self, step: int, neuron: int) -> StepsBack:
        """The way of the error back to a neuron's weight, before a step is taken.

        Source: Rumelhart et al. 1986, "Learning representations by back-propagating
        errors", equations 4 to 6.
        """
        leaks = self.leaks[step]
        z = self.into[step, neuron] * self.inputs + self.biases[step, neuron]
        shape = leaks[neuron] if len(leaks) else self.parameter
        errors = self.outputs[step] - self.targets
        return StepsBack(
            errors=errors,
            residuals=2 * errors / len(errors),
            out=float(self.out[step, neuron]),
            slopes=differentiate(self.name, z, shape),
            inputs=self.inputs,
        )


@dataclass(frozen=True)
class StepsBack(FrozenArrays):
    """Back-propagation to one weight w, in the three steps that it takes."""

    errors: np.ndarray  # float64 [P], y - t; the loss is the mean of their squares
    # float64 [P], the loss's derivatives by the outputs, 2 (y - t) / P.
    residuals: np.ndarray
    out: float  # v, by which the neuron's output is multiplied
    slopes: np.ndarray  # float64 [P], f'(z)
    inputs: np.ndarray  # float64 [P], x

    @property
    def terms(self) -> np.ndarray:
        """What each example adds to the derivative by w, float64 `[P]`."""
        return self.residuals * self.out * self.slopes * self.inputs


def train(
    name: str,
    *,
    parameter: float | None = None,
    learning_rate: float = 0.5,
    num_steps: int = 200,
    seed: int = 0,
) -> Training:
    """Trains the network by gradient descent on all examples at once.

    Args:
        name: of the hidden neurons' function.
        parameter: of the function; of PReLU, whose leaks are learned, the first one.
        learning_rate: per step.
        num_steps: S.
        seed: of the first weights; they are the same for every function.

    Source: The first weights: He et al. 2015 (arXiv:1502.01852), section 2.2; leaks
    that are learned, one for each neuron and without decay: section 2.1. Dying: Lu et
    al. 2019 (arXiv:1903.06733).
    """
    x = np.linspace(-2, 2, NUM_EXAMPLES)
    targets = np.sin(2 * x) + 0.5 * x
    weights = _first_weights(seed)
    if name == LEARNED:
        leak = FIRST_LEAK if parameter is None else parameter
        weights = weights._replace(leaks=np.full(NUM_NEURONS, leak))
    rows = []
    for _ in range(num_steps + 1):
        z = np.outer(x, weights.into) + weights.biases  # [P, H]
        shape = weights.leaks if len(weights.leaks) else parameter
        hidden = activate(name, z, shape)
        outputs = hidden @ weights.out + weights.out_bias  # [P]
        error = outputs - targets
        slopes = differentiate(name, z, shape)
        by_output = 2 * error / NUM_EXAMPLES
        gradient = _gradient(x, z, hidden, slopes, by_output, weights)
        rows.append(
            {
                "outputs": outputs,
                "activity": (z > 0).mean(axis=0),
                "gradients": np.hypot(gradient.into, gradient.biases),
                "losses": (error**2).mean(),
                "leaks": weights.leaks,
                "into": weights.into,
                "biases": weights.biases,
                "out": weights.out,
            }
        )
        weights = weights.after(gradient, learning_rate)
    arrays = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return Training(inputs=x, targets=targets, name=name, parameter=parameter, **arrays)


class _Weights(NamedTuple):
    """All weights, or the loss's gradient by them."""

    into: np.ndarray  # [H]
    biases: np.ndarray  # [H]
    out: np.ndarray  # [H]
    leaks: np.ndarray  # [H] or [0]
    out_bias: float

    def after(self, gradient: _Weights, learning_rate: float) -> _Weights:
        """The weights one step down the gradient."""
        squares = sum(float(part @ part) for part in gradient[:-1])
        norm = math.sqrt(squares + gradient.out_bias**2)
        # Without a bound on the step, a large rate throws the weights to infinity.
        rate = learning_rate * LARGEST_NORM / max(norm, LARGEST_NORM)
        pairs: Iterable[tuple[Any, Any]] = zip(self, gradient, strict=True)
        return _Weights(*(w - rate * g for w, g in pairs))


def _first_weights(seed: int) -> _Weights:
    rng = np.random.default_rng(seed)
    into = rng.standard_normal(NUM_NEURONS) * math.sqrt(2)
    # Each neuron's input changes its sign among the examples: none is born dead.
    biases = -into * rng.uniform(-1.5, 1.5, NUM_NEURONS)
    out = rng.standard_normal(NUM_NEURONS) * math.sqrt(2 / NUM_NEURONS)
    return _Weights(into, biases, out, np.zeros(0), 0.0)


def _gradient(
    x: np.ndarray,
    z: np.ndarray,
    hidden: np.ndarray,
    slopes: np.ndarray,
    by_output: np.ndarray,
    weights: _Weights,
) -> _Weights:
    """The loss's gradient by every weight, from that by the outputs `[P]`."""
    by_hidden = np.outer(by_output, weights.out)  # [P, H]
    back = by_hidden * slopes
    # A leak is multiplied with the inputs below 0 alone.
    by_leak = (by_hidden * np.minimum(z, 0)).sum(axis=0)
    return _Weights(
        x @ back,
        back.sum(axis=0),
        by_output @ hidden,
        by_leak[: len(weights.leaks)],
        float(by_output.sum()),
    )
