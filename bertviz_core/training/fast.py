"""The layers of a model in training: equal to the plain ones, and faster to derive.

On two cores most of a step of a small model is not products but passes over memory. So
gradients are written out where fewer passes give the same, sums over rows are products
with ones, and nothing is computed that nobody reads. Each piece is tested against the
automatic gradient of the plain formula.
"""

import functools
import math
import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

from bertviz_core.model.attention import SelfAttention
from bertviz_core.model.bert import Bert
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.layers import Dense, LayerNorm, gelu
from bertviz_core.model.taps import Tap, Tensor, untouched

# From the gradient of a result to those of what it was computed from.
Rule = Callable[[Tensor], Any]


def made_fast(bert: Bert, for_first_token: bool = False) -> Bert:
    """Turns a model into one that is trained faster, in place, and returns it.

    Its layers stay the objects that they are and get another class: so weights, their
    paths, the states of dropout and whatever holds a layer or a checkpoint of it stay
    those of the plain model, and nobody but a trainer knows of the fast one. For a head
    that reads no other token, `for_first_token` has the last block leave out all but
    the first.
    """
    for layer in bert._flatten_layers():
        layer.__class__ = FAST.get(type(layer), type(layer))
        if getattr(layer, "activation", None) is gelu:
            layer.activation = fast_gelu
    if for_first_token:
        bert.blocks[-1].__class__ = FirstTokenBlock
    return bert


def with_gradient(formula: Callable[..., tuple[Tensor, Rule]]) -> Callable[..., Tensor]:
    """Has the backend take the gradient that a formula gives along with its result."""

    @functools.wraps(formula)
    def call(*args: Tensor) -> Tensor:
        @ops.custom_gradient
        def both(*args: Tensor) -> tuple[Tensor, Callable[..., Any]]:
            result, rule = formula(*args)

            # TensorFlow and JAX give that of the result by place, torch by name.
            def gradient(*given: Tensor, upstream: Tensor | None = None) -> Any:
                return rule(given[0] if upstream is None else upstream)

            return result, gradient

        return both(*args)

    return call


def forget_gradients() -> None:
    """Has TensorFlow let go of the graphs of trainings that are over.

    It registers each of these gradients that a graph holds, under a name that is used
    once, and never forgets it, nor the graph: 30 MB a training. A tape does not look
    there; what derives a graph without one, as pre-training with `remat`, must be over.
    """
    if keras.backend.backend() != "tensorflow":
        return
    from tensorflow.python.framework.ops import gradient_registry

    registered = gradient_registry._registry
    for name, entry in list(registered.items()):
        if name.startswith("CustomGradient-") and _is_ours(entry["type"]):
            registered.pop(name, None)


def _is_ours(function: Callable[..., Any], depth: int = 3) -> bool:
    """Whether what TensorFlow made of a gradient calls one of this file."""
    for cell in function.__closure__ or ():
        try:
            inside = cell.cell_contents
        except ValueError:  # it is empty
            continue
        if isinstance(inside, types.FunctionType) and (
            inside.__module__ == __name__ or (depth and _is_ours(inside, depth - 1))
        ):
            return True
    return False


class FastDense(Dense):
    """`Dense` in rows, as TensorFlow sums those of a gradient at half the speed."""

    def call(self, x: Tensor) -> Tensor:
        others, (size, output_size) = ops.shape(x)[:-1], self.kernel_shape
        # A function with a gradient of its own takes what is in a variable, not itself.
        kernel = ops.cast(self.kernel, self.compute_dtype)
        bias = ops.cast(self.bias, self.compute_dtype)
        y = _affine(ops.reshape(x, (-1, size)), kernel, bias)
        return ops.reshape(y, (*others, output_size))


@with_gradient
def _affine(x: Tensor, kernel: Tensor, bias: Tensor) -> tuple[Tensor, Rule]:
    def gradient(given: Tensor) -> tuple[Tensor, ...]:
        to_x = ops.matmul(given, ops.transpose(kernel))
        return to_x, ops.matmul(ops.transpose(x), given), _sum_of_rows(given)

    return ops.matmul(x, kernel) + bias, gradient


def _sum_of_rows(x: Tensor) -> Tensor:
    """`[R, I]` to `[I]`; as a product, which both cores compute at once."""
    return ops.matmul(ops.ones((1, ops.shape(x)[0]), x.dtype), x)[0]


class FastLayerNorm(LayerNorm):
    """`LayerNorm` with its gradients in fewer operations than line by line.

    With n the vector of mean 0 and variance 1, s the inverse standard deviation and g
    the gradient of n, that of x is s * (g - mean(g) - n * mean(g * n)).
    """

    def normed(self, x: Tensor) -> Tensor:
        size, epsilon = self.size, self.epsilon

        @with_gradient
        def normed(x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Rule]:
            mean = ops.mean(x, axis=-1, keepdims=True)
            centred = x - mean
            variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
            scale = ops.rsqrt(variance + epsilon)
            standardized = centred * scale

            def gradient(given: Tensor) -> tuple[Tensor, ...]:
                # Means over a vector and sums over rows are products of matrices: g is
                # what is given times gamma.
                rows, flat = (ops.reshape(x, (-1, size)) for x in (given, standardized))
                weights, product = gamma[:, None] / size, rows * flat
                moved = ops.matmul(rows, weights) + flat * ops.matmul(product, weights)
                to_x = ops.reshape(scale, (-1, 1)) * (rows * gamma - moved)
                to_x = ops.reshape(to_x, ops.shape(standardized))
                return to_x, _sum_of_rows(product), _sum_of_rows(rows)

            return standardized * gamma + beta, gradient

        return normed(
            x, ops.cast(self.gamma, self.wide), ops.cast(self.beta, self.wide)
        )


