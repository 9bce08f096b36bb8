"""Named activations: what a forward pass shows of itself, and what is put in its place.

Every layer hands each of its results to a `Tap` by name and goes on with what it gets
back. The names of a whole model:

    embeddings.word, .token_type             what is looked up      [B, T, H]
    embeddings.position                      the same for all texts [T, H]
    embeddings.sum, .norm                    added up; after the norm
    layer.3.attention.query, .key, .value    of each head           [B, N, T, D]
    layer.3.attention.scores                 q . k / sqrt(D)        [B, N, Q, K]
    layer.3.attention.masked_scores          less what is hidden
    layer.3.attention.probs                  rows over K sum to 1
    layer.3.attention.head_context           probs @ value          [B, N, Q, D]
    layer.3.attention.context, .output       heads joined; projected [B, T, H]
    layer.3.attention.residual, .norm        added on; normed
    layer.3.mlp.pre, .post                   around the activation  [B, T, I]
    layer.3.mlp.output, .residual, .norm     projected; added on; normed [B, T, H]
    final_norm                               of a pre-norm model
    pooler.pre, .output                      around tanh            [B, H]
    mlm.pre, .post, .norm, .logits           the masked-word head   [P, H], [P, V]
    nsp.logits, classifier.logits            the heads of [CLS]     [B, C]

In a pre-norm layer the two norms come before attention and mlp and the residuals are
what leaves each half.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from keras import ops

Tensor = Any  # a tensor of the Keras backend in use, or a symbolic one
Tap = Callable[[str, Tensor], Tensor]


def untouched(name: str, value: Tensor) -> Tensor:
    """The tap that nobody listens at."""
    return value


def within(tap: Tap, place: str) -> Tap:
    """A tap for a part of the model, whose names begin with the part's."""
    if tap is untouched:
        return tap
    return lambda name, value: tap(f"{place}.{name}", value)


class Taps:
    """Keeps some activations and changes others, by name.

    Args:
        keep: names of activations to keep.
        scale: what to multiply an activation by.
        replace: what to put in the place of an activation. What only that was computed
            from is then never computed in a compiled function.

    Attributes:
        kept: the activations by name, after they were changed.
    """

    def __init__(
        self,
        keep: Collection[str] = (),
        scale: Mapping[str, Tensor] | None = None,
        replace: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.keep, self.scale, self.replace = keep, scale or {}, replace or {}
        self.kept: dict[str, Tensor] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if name in self.replace:
            value = ops.cast(self.replace[name], value.dtype)
        if name in self.scale:
            value = value * ops.cast(self.scale[name], value.dtype)
        if name in self.keep:
            self.kept[name] = value
        return value
