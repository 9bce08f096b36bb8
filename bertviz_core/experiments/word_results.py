"""What masked words and pairs of sentences show: frozen dataclasses of NumPy arrays.

T is the number of tokens, P of masks, S of scored places, M of candidates, V the
vocabulary. Logarithms are natural unless a name says bits. Rank 1 is the best.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays, TokenizedText


@dataclass(frozen=True)
class FillStep(FrozenArrays):
    """One mask filled."""

    mask_index: int  # which mask of the text, left to right
    position: int  # its token index
    token: str  # the word that was put there
    log_prob: float  # of that word, given all that stood there before this step
    top_tokens: tuple[str, ...]  # k best words at this mask in this step, best first
    top_log_probs: np.ndarray  # float64 [k]
    # float64 [P], probability of the best word at each mask still open in this step;
    # NaN at a mask filled before.
    confidences: np.ndarray
    input_ids: np.ndarray  # int32 [T], the text after this step


@dataclass(frozen=True)
class JointFilling(FrozenArrays):
    """Several masks filled, step by step."""

    tokenized: TokenizedText  # the text with its masks
    mode: str  # "independent", "left_to_right" or "most_confident_first"
    steps: tuple[FillStep, ...]  # P of them, in the order of filling

    @property
    def log_prob(self) -> float:
        """Sum over the steps: of the fill as a whole, in this order of filling."""
        return float(sum(step.log_prob for step in self.steps))


@dataclass(frozen=True)
class PairFilling(FrozenArrays):
    """The best pairs of words for two masks, most likely first.

    A masked-word model is no consistent joint model: filling the first mask
    first gives another probability than filling the second first. Both are
    exact for every pair shown.
    """

    tokens: tuple[tuple[str, str], ...]  # M pairs of pieces, by the mean of both orders
    log_prob_forward: np.ndarray  # float64 [M], log p(a) + log p(b | a)
    log_prob_backward: np.ndarray  # float64 [M], log p(b) + log p(a | b)
    log_prob_independent: np.ndarray  # float64 [M], log p(a) + log p(b)
    # Log p above which no pair is missing here when the first mask is filled first;
    # `-inf`: every pair is here.
    bound_forward: float
    bound_backward: float  # the same when the second mask is filled first


@dataclass(frozen=True)
class WordScore(FrozenArrays):
    """How well a word fits at a mask."""

    word: str  # as it was typed
    tokens: tuple[str, ...]  # n pieces
    # float64 [n], each given the pieces before it; those after it are masked.
    log_probs: np.ndarray
    ranks: np.ndarray  # int [n], among the whole vocabulary

    @property
    def log_prob(self) -> float:
        """Of the whole word: the sum over its pieces."""
        return float(self.log_probs.sum())


@dataclass(frozen=True)
class SentenceScore(FrozenArrays):
    """Pseudo-log-likelihood of a text, token by token."""

    tokenized: TokenizedText  # the text; masks in it stay, and are not scored
    positions: np.ndarray  # int [S], token indices scored
    log_probs: np.ndarray  # float64 [S], of the token that stands there
    ranks: np.ndarray  # int [S]

    @property
    def log_prob(self) -> float:
        """The score: the sum over all tokens."""
        return float(self.log_probs.sum())

    @property
    def perplexity(self) -> float:
        """Exponential of the mean surprise a token; 1 is perfect, lower is better."""
        return float(np.exp(-self.log_probs.mean()))


@dataclass(frozen=True)
class MinimalPair(FrozenArrays):
    """Two sentences that differ little, scored side by side."""

    first: SentenceScore  # their scores, of one variant
    second: SentenceScore  # their scores, of one variant
    # int [A, 2], places in `first.positions` and `second.positions` that belong side by
    # side; -1 for none.
    aligned: np.ndarray

    @property
    def difference(self) -> float:
        """Score of the first less that of the second; above 0 it prefers the first."""
        return self.first.log_prob - self.second.log_prob


@dataclass(frozen=True)
class EveryPosition(FrozenArrays):
    """What the model would write at every place of a text."""

    tokenized: TokenizedText  # the text
    positions: np.ndarray  # int [S], token indices; special tokens are left out
    top_tokens: tuple[tuple[str, ...], ...]  # k best words of each of S places
    top_log_probs: np.ndarray  # float64 [S, k]
    entropy_bits: np.ndarray  # float64 [S], of the whole distribution
    # float64 [S], -log2 p of the word that stands there; NaN at a mask.
    surprisal_bits: np.ndarray
    ranks: np.ndarray  # int [S], of that word; 0 at a mask


@dataclass(frozen=True)
class WholeWords(FrozenArrays):
    """Whole words of one number of pieces for one mask, most likely first."""

    tokens: tuple[tuple[str, ...], ...]  # M words of n pieces
    log_probs: np.ndarray  # float64 [M, n], each piece given those before it
    # Log p above which no word is missing here; `-inf`: every word is here.
    bound: float

    def best(self, count: int) -> WholeWords:
        """The first words alone; the bound knows those that are left out."""
        left_out = self.log_prob[count:].max(initial=-np.inf)
        return dataclasses.replace(
            self,
            tokens=self.tokens[:count],
            log_probs=self.log_probs[:count],
            bound=max(self.bound, float(left_out)),
        )

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(
            "".join(piece.removeprefix("##") for piece in pieces)
            for pieces in self.tokens
        )

    @property
    def log_prob(self) -> np.ndarray:
        """Of each word as a whole, float64 `[M]`."""
        return self.log_probs.sum(axis=1)


@dataclass(frozen=True)
class NextSentence:
    """Whether the second text follows the first, and the other way round."""

    probability: float  # P(is next), class 0 of the head
    probability_swapped: float  # the same for (second, first)


@dataclass(frozen=True)
class ShuffledTest(FrozenArrays):
    """How well the model tells true pairs from shuffled ones."""

    num_pairs: int  # of each kind
    probabilities: np.ndarray  # float64 [num_pairs], P(is next) of the given pairs
    shuffled: np.ndarray  # float64 [num_pairs], the same firsts with seconds of others
    partners: np.ndarray  # int [num_pairs], which pair each shuffled second is from
    num_cut: int  # pairs of either kind whose end was left out

    @property
    def num_right(self) -> int:
        """Of 2 * num_pairs: true ones above one half, shuffled ones not above."""
        return int((self.probabilities > 0.5).sum() + (self.shuffled <= 0.5).sum())

    @property
    def accuracy(self) -> float:
        """Share of right answers; guessing gives one half."""
        return self.num_right / (2 * self.num_pairs)
