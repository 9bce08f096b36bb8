"""Questions to an experiment about causes, and its answers: plain values.

A page may import this: NumPy only. L layers, N heads, T tokens, I neurons of a
feed-forward block.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays, TokenizedText

TARGET_HEADS = ("mlm", "nsp", "classifier")
# Columns of a map of parts, see `ablation.ablate_parts`.
ABLATED_PARTS = ("attention", "feed_forward", "both")


@dataclass(frozen=True)
class Answers(FrozenArrays):
    """The likeliest answers before and after a change, and the watched one."""

    ids: np.ndarray  # int [M], the likeliest before first
    # float64 [2, M], before and after: probabilities, or the number of a head that says
    # one.
    values: np.ndarray
    ranks: np.ndarray  # int [2, M], among all answers, 1 = likeliest


@dataclass(frozen=True)
class Target:
    """The one answer of the model that an experiment watches."""

    head: str  # "mlm", "nsp" or "classifier"
    index: int  # a token id, 0 (is next) or 1 (random), or a class
    # Index of the token whose word is predicted; 0 for the other heads, which read the
    # first token alone.
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
    """One arrow of attention."""

    from_token: int  # index of the token that looks
    to_token: int  # index of the token that is looked at
    layer: int | None = None  # 0 to L - 1; `None` for all layers
    head: int | None = None  # 0 to N - 1; `None` for all heads


@dataclass(frozen=True)
class Switches:
    """What to switch off; empty leaves the model as it is."""

    heads: tuple[tuple[int, int], ...] = ()  # (layer, head) pairs
    # Layers whose attention is switched off in all heads.
    attention: tuple[int, ...] = ()
    # Layers whose feed-forward block is switched off.
    feed_forward: tuple[int, ...] = ()
    edges: tuple[Edge, ...] = ()  # arrows to cut
    # (layer, neuron) pairs of the feed-forward blocks.
    neurons: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Prediction:
    """What the model says about a target."""

    logit: float  # of the target, before softmax
    # Of the target. Always 1 for a head with one output, a regression: read the logit
    # there.
    probability: float
    rank: int  # of the target among all answers, 1 = likeliest
    is_number: bool  # whether the head has one output: it says a number, not a class

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
    """A prediction before and after something was switched off."""

    before: Prediction  # from the model as it is
    after: Prediction  # with the switches off
    answers: Answers  # the likeliest of both


@dataclass(frozen=True)
class AblationMap(FrozenArrays):
    """What the target becomes when one thing alone is switched off."""

    before: Prediction  # from the model as it is
    # float [L, C] with the part off; C is N heads, or one column for each of
    # `ABLATED_PARTS`.
    probabilities: np.ndarray
    logits: np.ndarray  # float [L, C], likewise

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
    """How much of one text's answer one hidden state carries into another text."""

    clean: TokenizedText  # the text that hidden states are taken from
    corrupted: TokenizedText  # the text that they are put into
    # Of the clean text as it is; what a score is, `minus` of `patch_hidden_states`
    # says.
    clean_score: float
    corrupted_score: float  # of the corrupted text as it is
    # float [L + 1, T] of the corrupted text with one hidden state replaced: row 0 the
    # embedding output, row l the output of block l - 1.
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
    """

    window: int = 0  # blocks to each side that a token sees
    stride: int = 0  # it also sees every n-th block; 0 for none
    num_global: int = 0  # first blocks, which see all and are seen by all
    block: int = 1  # tokens that count as one place


@dataclass(frozen=True)
class SparsePrediction(_BeforeAndAfter, FrozenArrays):
    """A prediction before and after a sparse pattern was laid on the attention."""

    before: Prediction  # from the model as it is
    after: Prediction  # under the pattern, in all layers and heads
    answers: Answers  # the likeliest of both
    edges: np.ndarray  # bool [Q, K]; true where a row may still look
    kept_share: float  # of the model's own edges, in (0, 1]
    # float [L, N], in [0, 1]: attention that lay on the cut edges before, mean over the
    # rows.
    cut_mass: np.ndarray
