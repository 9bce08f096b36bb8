"""What the arithmetic inside attention hands to a page. NumPy only.

N heads, D head size, H hidden size, Q = K = T tokens.
"""

import math
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.head_profiles import HeadProfile
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class PairArithmetic(FrozenArrays):
    """From two vectors to one attention probability, and what it lets through.

    All in float64; query, key, value and scores are what the forward pass computed,
    in float32, so that a score differs from the running sum by a rounding.
    """

    key_token: int  # index of the token that is looked at
    query: np.ndarray  # float64 [D], q of the query token
    key: np.ndarray  # float64 [D], k of the key token
    products: np.ndarray  # float64 [D], q times k, element by element
    running_sums: np.ndarray  # float64 [D]; the last is q . k
    # float64 [K], q . k / sqrt(D) for every key, before masking, as the forward pass
    # rounded it.
    scores: np.ndarray
    # float64 [K], what is added to a score: 0, or -10000 where a sparse pattern does
    # not let the query token look.
    mask_terms: np.ndarray
    probs: np.ndarray  # float64 [K], softmax of scores plus mask terms
    unrounded_probs: np.ndarray  # float64 [K], the same of scores that no one rounded
    exposed_prob: float  # what the forward pass computed for this pair
    value: np.ndarray  # float64 [D], v of the key token
    # float64 [D], the head's output for the query token: the sum of probability times v
    # over all keys.
    output: np.ndarray
    # Length of a f(x), this pair's part of what the attention block adds: probability
    # times v through the head's rows of the output projection.
    norm: float

    @property
    def weighted(self) -> np.ndarray:
        """Float64 `[D]`: probability times v, this pair's part of `output`."""
        return self.prob * self.value

    @property
    def score(self) -> float:
        """Q . k / sqrt(D) of the pair, before masking."""
        return float(self.scores[self.key_token])

    @property
    def mask_term(self) -> float:
        return float(self.mask_terms[self.key_token])

    @property
    def prob(self) -> float:
        return float(self.probs[self.key_token])

    @property
    def rounding(self) -> float:
        """What the pass, in float32, made of q . k / sqrt(D), less what it is."""
        return self.score - float(self.running_sums[-1]) / math.sqrt(len(self.query))

    @property
    def unrounded_prob(self) -> float:
        """The pair's probability without that rounding, of its score or of others."""
        return float(self.unrounded_probs[self.key_token])


@dataclass(frozen=True)
class NormWeightedAttention(FrozenArrays):
    """How long the vectors are that attention brings to each token."""

    # float64 [N, Q, K], length of a f(x), one head's part; f(x) is the value of the key
    # token through the head's rows of the output projection.
    norms: np.ndarray
    # float64 [Q, K], length of the sum of these vectors over heads; at most the sum of
    # `norms`, as vectors may cancel.
    combined: np.ndarray
    # float64 [Q, K], the same, where a token's own vector is counted with what the
    # residual keeps of it.
    with_residual: np.ndarray


@dataclass(frozen=True)
class CorpusProfile(FrozenArrays):
    """All heads of a model, measured over many texts."""

    profile: HeadProfile  # over the rows of all texts
    distances: np.ndarray  # float64 [L, N, L, N], Jensen-Shannon distance of heads
