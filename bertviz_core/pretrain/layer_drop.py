"""Progressive layer drop: how surely each block is kept at each step."""

from __future__ import annotations

import math

import numpy as np

from bertviz_core.pretrain.settings import PretrainSettings

# How fast layers begin to be dropped: after a hundredth of the run the keep rate
# has gone most of its way. Source: Zhang and He 2020 (arXiv:2010.13369), section 4.2.
DROP_SPEED = 100.0


def keep_rate(
    step: int, num_steps: int, final: float, speed: float = DROP_SPEED
) -> float:
    """How surely the last block is kept: 1 at first, `final` in the end.

    Source: Zhang and He 2020, section 4.2, equation 6.
    """
    return (1.0 - final) * math.exp(-speed * step / num_steps) + final


def keep_rates(num_layers: int, last: float) -> np.ndarray:
    """How surely each block is kept, float64 `[L]`: the deeper, the less.

    Args:
        num_layers: L.
        last: how surely the last one is, from `keep_rate`.
    """
    return 1.0 - np.arange(1, num_layers + 1) / num_layers * (1.0 - last)


def layer_scales(
    settings: PretrainSettings, step: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws which blocks a step goes through.

    Deeper blocks are dropped more often. What a kept block adds is divided by how
    surely it is kept, so that its mean over many steps is that of the whole model.

    Args:
        settings: layers, `layer_keep_rate`, number of steps.
        step: optimiser step from 0.
        rng: decides.

    Returns:
        float32 `[L]`: 0 drops a block, 1 / probability keeps it.

    Source:
        Zhang and He 2020 (arXiv:2010.13369), algorithm 1.
    """
    last = keep_rate(step, settings.num_steps, settings.layer_keep_rate)
    probabilities = keep_rates(settings.model.num_hidden_layers, last)
    is_kept = rng.random(len(probabilities)) < probabilities
    return (is_kept / probabilities).astype("float32")
