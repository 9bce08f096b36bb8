"""Dropout with half the random numbers."""

from __future__ import annotations

import keras
from keras import ops

from bertviz_core.model.layers import Tensor

# A random float32 below 1 has 23 bits: 11 decide for one number, 12 for another.
_FIRST_BITS = 2.0**11


class Dropout(keras.layers.Dropout):
    """Sets numbers to 0 by chance in training, and scales up the rest.

    Drawing takes most of the time of a dropout, so each draw decides for two numbers;
    the rate is met to 1 / 4,096.

    Args:
        rate: how likely a number becomes 0.

    Call arguments:
        x: float, of any shape.
        training: turns dropout on.

    Returns:
        As `x`; its expected value is `x`.

    Source:
        Srivastava et al. 2014, "Dropout: A simple way to prevent neural networks
        from overfitting"; scaled in training as in google-research/bert,
        `modeling.py`, `dropout`.
    """

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        if not training or self.rate == 0:
            return x
        *others, size = ops.shape(x)
        draws = keras.random.uniform(
            (*others, (size + 1) // 2), dtype="float32", seed=self.seed_generator
        )
        rest = draws * _FIRST_BITS
        rest = rest - ops.floor(rest)
        kept = ops.concatenate([draws >= self.rate, rest >= self.rate], axis=-1)
        scale = ops.cast(kept[..., :size], x.dtype) * (1.0 / (1.0 - self.rate))
        return x * scale
