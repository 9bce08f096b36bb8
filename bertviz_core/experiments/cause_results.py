"""Questions to an experiment about causes, and its answers: plain values.

A page may import this: NumPy only. L layers, N heads, T tokens, I neurons of a
feed-forward block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays, TokenizedText

TARGET_HEADS = ("mlm", "nsp", "classifier")
# Columns of a map of parts, see `ablation.ablate_parts`.
ABLATED_PARTS = ("attention", "feed_forward", "both")


@dataclass(frozen=True)
class Answers(FrozenArrays):
    """The likeliest answers before and after a change, and the watched one.

    Args:
        ids: int `[M]`, the likeliest before first.
        values: float64 `[2, M]`, before and after: probabilities, or the number of a
            head that says one.
        ranks: int `[2, M]`, among all answers, 1 = likeliest.
    """

    ids: np.ndarray
    values: np.ndarray
    ranks: np.ndarray


@dataclass(frozen=True)
class Target:
    """The one answer of the model that an experiment watches.

    Args:
        head: "mlm", "nsp" or "classifier".
        index: a token id, 0 (is next) or 1 (random), or a class.
        position: index of the token whose word is predicted; 0 for the other
            heads, which read the first token alone.

    Raises:
        ValueError: another head, a negative number, or a position for a head
            that has none.
    """

    head: str
    index: int
    position: int = 0

    def __post_init__(self) -> None:
        if self.head not in TARGET_HEADS:
            raise ValueError(f"`head` must be one of {TARGET_HEADS}. Received: {self}.")
        if self.index < 0 or self.position < 0:
            raise ValueError(f"A target's numbers must not be negative: {self}.")
        if self.head != "mlm" and self.position:
            raise ValueError(f"Only a word has a position. Received: {self}.")


@dataclass(frozen=True)
class Edge:
    """One arrow of attention.

    Args:
        from_token: index of the token that looks.
        to_token: index of the token that is looked at.
        layer: 0 to L - 1; `None` for all layers.
        head: 0 to N - 1; `None` for all heads.
    """

    from_token: int
    to_token: int
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Switches:
    """What to switch off; empty leaves the model as it is.

    Args:
        heads: (layer, head) pairs.
        attention: layers whose attention is switched off in all heads.
        feed_forward: layers whose feed-forward block is switched off.
        edges: arrows to cut.
        neurons: (layer, neuron) pairs of the feed-forward blocks.
    """

    heads: tuple[tuple[int, int], ...] = ()
    attention: tuple[int, ...] = ()
    feed_forward: tuple[int, ...] = ()
    edges: tuple[Edge, ...] = ()
    neurons: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Prediction:
    """What the model says about a target.

    Args:
        logit: of the target, before softmax.
        probability: of the target. Always 1 for a head with one output, a
            regression: read the logit there.
        rank: of the target among all answers, 1 = likeliest.
        is_number: whether the head has one output: it says a number, not a class.
    """

    logit: float
    probability: float
    rank: int
    is_number: bool

    @property
    def value(self) -> float:
        """What the model says: the number, or the target's probability."""
        return self.logit if self.is_number else self.probability


class _BeforeAndAfter:
    """What a prediction has become."""

    before: Prediction
    after: Prediction

    @property
    def delta_probability(self) -> float:
        """After less before, in [-1, 1]."""
        return self.after.probability - self.before.probability

    @property
    def delta_logit(self) -> float:
        """After less before."""
        return self.after.logit - self.before.logit


@dataclass(frozen=True)
class SwitchedPrediction(_BeforeAndAfter):
    """A prediction before and after something was switched off.

    Args:
        before: from the model as it is.
        after: with the switches off.
        answers: the likeliest of both.
    """

    before: Prediction
    after: Prediction
    answers: Answers


@dataclass(frozen=True)
class AblationMap(FrozenArrays):
    """What the target becomes when one thing alone is switched off.

    Args:
        before: from the model as it is.
        probabilities: float `[L, C]` with the part off; C is N heads, or one
            column for each of `ABLATED_PARTS`.
        logits: float `[L, C]`, likewise.
    """

    before: Prediction
    probabilities: np.ndarray
    logits: np.ndarray

    @property
    def delta_logits(self) -> np.ndarray:
        """Float `[L, C]`: off less on."""
        return self.logits - self.before.logit

    @property
    def values(self) -> np.ndarray:
        """Float `[L, C]`: `Prediction.value` with the part off."""
        return self.logits if self.before.is_number else self.probabilities

    @property
    def deltas(self) -> np.ndarray:
        """Float `[L, C]`: the same of `values`; below 0 where the part helped."""
        return self.values - self.before.value


@dataclass(frozen=True)
class PatchingMap(FrozenArrays):
    """How much of one text's answer one hidden state carries into another text.

    Args:
        clean: the text that hidden states are taken from.
        corrupted: the text that they are put into.
        clean_score: of the clean text as it is; what a score is, `minus` of
            `patch_hidden_states` says.
        corrupted_score: of the corrupted text as it is.
        scores: float `[L + 1, T]` of the corrupted text with one hidden state
            replaced: row 0 the embedding output, row l the output of block
            l - 1.
    """

    clean: TokenizedText
    corrupted: TokenizedText
    clean_score: float
    corrupted_score: float
    scores: np.ndarray

    @property
    def recovered(self) -> np.ndarray:
        """Float `[L + 1, T]`: 0 as corrupted, 1 as clean; others are possible."""
        whole = self.clean_score - self.corrupted_score
        return (self.scores - self.corrupted_score) / whole


@dataclass(frozen=True)
class SparsePattern:
    """Which tokens may look at which, see `model/sparse.py`.

    All of `window`, `stride` and `num_global` at 0 is full attention.

    Args:
        window: blocks to each side that a token sees.
        stride: it also sees every n-th block; 0 for none.
        num_global: first blocks, which see all and are seen by all.
        block: tokens that count as one place.
    """

    window: int = 0
    stride: int = 0
    num_global: int = 0
    block: int = 1


@dataclass(frozen=True)
class SparsePrediction(_BeforeAndAfter, FrozenArrays):
    """A prediction before and after a sparse pattern was laid on the attention.

    Args:
        before: from the model as it is.
        after: under the pattern, in all layers and heads.
        answers: the likeliest of both.
        edges: bool `[Q, K]`; true where a row may still look.
        kept_share: of the model's own edges, in (0, 1].
        cut_mass: float `[L, N]`, in [0, 1]: attention that lay on the cut edges
            before, mean over the rows.
    """

    before: Prediction
    after: Prediction
    answers: Answers
    edges: np.ndarray
    kept_share: float
    cut_mass: np.ndarray
