"""What a fine-tuning run is to do: one frozen dataclass, from and to JSON."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.training.schedule import StepSettings, learning_rate
from bertviz_core.training.settings import PRECISIONS

# head: the encoder stays as it is, and what it says of each row is computed once.
# top: the upper layers learn. full: everything learns.
LEVELS = ("head", "top", "full")

# Devlin et al. 2019, appendix A.3, gives 2e-5 to 5e-5 for everything; a fresh
# head alone has far fewer weights and takes larger steps. Both are for layers of
# `_USUAL_SIZE`; see `FinetuneSettings.proposed` for others.
DEFAULT_LEARNING_RATES = {"head": 1e-3, "top": 5e-5, "full": 3e-5}
DEFAULT_EPOCHS = {"head": 30, "top": 4, "full": 3}
# Epochs of a head alone are short and many, and the first of them change little.
DEFAULT_PATIENCE = {"head": 10, "top": 2, "full": 2}
_EXPONENTIAL_FINAL_RATE = 0.1
_USUAL_SIZE, _LARGEST_RATE = 768, 1e-3
# Fewer optimiser steps than these leave a fresh head as it was drawn.
_FEWEST_STEPS, _MOST_EPOCHS = 300, 20
# Pages draw every epoch, and an address that somebody wrote may hold any number.
MAX_EPOCHS = 1_000
_LARGEST = 2**31 - 1  # what a seed of NumPy and a number box of a page both take


@dataclass(frozen=True)
class FinetuneSettings(StepSettings):
    """How a run learns, beside what `StepSettings` says.

    Weights decay at every eighth step, for eight of them. A `final_rate` of 0, which an
    exponential never reaches, takes a tenth. A value that cannot be is a
    `TrainingError`.
    """

    learning_rate: float = 0.0  # 0 takes the level's default
    warmup_rate: float = 0.1
    level: str = "full"  # one of `LEVELS`
    num_top_layers: int = 2  # layers that learn at level "top"
    epochs: int = -1  # at most `MAX_EPOCHS`; -1 takes the level's default
    batch_size: int = 16  # rows per optimiser step
    max_tokens: int = 128  # T at most, special tokens counted; longer texts are cut
    # Epochs in a row without a better one before the end; 0 never, -1 the default.
    patience: int = -1
    class_weights: bool = False  # every class counts alike, however many its rows
    # Repeats training rows until every class has as many as the largest; instead of
    # `class_weights`.
    oversample: bool = False
    precision: str = "auto"  # "float32", "bfloat16", or "auto": see `chosen_precision`
    seed: int = 1  # of the new head, the order of rows, and dropout

    def __post_init__(self) -> None:
        self._require_bounds()
        # What is not chosen is written down, so that a recipe says all.
        if self.epochs == -1:
            object.__setattr__(self, "epochs", DEFAULT_EPOCHS[self.level])
        if self.patience == -1:
            object.__setattr__(self, "patience", DEFAULT_PATIENCE[self.level])
        if self.learning_rate == 0:
            rate = DEFAULT_LEARNING_RATES[self.level]
            object.__setattr__(self, "learning_rate", rate)
        if self.decay == "exponential" and self.final_rate == 0:
            object.__setattr__(self, "final_rate", _EXPONENTIAL_FINAL_RATE)
        super().__post_init__()

    @classmethod
    def proposed(
        cls, hidden_size: int, num_rows: int, **chosen: Any
    ) -> FinetuneSettings:
        """Settings that suit a model and a table, where nothing else was chosen.

        Narrow layers take larger steps: on the library sample table, a model of hidden
        size 256 got 0.37 of the rows right at BERT-base's learning rate and 3 epochs,
        0.55 at ten times that, and 0.70 with more epochs. Mosbach et al. 2021
        (arXiv:2006.04884) ask for more epochs on few rows likewise.

        Of what was `chosen`, -1 for `epochs` and 0 for `learning_rate` propose one. An
        epoch learns from `num_rows`. For what is raised see the class.
        """
        settings = cls(**chosen)
        if settings.level == "head":  # one layer at any size, and many epochs
            return settings
        proposed: dict[str, Any] = {}
        if not chosen.get("learning_rate"):
            narrow = (_USUAL_SIZE / hidden_size) ** 2
            rate = min(settings.learning_rate * narrow, _LARGEST_RATE)
            proposed["learning_rate"] = float(f"{rate:.1e}")
        if chosen.get("epochs", -1) == -1:
            in_epoch = max(steps_per_epoch(num_rows, settings.batch_size), 1)
            enough = min(math.ceil(_FEWEST_STEPS / in_epoch), _MOST_EPOCHS)
            proposed["epochs"] = max(settings.epochs, enough)
        return dataclasses.replace(settings, **proposed)

    def _require_bounds(self) -> None:
        for name, known in (("level", LEVELS), ("precision", PRECISIONS)):
            self.require(name, getattr(self, name) in known, " | ".join(known))
        for name in ("num_top_layers", "batch_size"):
            fits = 1 <= getattr(self, name) <= _LARGEST
            self.require(name, fits, f"≥ 1, ≤ {_LARGEST}")
        fits = self.epochs == -1 or 1 <= self.epochs <= MAX_EPOCHS
        self.require("epochs", fits, f"≥ 1, ≤ {MAX_EPOCHS}")
        self.require("seed", 0 <= self.seed <= _LARGEST, f"≥ 0, ≤ {_LARGEST}")
        fits = -1 <= self.patience <= _LARGEST
        self.require("patience", fits, f"≥ -1, ≤ {_LARGEST}")
        fits = 3 <= self.max_tokens <= _LARGEST
        self.require("max_tokens", fits, f"≥ 3, ≤ {_LARGEST}")
        both = self.class_weights and self.oversample
        self.require("oversample", not both, "class_weights | oversample")


def steps_per_epoch(num_rows: int, batch_size: int) -> int:
    """Optimiser steps in which every row is seen once."""
    return math.ceil(num_rows / batch_size)


def count_steps(settings: FinetuneSettings, num_rows: int) -> int:
    """Optimiser steps of all epochs."""
    return settings.epochs * steps_per_epoch(num_rows, settings.batch_size)


def learning_rates(
    settings: FinetuneSettings, num_rows: int, steps: np.ndarray
) -> np.ndarray:
    """Rates float64 `[S]` at steps int `[S]`, from 0: what is drawn is what is used."""
    whole = ((count_steps(settings, num_rows), settings.learning_rate),)
    return learning_rate(steps.astype("float64"), whole, settings, np)
