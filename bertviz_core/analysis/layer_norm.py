"""Layer norm by hand: every number on the way, and a vector to try it on.

NumPy in and out, float64. H is the size of a vector.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class LayerNormSteps(FrozenArrays):
    """What layer norm does to one vector, step by step."""

    vector: np.ndarray  # float64 [H], what goes in
    mean: float  # of its numbers
    variance: float  # mean of the squared distances from it; divided by H, not H - 1
    epsilon: float  # what is added to the variance
    deviation: float  # square root of variance plus epsilon
    normed: np.ndarray  # float64 [H], (vector - mean) / deviation
    scaled: np.ndarray  # float64 [H], normed times gamma
    output: np.ndarray  # float64 [H], scaled plus beta


def layer_norm(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, epsilon: float
) -> np.ndarray:
    """Moves each vector `[..., H]` to mean 0 and variance 1, then scales and shifts it.

    Source: Ba et al. 2016 (arXiv:1607.06450), equation 3.
    """
    x = np.asarray(x, np.float64)
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gamma + beta


def change_vector(vector: np.ndarray, shift: float, scale: float) -> np.ndarray:
    """Adds to a vector's mean, and stretches the distances of its numbers from it.

    A scale below 0 mirrors the vector.
    """
    vector = np.asarray(vector, np.float64)
    mean = vector.mean()
    return (vector - mean) * scale + mean + shift


def layer_norm_steps(
    vector: np.ndarray, gamma: np.ndarray, beta: np.ndarray, epsilon: float
) -> LayerNormSteps:
    """Shows how the norm of one vector `[H]` comes about, see `layer_norm`.

    A shift of the vector leaves the output as it is, and so does a positive scale,
    but for epsilon: it is felt where the variance is not large against it.

    Raises:
        ValueError: the three are not vectors of one size, or epsilon is below 0,
            or it is 0 and all numbers of the vector are equal.
    """
    # Copies: the result makes its arrays read-only.
    values = [np.array(part, np.float64) for part in (vector, gamma, beta)]
    x, gain, bias = values
    if x.ndim != 1 or any(part.shape != x.shape for part in values):
        raise ValueError(
            "`vector`, `gamma` and `beta` must be vectors of one size. "
            f"Received: shapes {[part.shape for part in values]}."
        )
    mean = float(x.mean())
    centred = x - mean
    variance = float(np.square(centred).mean())
    if epsilon < 0 or variance + epsilon <= 0:
        raise ValueError(
            "`epsilon` must not be negative, and above 0 for a vector of equal "
            f"numbers. Received: epsilon={epsilon}, variance={variance}."
        )
    deviation = float(np.sqrt(variance + epsilon))
    normed = centred / deviation
    scaled = normed * gain
    return LayerNormSteps(
        vector=x,
        mean=mean,
        variance=variance,
        epsilon=epsilon,
        deviation=deviation,
        normed=normed,
        scaled=scaled,
        output=scaled + bias,
    )
