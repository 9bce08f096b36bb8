"""Which neurons matter for an answer: plain values. NumPy only.

L layers, I neurons of a feed-forward block, F of them chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.cause_results import Prediction, Target
from bertviz_core.trace import FrozenArrays, TokenizedText


@dataclass(frozen=True)
class NeuronEffects(FrozenArrays):
    """The neurons that matter most for a target, of all layers.

    Args:
        target: what is watched.
        tokenized: the text.
        before: from the model as it is.
        num_estimated: how many neurons the best were chosen from, L * I.
        neurons: int64 `[F, 2]`, (layer, neuron) pairs, the largest measured change
            of the probability first, whatever its sign.
        estimated_deltas: float `[F]`, the probability's change as the gradient
            foretells it, off less on.
        probabilities: float64 `[F]`, of the target with this neuron alone off.
        logits: float64 `[F]`, likewise.
    """

    target: Target
    tokenized: TokenizedText
    before: Prediction
    num_estimated: int
    neurons: np.ndarray
    estimated_deltas: np.ndarray
    probabilities: np.ndarray
    logits: np.ndarray

    @property
    def delta_probabilities(self) -> np.ndarray:
        """Float64 `[F]`: off less on; below 0 where the neuron helped the target."""
        return self.probabilities - self.before.probability

    @property
    def delta_logits(self) -> np.ndarray:
        """Float64 `[F]`: off less on."""
        return self.logits - self.before.logit
