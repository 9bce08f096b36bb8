"""Non-negative matrix factorisation: a matrix as a sum of a few parts.

NumPy in and out, float64. R rows, C columns, F factors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.tasks import Progress
from bertviz_core.trace import FrozenArrays

# Keeps a division by 0 away; small against any number that is worth showing.
_TINY = 1e-12


@dataclass(frozen=True)
class Factorisation(FrozenArrays):
    """A matrix X of numbers from 0 up, as nearly weights @ factors.

    Args:
        weights: float64 `[R, F]`, how much of each factor a row holds.
        factors: float64 `[F, C]`, rows of length 1 (or 0, where a factor died out);
            the factor that explains most comes first.
        errors: float64 `[iterations + 1]`, |X - weights @ factors| / |X| (lengths
            over all numbers) at the start and after each iteration; 0 for a matrix
            of zeros.
    """

    weights: np.ndarray
    factors: np.ndarray
    errors: np.ndarray

    @property
    def error(self) -> float:
        """How much of the matrix is left out, as a share of its length."""
        return float(self.errors[-1])

    @property
    def num_iterations(self) -> int:
        """How often both parts were changed."""
        return len(self.errors) - 1


def factorise(
    matrix: np.ndarray,
    num_factors: int,
    seed: int,
    num_iterations: int = 200,
    tolerance: float = 1e-5,
    progress: Progress | None = None,
) -> Factorisation:
    """Takes a matrix apart by multiplicative updates from a random start.

    The error never rises, but the end depends on the start: another seed may find
    other parts.

    Args:
        matrix: float `[R, C]`, no number below 0.
        num_factors: F.
        seed: of the start.
        num_iterations: at most this many.
        tolerance: stops when an iteration makes the error smaller by less than this
            share of it; 0 never stops early.
        progress: told the fraction done; may raise to cancel.

    Raises:
        ValueError: no matrix, an empty one, a number below 0 or none at all, or less
            than one factor.

    Source:
        Lee and Seung 1999, "Learning the parts of objects by non-negative matrix
        factorization", Nature 401, for the idea; Lee and Seung 2001, "Algorithms
        for non-negative matrix factorization", theorem 1, for these updates, which
        make the squared error smaller.
    """
    x = np.asarray(matrix, np.float64)
    _require_factorable(x, num_factors)
    rng = np.random.default_rng(seed)
    # A start whose product has the mean of the matrix.
    spread = np.sqrt(x.mean() / num_factors)
    weights = rng.uniform(0.5, 1.5, (len(x), num_factors)) * spread
    factors = rng.uniform(0.5, 1.5, (num_factors, x.shape[1])) * spread
    length = float(np.linalg.norm(x))
    errors = [_share(np.linalg.norm(x - weights @ factors), length)]
    for iteration in range(num_iterations):
        if progress is not None:
            progress(iteration / num_iterations, "nmf")
        factors *= (weights.T @ x) / (weights.T @ weights @ factors + _TINY)
        projected, crossed = x @ factors.T, factors @ factors.T  # [R, F], [F, F]
        weights *= projected / (weights @ crossed + _TINY)
        # |X - WH|^2 without a matrix of the size of X, good to 1e-8 of its length.
        square = length**2 - 2 * np.vdot(projected, weights)
        square += np.vdot(weights.T @ weights, crossed)
        errors.append(_share(np.sqrt(max(square, 0.0)), length))
        if errors[-2] - errors[-1] < tolerance * errors[-2]:
            break
    errors[-1] = _share(np.linalg.norm(x - weights @ factors), length)
    return _ordered(weights, factors, errors)


def _require_factorable(x: np.ndarray, num_factors: int) -> None:
    if x.ndim != 2 or not x.size or not np.isfinite(x).all() or x.min() < 0:
        raise ValueError(
            "`matrix` must have two axes and numbers from 0 up. "
            f"Received: shape={x.shape}."
        )
    if num_factors < 1:
        raise ValueError(f"`num_factors` must be at least 1. Received: {num_factors}.")


def _share(part: float | np.floating, length: float) -> float:
    return float(part) / length if length else 0.0


def _ordered(
    weights: np.ndarray, factors: np.ndarray, errors: list[float]
) -> Factorisation:
    """Factors of length 1, the largest part first; the product stays."""
    lengths = np.linalg.norm(factors, axis=1)
    weights = weights * lengths
    factors = factors / np.where(lengths > 0, lengths, 1.0)[:, None]
    order = np.argsort(-np.linalg.norm(weights, axis=0), kind="stable")
    return Factorisation(weights[:, order], factors[order], np.array(errors))
