"""What is read off the model beside its steps. NumPy only.

L layers, P places to guess at, k best words.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.step_results import CodePlace
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class PrimerMoment:
    """A method of a layer, and what the layer has once it has run."""

    place: CodePlace  # the whole method
    weights: Mapping[str, np.ndarray]  # float32, by the name that the method gives


@dataclass(frozen=True)
class Primer(FrozenArrays):
    """One layer that was made, built and called."""

    moments: tuple[PrimerMoment, ...]  # after `__init__`, `build` and `call`
    x: np.ndarray  # float32 [3], what it was called with
    y: np.ndarray  # float32 [2], what it gave


@dataclass(frozen=True)
class FormulaEffect(FrozenArrays):
    """The model beside one with a wrong formula in it."""

    name: str  # which formula, of `WRONG`
    # The lines with the wrong formula; `None` for a curve that is right in other
    # models.
    place: CodePlace | None
    # float64 [L + 1], largest difference of a number of a hidden state, embedding
    # output first.
    differences: np.ndarray
    # float64 [L + 1], largest size of a number of the model's own states.
    sizes: np.ndarray
    pooled_difference: float | None  # of the pooled output; `None` without a pooler
    # float64 [2], that the second text follows, right and wrong; `None` without that
    # head or without a second text.
    next_probs: np.ndarray | None
    # Best words, right and wrong, at each place; empty without a masked-word head.
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]
    top_probs: np.ndarray  # float64 [2, P, k]


@dataclass(frozen=True)
class HeldOut:
    """How well hidden tokens are guessed, each hidden in turn."""

    num_tokens: int  # hidden in all
    # With the right and with the wrong formula; 1 is perfect.
    perplexities: tuple[float, float]
    # Share of the tokens that are the first guess, right and wrong.
    right_firsts: tuple[float, float]


@dataclass(frozen=True)
class WeightPicture(FrozenArrays):
    """One weight of a model, at a glance."""

    shape: tuple[int, ...]  # ours
    # Both: of its numbers; the spread is the standard deviation.
    mean: float
    spread: float
    low: float  # its smallest number
    high: float  # its largest
    # int64 [B], numbers in each of B equal intervals from low to high.
    counts: np.ndarray
    edges: np.ndarray  # float64 [B + 1], where the intervals end


@dataclass(frozen=True)
class PaddedPair(FrozenArrays):
    """The shorter of two texts, alone and padded to the length of the longer."""

    tokens: tuple[str, ...]  # T pieces of the shorter one's row, padding at the end
    other_tokens: tuple[str, ...]  # T pieces of the longer one
    # Both: float64 [L + 1], largest difference of a number of its own states from those
    # of the text alone.
    masked_differences: np.ndarray
    unmasked_differences: np.ndarray
    # Both: float64 [L], share of attention that its own tokens give to padding, over
    # heads and tokens, in [0, 1].
    masked_shares: np.ndarray
    unmasked_shares: np.ndarray
    # Of a pass of both in one batch, and of the two one by one; medians.
    seconds: tuple[float, float]
