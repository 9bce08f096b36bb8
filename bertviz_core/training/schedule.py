"""What changes with the steps: the learning rate, and how surely blocks are kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.training.settings import Checked

DECAYS = ("linear", "exponential")


@dataclass(frozen=True)
class StepSettings(Checked):
    """How far weights move at a step of any training."""

    learning_rate: float = 1e-3  # per optimiser step, after warm-up
    warmup_rate: float = 0.02  # share of the steps that it rises
    decay: str = "linear"  # "linear" or "exponential", from the end of the warm-up on
    final_rate: float = 0.0  # share of `learning_rate` that is left at the last step
    weight_decay: float = 0.01  # per unit of learning rate; not for norms and biases
    clip_norm: float = 1.0  # longest gradient, all weights together; 0 does not clip

    def __post_init__(self) -> None:
        fits = 0 < self.learning_rate < math.inf
        self.require("learning_rate", fits, "> 0")
        self.require("warmup_rate", 0 <= self.warmup_rate < 1, "≥ 0, < 1")
        self.require("decay", self.decay in DECAYS, " | ".join(DECAYS))
        fits = 0 <= self.final_rate <= 1
        fits = fits and (self.final_rate > 0 or self.decay == "linear")
        self.require("final_rate", fits, "0 … 1; > 0 (exponential)")
        for name in ("weight_decay", "clip_norm"):
            self.require(name, 0 <= getattr(self, name) < math.inf, "≥ 0")


@dataclass(frozen=True)
class OptimizerSettings(StepSettings):
    """How weights move, beside what `StepSettings` says."""

    name: str = "adamw"  # "adamw", or "muon" for the matrices inside the blocks
    # beta_1, beta_2, epsilon: of Adam's two averages.
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-6
    accumulation: int = 1  # parts that a batch is sent through the model in
    # What a running mean of the weights keeps of itself each step; the mean is then
    # what is judged and shipped. 0 takes none.
    ema_momentum: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        known = ("adamw", "muon")
        self.require("name", self.name in known, " | ".join(known))
        for name in ("beta_1", "beta_2", "ema_momentum"):
            self.require(name, 0 <= getattr(self, name) < 1, "≥ 0, < 1")
        self.require("epsilon", 0 <= self.epsilon < math.inf, "≥ 0")
        self.require("accumulation", self.accumulation >= 1, "≥ 1")
        # Keras would count each part of a batch as a step of the mean.
        fits = self.accumulation == 1 or not self.ema_momentum
        self.require("ema_momentum", fits, "0 (accumulation > 1)")


# Some steps in a row, how many and the highest rate among them.
Stretch = tuple[int, float]


def learning_rate(
    step: Any, stretches: Sequence[Stretch], settings: StepSettings, ops: Any
) -> Any:
    """Rises in a straight line, then falls to `final_rate` at the last step.

    Each of the stretches of a run rises and falls anew. `step`, from 0, is a number or
    an array, the rate likewise; `ops` is `numpy` or `keras.ops`, whichever it is of.

    Source: Linear: Devlin et al. 2019, appendix A.2. Exponential: Goodfellow et al.
    2016, "Deep Learning", section 8.3.1.
    """
    (num_steps, peak), *later = stretches
    rate = peak * _share_of_peak(step, num_steps, settings, ops)
    if not later:
        return rate
    rest = learning_rate(step - num_steps, later, settings, ops)
    return ops.where(step < num_steps, rate, rest)


def _share_of_peak(step: Any, num_steps: int, settings: StepSettings, ops: Any) -> Any:
    warmup_steps = max(1.0, settings.warmup_rate * num_steps)
    rising = (step + 1.0) / warmup_steps
    left = max(num_steps - warmup_steps, 1.0)
    done = ops.clip((step + 1.0 - warmup_steps) / left, 0.0, 1.0)
    if settings.decay == "exponential":
        falling = ops.exp(done * math.log(settings.final_rate))
    else:
        falling = 1.0 - (1.0 - settings.final_rate) * done
    return ops.minimum(rising, falling)


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

    `last` is how surely the last one is, see `keep_rate`.
    """
    return 1.0 - np.arange(1, num_layers + 1) / num_layers * (1.0 - last)
