"""How long a run may take and how much memory, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunEstimate:
    """What a run is expected to need.

    Args:
        seconds: of all epochs, validation and frozen layers included; early
            stopping makes it less.
        seconds_per_step: of the two steps that were timed.
        num_steps: optimiser steps of all epochs.
        memory_bytes: weights, their gradients and averages, the best epoch,
            activations of a batch, and what is kept of frozen layers.
    """

    seconds: float
    seconds_per_step: float
    num_steps: int
    memory_bytes: int
