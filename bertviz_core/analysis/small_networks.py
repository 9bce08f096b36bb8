"""Networks small enough to look at, in which a function's weakness shows.

Three of them: a deep one, whose gradient is followed back to its beginning; a single
neuron, which learns from outputs of one sign or of both; a stack of layers without
any function between them. `dying_neurons` has the fourth. Everything is float64 and
comes from a seed.

n layers, H neurons a layer, P inputs, S steps.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.activations import activate, differentiate, normal_density
from bertviz_core.trace import FrozenArrays

# Beyond eight standard deviations lies less than 1e-14 of a normal distribution. An
# even number of points leaves out 0, where a function may change its sign.
_NORMAL_GRID = np.linspace(-8, 8, 3200)


@dataclass(frozen=True)
class GradientPath(FrozenArrays):
    """What is left of a gradient on its way back through a network."""

    # float64 [n, H], the derivative of each layer's function at what it is applied to,
    # first layer first.
    slopes: np.ndarray
    # float64 [n + 1], the size (Euclidean norm) of the gradient after k layers on the
    # way back: 1 at first, at the input last.
    gradients: np.ndarray
    # float64 [n], by how much each layer's weights lengthen a vector at most (their
    # largest singular value): |W| for one neuron.
    weights: np.ndarray

    def bound(self, slope: float) -> float:
        """What the gradient at the input cannot exceed: (|W| max|f′|)ⁿ for one neuron.

        Source: Pascanu et al. 2013 (arXiv:1211.5063), section 2.1, equation 7.
        """
        return float(np.prod(self.weights * slope))


@dataclass(frozen=True)
class OutputSigns:
    """On which side of zero the outputs lie for standard normal inputs."""

    mean: float  # of the outputs
    deviation: float  # their standard deviation
    # Both: shares of the outputs, in [0, 1]; the rest is 0.
    positive: float
    negative: float

    def one_sided(self, num_inputs: int) -> float:
        """The share of examples in which no two of so many outputs differ in sign.

        The gradient of the next neuron's weights has these signs, all the same
        or all turned round, so its weights then all grow or all shrink.
        """
        zero = max(1 - self.positive - self.negative, 0.0)
        return (
            (1 - self.negative) ** num_inputs
            + (1 - self.positive) ** num_inputs
            - zero**num_inputs
        )


@dataclass(frozen=True)
class LearningPath(FrozenArrays):
    """How two weights find their goal."""

    weights: np.ndarray  # float64 [S + 1, 2], before the first step and after each
    goal: np.ndarray  # float64 [2]

    @property
    def distances(self) -> np.ndarray:
        """How far the goal is, float64 `[S + 1]`."""
        return np.linalg.norm(self.weights - self.goal, axis=1)

    @property
    def num_one_sided(self) -> int:
        """Steps in which both weights grew, or both shrank."""
        steps = np.diff(self.weights, axis=0)
        return int((steps[:, 0] * steps[:, 1] > 0).sum())


@dataclass(frozen=True)
class LinearLayer(FrozenArrays):
    """x ↦ W x + b."""

    kernel: np.ndarray  # float64 [out, in], W
    bias: np.ndarray  # float64 [out], b


def gradient_through_layers(
    name: str,
    depth: int,
    weight: float,
    *,
    width: int = 1,
    seed: int = 0,
    start: float = 1.0,
) -> GradientPath:
    """Sends a number through n layers and a gradient of size 1 back.

    A layer is z = W h, h = f(z), without bias. With one neuron a layer the
    gradient at the input is the product of all |W| f′(z).

    Args:
        name: of the function f.
        depth: n, at least 1. A deeper network begins with the same layers.
        weight: |W|. With H > 1 each weight is drawn with the spread |W| / √H,
            which keeps a signal's size for |W| = 1 and f(x) = x.
        width: H.
        seed: of the weights; not used for H = 1.
        start: the input of the network; with H > 1, its spread.

    Source: Bengio et al. 1994, "Learning long-term dependencies with gradient descent
    is difficult"; the spread: Glorot and Bengio 2010.
    """
    rng = np.random.default_rng(seed)
    hidden = np.full(1, start) if width == 1 else start * rng.standard_normal(width)
    direction = np.ones(1) if width == 1 else rng.standard_normal(width)
    kernels, inputs = [], []
    for _ in range(depth):
        kernels.append(_square_kernel(width, weight, rng))
        inputs.append(kernels[-1] @ hidden)
        hidden = activate(name, inputs[-1])
    slopes = differentiate(name, np.array(inputs))
    gradient = direction / np.linalg.norm(direction)
    sizes = [1.0]
    for kernel, slope in zip(reversed(kernels), reversed(slopes), strict=True):
        gradient = kernel.T @ (slope * gradient)
        sizes.append(float(np.linalg.norm(gradient)))
    largest = np.array([np.linalg.norm(kernel, 2) for kernel in kernels])
    return GradientPath(slopes, np.array(sizes), largest)


def output_signs(name: str) -> OutputSigns:
    """Measures where the outputs lie when the inputs are standard normal."""
    outputs = activate(name, _NORMAL_GRID)
    shares = normal_density(_NORMAL_GRID)
    shares /= shares.sum()
    mean = float(shares @ outputs)
    return OutputSigns(
        mean=mean,
        deviation=math.sqrt(float(shares @ (outputs - mean) ** 2)),
        positive=float(shares[outputs > 0].sum()),
        negative=float(shares[outputs < 0].sum()),
    )


def learn_two_weights(name: str, *, num_steps: int = 60, seed: int = 0) -> LearningPath:
    """Lets a neuron learn to subtract: its goal is one weight up, the other down.

    It sees f(z₁) and f(z₂) for standard normal z, the same for every function, and
    should give their difference; one example a step, the loss is half the squared
    error. The rate, 0.5, is divided by the mean square of the inputs, so that no
    function gains by its scale alone.

    Source: LeCun et al. 1998, "Efficient BackProp", section 4.3.
    """
    normal = np.random.default_rng(seed).standard_normal((num_steps, 2))
    signs = output_signs(name)
    rate = 0.5 / (2 * (signs.mean**2 + signs.deviation**2))
    goal = np.array([1.0, -1.0])
    weights = [np.zeros(2)]
    for inputs in activate(name, normal):
        error = (weights[-1] - goal) @ inputs
        weights.append(weights[-1] - rate * error * inputs)
    return LearningPath(np.array(weights), goal)


def linear_layers(depth: int, seed: int = 0) -> tuple[LinearLayer, ...]:
    """Draws layers 2 → 3 → … → 3 → 2.

    A deeper stack begins with the same numbers, but for the last layer.
    """
    sizes = [2, *[3] * (depth - 1), 2]
    rng = np.random.default_rng(seed)
    return tuple(
        LinearLayer(
            rng.standard_normal((out, into)).round(2), rng.standard_normal(out).round(2)
        )
        for into, out in itertools.pairwise(sizes)
    )


def collapse(layers: tuple[LinearLayer, ...]) -> LinearLayer:
    """The one layer that does what all of them do: W₂(W₁x + b₁) + b₂ and so on."""
    kernel, bias = layers[0].kernel, layers[0].bias
    for layer in layers[1:]:
        kernel, bias = layer.kernel @ kernel, layer.kernel @ bias + layer.bias
    return LinearLayer(kernel, bias)


def run_layers(
    layers: tuple[LinearLayer, ...], inputs: np.ndarray, name: str | None = None
) -> tuple[np.ndarray, ...]:
    """Sends inputs `[P, 2]` through the layers; gives the output of each, `[P, out]`.

    A function may come after every layer but the last.
    """
    outputs = [inputs]
    for index, layer in enumerate(layers):
        output = outputs[-1] @ layer.kernel.T + layer.bias
        if name is not None and index < len(layers) - 1:
            output = activate(name, output)
        outputs.append(output)
    return tuple(outputs[1:])


def _square_kernel(width: int, weight: float, rng: np.random.Generator) -> np.ndarray:
    if width == 1:
        return np.full((1, 1), weight)
    return rng.standard_normal((width, width)) * (weight / math.sqrt(width))
