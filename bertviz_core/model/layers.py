"""The parts every block is made of: projection, layer norm, activation.

Shapes in comments, here and in the files beside it: B batch, T tokens, Q query
tokens, K key tokens (Q = K = T in BERT), N heads, D head size, H hidden size
(H = N * D), I intermediate size, L layers, V vocabulary, P asked positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from bertviz_core.config import BertConfig

Tensor = Any  # a tensor of the Keras backend in use, or a symbolic one


def initializer(config: BertConfig) -> keras.initializers.Initializer:
    """A fresh initializer; sharing one object would repeat the same draws.

    A spread of 0 gives zeros without drawing, for a loader that fills all weights.
    """
    if config.initializer_range == 0:
        return keras.initializers.Zeros()
    return keras.initializers.TruncatedNormal(stddev=config.initializer_range)


class Dense(keras.layers.Layer):
    """An affine map of the last axis, `x @ kernel + bias`.

    Args:
        input_size: size of the last axis of `x`.
        output_size: size of the last axis of the result.
        config: reads `initializer_range`.

    Call arguments:
        x: float `[..., input_size]`.

    Returns:
        float `[..., output_size]`.

    Source:
        google-research/bert stores kernels as `[in, out]`, as here; Hugging
        Face stores them as `[out, in]`.
    """

    def __init__(
        self, input_size: int, output_size: int, config: BertConfig, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.kernel_shape = (input_size, output_size)
        self.kernel_initializer = initializer(config)

    def build(self, *_: Any) -> None:
        self.kernel = self.add_weight(
            shape=self.kernel_shape, initializer=self.kernel_initializer, name="kernel"
        )
        self.bias = self.add_weight(
            shape=self.kernel_shape[1:], initializer="zeros", name="bias"
        )

    def call(self, x: Tensor) -> Tensor:
        others, (size, output_size) = ops.shape(x)[:-1], self.kernel_shape
        # A function with a gradient of its own takes what is in a variable, not itself.
        kernel = ops.cast(self.kernel, self.compute_dtype)
        bias = ops.cast(self.bias, self.compute_dtype)
        y = _affine(ops.reshape(x, (-1, size)), kernel, bias)
        return ops.reshape(y, (*others, output_size))


class LayerNorm(keras.layers.Layer):
    """Moves each vector to mean 0 and variance 1, then scales and shifts it.

    Computed in float32 also when the model runs in half precision: the
    variance of 768 small numbers does not survive bfloat16. A model in float64
    keeps its precision.

    Args:
        config: reads `hidden_size` and `layer_norm_eps`.

    Call arguments:
        x: float `[..., H]`.

    Returns:
        float `[..., H]`, of the dtype of `x`.

    Source:
        Ba et al. 2016 (arXiv:1607.06450); the variance divides by H, not H - 1.
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
        @ops.custom_gradient
        def standardize(
            x: Tensor, gamma: Tensor, beta: Tensor
        ) -> tuple[Tensor, Callable[..., Any]]:
            mean = ops.mean(x, axis=-1, keepdims=True)
            centred = x - mean
            variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
            scale = ops.rsqrt(variance + self.epsilon)
            normed = centred * scale
            y = normed * gamma + beta
            return y, _gradient_of_norm(normed, scale, gamma)

        gamma, beta = ops.cast(self.gamma, self.wide), ops.cast(self.beta, self.wide)
        return ops.cast(standardize(ops.cast(x, self.wide), gamma, beta), x.dtype)

    def _vector(self, name: str, start: str) -> Any:
        # Without `autocast=False` a half-precision model would round it first.
        return self.add_weight(
            shape=(self.size,),
            initializer=start,
            name=name,
            dtype=self.wide,
            autocast=False,
        )


def first(x: Tensor, count: int | None, axis: int) -> Tensor:
    """The first so many entries along an axis; `None`: all, without a copy."""
    if count is None:
        return x
    return x[(slice(None),) * axis + (slice(count),)]


def gradient_rule(rule: Callable[[Tensor], Any]) -> Callable[..., Any]:
    """Makes of what takes the gradient of a result what `ops.custom_gradient` wants.

    TensorFlow and JAX give that gradient by place, torch gives it by name.
    """

    def gradient(*args: Tensor, upstream: Tensor | None = None) -> Any:
        return rule(args[0] if upstream is None else upstream)

    return gradient


@ops.custom_gradient
def _affine(
    x: Tensor, kernel: Tensor, bias: Tensor
) -> tuple[Tensor, Callable[..., Any]]:
    """`x @ kernel + bias` of rows `[R, I]`.

    On TensorFlow the sum of rows that the bias gets is half as fast as this product.
    """

    @gradient_rule
    def gradient(given: Tensor) -> tuple[Tensor, ...]:
        to_x = ops.matmul(given, ops.transpose(kernel))
        return to_x, ops.matmul(ops.transpose(x), given), _sum_of_rows(given)

    return ops.matmul(x, kernel) + bias, gradient


def _gradient_of_norm(
    normed: Tensor, scale: Tensor, gamma: Tensor
) -> Callable[..., Any]:
    """The gradients of a layer norm, in fewer operations than line by line.

    With n the vector of mean 0 and variance 1, s the inverse standard deviation and g
    the gradient of n, that of x is s * (g - mean(g) - n * mean(g * n)).
    """
    size = gamma.shape[0]  # known also where the shape of what comes is open

    @gradient_rule
    def gradient(given: Tensor) -> tuple[Tensor, ...]:
        rows, flat = (ops.reshape(x, (-1, size)) for x in (given, normed))
        weights, product = gamma[:, None] / size, rows * flat
        # Means over a vector and sums over rows are products of matrices: g is that of
        # the result times gamma.
        moved = ops.matmul(rows, weights) + flat * ops.matmul(product, weights)
        to_x = ops.reshape(scale, (-1, 1)) * (rows * gamma - moved)
        return (
            ops.reshape(to_x, ops.shape(normed)),
            _sum_of_rows(product),
            _sum_of_rows(rows),
        )

    return gradient


def _sum_of_rows(x: Tensor) -> Tensor:
    """`[R, I]` to `[I]`; as a product, which both cores compute at once."""
    return ops.matmul(ops.ones((1, ops.shape(x)[0]), x.dtype), x)[0]


def gelu_erf(x: Tensor) -> Tensor:
    """X * Phi(x), Phi the cumulative normal distribution.

    Its gradient is Phi(x) + x * phi(x), phi the density.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """
    return _gelu_erf(x)


@ops.custom_gradient
def _gelu_erf(x: Tensor) -> tuple[Tensor, Callable[..., Tensor]]:
    below = 0.5 + 0.5 * ops.erf(x * math.sqrt(0.5))  # Phi(x)

    @gradient_rule
    def gradient(given: Tensor) -> Tensor:
        density = ops.exp(-0.5 * ops.square(x)) * (1.0 / math.sqrt(2.0 * math.pi))
        return given * (below + x * density)

    return x * below, gradient


def gelu_tanh(x: Tensor) -> Tensor:
    """The tanh approximation of `gelu_erf`.

    Source: Hendrycks and Gimpel 2016, section 2, with its constant 0.044715;
    google-research/bert, `modeling.py`, `gelu`, since commit bee6030 (2019).
    """
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + ops.tanh(inner))


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": gelu_erf,
    "gelu_new": gelu_tanh,
    "relu": ops.relu,
    "swish": ops.silu,
}
