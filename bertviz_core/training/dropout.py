"""Dropout with a quarter of the random numbers."""

from __future__ import annotations

import math

import keras
from keras import ops

from bertviz_core.model.taps import Tensor


class ByteDropout(keras.layers.Dropout):
    """Sets numbers to 0 by chance in training, and scales up the rest.

    Drawing takes most of the time of a dropout, so a draw of 32 bits decides for four
    numbers: the rate is rounded to a 256th, and what is kept is scaled by just that.

    Args:
        rate: how likely a number becomes 0; above 0 at least 1 / 256, below 1 at most
            255 / 256.

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
        return x * (self.kept(x) * self.scale)

    @property
    def scale(self) -> float:
        """What a kept number is multiplied by."""
        return 256.0 / (256.0 - self._bound)

    def kept(self, x: Tensor) -> Tensor:
        """Draws 1 for each number that is kept and 0 for each that is not, as `x`."""
        shape = ops.shape(x)
        count = math.prod(shape)
        draws = keras.random.randint(
            ((count + 3) // 4, 1), -(2**31), 2**31 - 1, seed=self.seed_generator
        )
        numbers = ops.reshape(ops.view(draws, "uint8"), (-1,))[:count]
        return ops.cast(ops.reshape(numbers, shape) >= self._bound, x.dtype)

    @property
    def _bound(self) -> int:
        """A random byte below it drops."""
        return min(max(round(256 * self.rate), 1), 255)
