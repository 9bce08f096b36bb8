"""What a tiny pre-training run shows while it goes: plain values, nothing heavy."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

# The command that does the same at full size, on a text of your own.
COMMAND = r"""python -m bertviz_core pretrain --config my-text \
    --corpus my_text.txt --out runs/mine"""

MAX_TINY_CHARACTERS = 6000
MAX_TINY_STEPS = 1000


@dataclass(frozen=True)
class TinyLook:
    """One look at the network in training."""

    num_steps: int  # optimiser steps done
    # Mean loss, in nats, of guessing words in the steps since the look before; `None`
    # before the first step.
    loss: float | None
    accuracy: float | None  # share of these guesses that were right; `None` likewise
    # The best words for the fixed sentence with their probabilities, best first.
    guesses: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TinyRun:
    """A tiny BERT that learns from a page of text: the run so far."""

    tokens: tuple[str, ...]  # of the fixed sentence, as the network reads it
    vocab_size: int  # V, words of the page and the special tokens
    num_weights: int  # numbers that are learnt
    num_tokens: int  # length of the page in tokens
    num_steps: int  # of the whole run
    frequency_loss: float  # mean loss, in nats, of a guess by word frequencies alone
    looks: tuple[TinyLook, ...]  # so far, in order

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> TinyRun:
        """Takes what `to_dict` gave, also where tuples have become lists."""
        looks = tuple(
            TinyLook(**{**look, "guesses": tuple(map(tuple, look["guesses"]))})
            for look in raw["looks"]
        )
        return cls(**{**raw, "tokens": tuple(raw["tokens"]), "looks": looks})

    @property
    def below_frequency(self) -> int | None:
        """Steps at the first look that beat word frequencies; `None` without one."""
        for look in self.looks:
            if look.loss is not None and look.loss < self.frequency_loss:
                return look.num_steps
        return None

    @property
    def chance_loss(self) -> float:
        """Mean loss, in nats, of a uniform guess over all words."""
        return math.log(self.vocab_size)

    @property
    def fraction(self) -> float:
        return self.looks[-1].num_steps / self.num_steps if self.looks else 0.0
