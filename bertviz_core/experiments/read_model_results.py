"""What is read off the model beside its steps. NumPy only.

L layers, P places to guess at, k best words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.step_results import CodePlace
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class PrimerMoment:
    """A method of a layer, and what the layer has once it has run.

    Args:
        place: the whole method.
        weights: float32, by the name that the method gives.
    """

    place: CodePlace
    weights: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Primer(FrozenArrays):
    """One layer that was made, built and called.

    Args:
        moments: after `__init__`, `build` and `call`.
        x: float32 `[3]`, what it was called with.
        y: float32 `[2]`, what it gave.
    """

    moments: tuple[PrimerMoment, ...]
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class FormulaEffect(FrozenArrays):
    """The model beside one with a wrong formula in it.

    Args:
        name: which formula, of `WRONG`.
        place: the lines with the wrong formula; `None` for a curve that is right in
            other models.
        differences: float64 `[L + 1]`, largest difference of a number of a hidden
            state, embedding output first.
        sizes: float64 `[L + 1]`, largest size of a number of the model's own states.
        pooled_difference: of the pooled output; `None` without a pooler.
        next_probs: float64 `[2]`, that the second text follows, right and wrong;
            `None` without that head or without a second text.
        top_tokens: best words, right and wrong, at each place; empty without a
            masked-word head.
        top_probs: float64 `[2, P, k]`.
    """

    name: str
    place: CodePlace | None
    differences: np.ndarray
    sizes: np.ndarray
    pooled_difference: float | None
    next_probs: np.ndarray | None
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]
    top_probs: np.ndarray


@dataclass(frozen=True)
class HeldOut:
    """How well hidden tokens are guessed, each hidden in turn.

    Args:
        num_tokens: hidden in all.
        perplexities: with the right and with the wrong formula; 1 is perfect.
        right_firsts: share of the tokens that are the first guess, right and wrong.
    """

    num_tokens: int
    perplexities: tuple[float, float]
    right_firsts: tuple[float, float]


@dataclass(frozen=True)
class WeightPicture(FrozenArrays):
    """One weight of a model, at a glance.

    Args:
        shape: ours.
        mean, spread: of its numbers; the spread is the standard deviation.
        low, high: its smallest and largest number.
        counts: int64 `[B]`, numbers in each of B equal intervals from low to high.
        edges: float64 `[B + 1]`, where the intervals end.
    """

    shape: tuple[int, ...]
    mean: float
    spread: float
    low: float
    high: float
    counts: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True)
class PaddedPair(FrozenArrays):
    """The shorter of two texts, alone and padded to the length of the longer.

    Args:
        tokens: T pieces of the shorter one's row, padding at the end.
        other_tokens: T pieces of the longer one.
        masked_differences, unmasked_differences: float64 `[L + 1]`, largest difference
            of a number of its own states from those of the text alone.
        masked_shares, unmasked_shares: float64 `[L]`, share of attention that its own
            tokens give to padding, over heads and tokens, in [0, 1].
        seconds: of a pass of both in one batch, and of the two one by one; medians.
    """

    tokens: tuple[str, ...]
    other_tokens: tuple[str, ...]
    masked_differences: np.ndarray
    unmasked_differences: np.ndarray
    masked_shares: np.ndarray
    unmasked_shares: np.ndarray
    seconds: tuple[float, float]
