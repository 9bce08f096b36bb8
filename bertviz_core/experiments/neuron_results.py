"""Which neurons matter for an answer: plain values. NumPy only.

L layers, I neurons of a feed-forward block, F of them chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.cause_results import AblationMap


@dataclass(frozen=True)
class NeuronEffects(AblationMap):
    """The neurons that matter most for a target, of all layers.

    What `AblationMap` holds in `[L, C]` is here float64 `[F]`, one number for each
    neuron that is switched off alone.

    Args:
        num_estimated: how many neurons the best were chosen from, L * I.
        neurons: int64 `[F, 2]`, (layer, neuron) pairs, the largest measured change
            of `Prediction.value` first, whatever its sign.
        estimated_deltas: float `[F]`, its change as the gradient predicts it,
            off less on.
    """

    num_estimated: int
    neurons: np.ndarray
    estimated_deltas: np.ndarray
