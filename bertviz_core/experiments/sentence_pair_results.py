"""Whether texts follow each other: frozen dataclasses of NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class NextSentence:
    """Whether the second text follows the first, and the other way round.

    Args:
        probability: P(is next), class 0 of the head.
        probability_swapped: the same for (second, first).
    """

    probability: float
    probability_swapped: float


@dataclass(frozen=True)
class ShuffledTest(FrozenArrays):
    """How well the model tells true pairs from shuffled ones.

    Args:
        num_pairs: of each kind.
        probabilities: float64 `[num_pairs]`, P(is next) of the given pairs.
        shuffled: float64 `[num_pairs]`, the same firsts with seconds of others.
        partners: int `[num_pairs]`, which pair each shuffled second is from.
        num_cut: pairs of either kind whose end was left out.
    """

    num_pairs: int
    probabilities: np.ndarray
    shuffled: np.ndarray
    partners: np.ndarray
    num_cut: int

    @property
    def num_right(self) -> int:
        """Of 2 * num_pairs: true ones above one half, shuffled ones not above."""
        return int((self.probabilities > 0.5).sum() + (self.shuffled <= 0.5).sum())

    @property
    def accuracy(self) -> float:
        """Share of right answers; guessing gives one half."""
        return self.num_right / (2 * self.num_pairs)
