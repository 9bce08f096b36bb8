"""What changes with the step: the phase, and how many layers are kept."""

from __future__ import annotations

import math

import numpy as np

from bertviz_core.pretrain.settings import PretrainSettings

# How fast layers begin to be dropped: after a hundredth of the run the keep rate
# has gone most of its way. Source: Zhang and He 2020 (arXiv:2010.13369), section 4.2.
_DROP_SPEED = 100.0


def keep_rate(step: int, num_steps: int, final: float) -> float:
    """How surely the last block is kept: 1 at first, `final` in the end.

    Source: Zhang and He 2020, section 4.2, equation 6.
    """
    return (1.0 - final) * math.exp(-_DROP_SPEED * step / num_steps) + final


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
    layers = settings.model.num_hidden_layers
    final = keep_rate(step, settings.num_steps, settings.layer_keep_rate)
    depth = np.arange(1, layers + 1) / layers
    probabilities = 1.0 - depth * (1.0 - final)
    is_kept = rng.random(layers) < probabilities
    return (is_kept / probabilities).astype("float32")


def locate(settings: PretrainSettings, step: int) -> tuple[int, int]:
    """Finds the phase of a step.

    Returns:
        `(phase_index, step within it)`.
    """
    for index, phase in enumerate(settings.phases):
        if step < phase.num_steps:
            return index, step
        step -= phase.num_steps
    raise ValueError(f"`step` must be below {settings.num_steps}.")


def tokens_seen(settings: PretrainSettings, num_steps: int) -> int:
    """Token places in the first steps of a run, padding counted."""
    total = 0
    for phase in settings.phases:
        steps = min(num_steps, phase.num_steps)
        total += steps * phase.num_rows * phase.max_tokens
        num_steps -= steps
    return total
