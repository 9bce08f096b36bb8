"""The parts every block is made of: projection, layer norm, activation."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.taps import Tensor


def start_values(config: BertConfig, given: Any = None) -> Any:
    """What draws the start of one kernel or table, unless an initializer is `given`.

    Source: google-research/bert, `modeling.py`, `create_initializer`.
    """
    # A fresh one for each weight: sharing one would repeat the same draws.
    if given is None:
        return keras.initializers.TruncatedNormal(stddev=config.initializer_range)
    return keras.initializers.get(given)


class Dense(keras.layers.Layer):
    """An affine map, `x @ kernel + bias`: `[..., input_size]` to `[..., output_size]`.

    Source: google-research/bert stores kernels as `[in, out]`, as here; Hugging Face
    stores them as `[out, in]`.
    """

    def __init__(
        self, input_size: int, output_size: int, kernel_initializer: Any, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.kernel_shape = (input_size, output_size)
        self.kernel_initializer = kernel_initializer

    def build(self, *_: Any) -> None:
        self.kernel = self.add_weight(
            shape=self.kernel_shape, initializer=self.kernel_initializer, name="kernel"
        )
        self.bias = self.add_weight(
            shape=self.kernel_shape[1:], initializer="zeros", name="bias"
        )

    def call(self, x: Tensor) -> Tensor:
        return ops.matmul(x, self.kernel) + self.bias


class LayerNorm(keras.layers.Layer):
    """Moves each vector `[..., H]` to mean 0 and variance 1, then scales and shifts it.

    Computed in float32 also when the model runs in half precision: the variance of 768
    small numbers does not survive bfloat16. A model in float64 keeps its precision. The
    result has the dtype of `x`.

    Source: Ba et al. 2016 (arXiv:1607.06450); the variance divides by H, not H - 1.
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = config.hidden_size
        self.epsilon = config.layer_norm_eps
        self.wide = keras.backend.result_type(self.compute_dtype, "float32")

    def build(self, *_: Any) -> None:
        self.gamma = self._vector("gamma", "ones")
        self.beta = self._vector("beta", "zeros")

    def call(self, x: Tensor) -> Tensor:
        return ops.cast(self.normed(ops.cast(x, self.wide)), x.dtype)

    def normed(self, x: Tensor) -> Tensor:
        """The formula, in the precision of `x`."""
        mean = ops.mean(x, axis=(-1,), keepdims=True)
        centred = x - mean
        variance = ops.mean(ops.square(centred), axis=(-1,), keepdims=True)
        standardized = centred / ops.sqrt(variance + self.epsilon)
        return standardized * self.gamma + self.beta

    def _vector(self, name: str, start: str) -> Any:
        # Without `autocast=False` a half-precision model would round it first.
        return self.add_weight(
            shape=(self.size,),
            initializer=start,
            name=name,
            dtype=self.wide,
            autocast=False,
        )


class Part(keras.layers.Layer):
    """A layer that is made of others, and built with them.

    Args:
        config: sizes and rates.
        kernel_initializer: of all kernels and tables, see `start_values`.
    """

    def __init__(
        self, config: BertConfig, kernel_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.config, self.kernel_initializer = config, kernel_initializer

    def build(self, *_: Any) -> None:
        for part in self._flatten_layers(include_self=False, recursive=False):
            if not isinstance(part, keras.layers.Dropout):
                part.build()

    def _dense(self, name: str, input_size: int, output_size: int) -> Dense:
        start = start_values(self.config, self.kernel_initializer)
        return Dense(input_size, output_size, start, name=name, dtype=self.dtype_policy)

    def _norm(self, name: str) -> LayerNorm:
        return LayerNorm(self.config, name=name, dtype=self.dtype_policy)

    def _dropout(self, rate: float) -> Any:
        return keras.layers.Dropout(rate, dtype=self.dtype_policy)


def gelu(x: Tensor) -> Tensor:
    """X * Phi(x), Phi the cumulative normal distribution.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """
    return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


def gelu_tanh(x: Tensor) -> Tensor:
    """The tanh approximation of `gelu`.

    Source: Hendrycks and Gimpel 2016, section 2, with its constant 0.044715;
    google-research/bert, `modeling.py`, `gelu`, since commit bee6030 (2019).
    """
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + ops.tanh(inner))


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu": gelu,
    "gelu_new": gelu_tanh,
    "relu": ops.relu,
    "swish": ops.silu,
}
