"""How long a run may take and how much memory, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunEstimate:
    """What a run is expected to need.

    Args:
        seconds: from texts to the report: tokens, frozen layers, all epochs with
            their validation, the reading of the test rows in float32, word counts,
            and compiling; early stopping makes it less.
        seconds_per_step: of the two steps that were timed.
        num_steps: optimiser steps of all epochs.
        memory_bytes: weights, their gradients and averages, the best epoch, what is
            copied while an epoch is written to the disk,
            activations of the largest batch, and what is kept of frozen layers.
        seconds_once: of `seconds`, those that are the same however many epochs
            there are.
    """

    seconds: float
    seconds_per_step: float
    num_steps: int
    memory_bytes: int
    seconds_once: float = 0.0

    def seconds_of(self, num_steps: int) -> float:
        """How long the run would take with another number of optimiser steps."""
        rest = self.seconds - self.seconds_once
        return self.seconds_once + rest * num_steps / self.num_steps


@dataclass(frozen=True)
class LevelEstimate:
    """What one level would need.

    Args:
        level: one of `settings.LEVELS`.
        run: time and memory; `None` where the timed steps would not have fitted
            into memory, and were not tried.
        memory_bytes: of a whole run, beside what the machine uses already.
        fits: whether that much memory was free.
    """

    level: str
    run: RunEstimate | None
    memory_bytes: int
    fits: bool


@dataclass(frozen=True)
class TrainingEstimate:
    """What each level would need on this machine, now.

    Args:
        levels: in the order of `settings.LEVELS`, each with its own defaults.
        recommended: the level with the most to learn that fits and takes no
            longer than `patience_seconds`; else "head".
        patience_seconds: see `recommended`.
        free_bytes: memory that was free; 0 when not known.
        is_loaded: another training ran meanwhile, so times are too long.
    """

    levels: tuple[LevelEstimate, ...]
    recommended: str
    patience_seconds: float
    free_bytes: int
    is_loaded: bool

    def level(self, name: str) -> LevelEstimate:
        """The estimate of a level.

        Raises:
            ValueError: no such level.
        """
        for estimate in self.levels:
            if estimate.level == name:
                return estimate
        raise ValueError(f"`name` must be a level. Received: {name!r}.")