@with_gradient
def fast_gelu(x: Tensor) -> tuple[Tensor, Rule]:
    """`gelu`, whose gradient is Phi(x) + x * phi(x), phi the density."""
    below = 0.5 + 0.5 * ops.erf(x * math.sqrt(0.5))  # Phi(x)

    def gradient(given: Tensor) -> Tensor:
        density = ops.exp(-0.5 * ops.square(x)) * (1.0 / math.sqrt(2.0 * math.pi))
        return given * (below + x * density)

    return x * below, gradient


class FastSelfAttention(SelfAttention):
    """`SelfAttention` that computes two of its activations another way in training.

    Nothing reads the results of the plain formula then, so no graph computes them.
    """

    def call(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        if not training:
            return super().call(hidden_states, attention_mask, tap, training)
        seen: dict[str, Tensor] = {}

        def faster(name: str, value: Tensor) -> Tensor:
            if name == "scores":  # scaled before the product: there are fewer queries
                query = seen["query"] / math.sqrt(self.config.head_size)
                value = ops.matmul(query, ops.swapaxes(seen["key"], -1, -2))
            elif name == "head_context":
                value = self._dropped_sum(seen["masked_scores"], seen["value"])
            seen[name] = tap(name, value)
            return seen[name]

        # Without dropout, which is in the sum.
        return super().call(hidden_states, attention_mask, faster, training=False)

    def _dropped_sum(self, scores: Tensor, value: Tensor) -> Tensor:
        if self.dropout.rate == 0:
            return _weighted_sum(scores, value, None)
        # The values are scaled up for the weights: there are fewer of them.
        kept = self.dropout.kept(scores)
        return _weighted_sum(scores, value * self.dropout.scale, kept)


def _weighted_sum(scores: Tensor, value: Tensor, kept: Tensor | None) -> Tensor:
    """`(softmax(scores) * kept) @ value`, with a gradient that passes less often.

    The gradient of a softmax subtracts from that of each probability the mean of its
    row, weighted by the probabilities. That mean is context times its gradient, summed
    over the head, which is far shorter than a row.

    Source: Dao et al. 2022 (arXiv:2205.14135), appendix B.2.
    """

    def drop(x: Tensor) -> Tensor:
        return x if kept is None else x * kept

    @with_gradient
    def weighted_sum(scores: Tensor, value: Tensor) -> tuple[Tensor, Rule]:
        probs = ops.softmax(scores, axis=-1)
        used = drop(probs)
        context = ops.matmul(used, value)

        def gradient(given: Tensor) -> tuple[Tensor, Tensor]:
            to_probs = drop(ops.matmul(given, ops.swapaxes(value, -1, -2)))
            mean = ops.sum(given * context, axis=-1, keepdims=True)
            to_value = ops.matmul(ops.swapaxes(used, -1, -2), given)
            return probs * (to_probs - mean), to_value

        return context, gradient

    return weighted_sum(scores, value)


class ByteDropout(keras.layers.Dropout):
    """Sets numbers to 0 by chance in training, and scales up the rest.

    Drawing takes most of the time of a dropout, so a draw of 32 bits decides for four
    numbers: the rate is rounded to a 256th (above 0 at least 1 / 256, below 1 at most
    255 / 256), and what is kept is scaled by just that. The expected value is `x`.

    Source: Srivastava et al. 2014, "Dropout: A simple way to prevent neural networks
    from overfitting"; scaled in training as in google-research/bert, `modeling.py`,
    `dropout`.
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


class FirstTokenBlock(EncoderBlock):
    """`EncoderBlock` where the first token alone looks: `[B, T, H]` to `[B, 1, H]`."""

    def call(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        tap: Tap = untouched,
        training: bool | None = None,
    ) -> tuple[Tensor, Tensor]:
        attention, source = self.attention, hidden_states
        if self.pre_norm:
            source = self.attention_norm(source)
        of_all = {
            "attention.key": attention._split_heads(attention.key(source)),
            "attention.value": attention._split_heads(attention.value(source)),
        }
        if attention_mask is not None and len(attention_mask.shape) > 2:
            attention_mask = attention_mask[..., :1, :]  # of the axis Q

        def seeing_all(name: str, value: Tensor) -> Tensor:
            return tap(name, of_all.get(name, value))

        return super().call(hidden_states[:, :1], attention_mask, seeing_all, training)


FAST: Mapping[type, type] = {
    Dense: FastDense,
    LayerNorm: FastLayerNorm,
    SelfAttention: FastSelfAttention,
    keras.layers.Dropout: ByteDropout,
}
