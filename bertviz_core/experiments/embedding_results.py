"""What the embeddings and the sentences' states are: frozen NumPy dataclasses.

L is the number of layers, T of tokens, H the hidden size, M the points of a map.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.separation import Separation
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.trace import FrozenArrays, TokenizedText

PARTS = ("word", "position", "segment")


@dataclass(frozen=True)
class InputSum(FrozenArrays):
    """The vectors that enter the first block, taken apart."""

    tokenized: TokenizedText  # the text
    # float32 [3, T, H], in the order of `PARTS`; they add up to `summed`.
    parts: np.ndarray
    summed: np.ndarray  # float32 [T, H], before the layer norm
    normed: np.ndarray  # float32 [T, H], after it: the model's own numbers
    means: np.ndarray  # float64 [T], of the numbers of each sum
    deviations: np.ndarray  # float64 [T], their standard deviation, divided by H
    gain: np.ndarray  # float32 [H], of the layer norm
    bias: np.ndarray  # float32 [H], of the layer norm
    epsilon: float  # added to the variance
    part_norms: np.ndarray  # float64 [3, T], lengths
    sum_norms: np.ndarray  # float64 [T]
    normed_norms: np.ndarray  # float64 [T]
    cosines: np.ndarray  # float64 [3, T], of each part with the sum
    # float64 [3, T], (part · sum) / |sum|²; the three add up to 1, and one below 0
    # takes away from the others.
    shares: np.ndarray
    # Between `normed` and the layer norm of `summed` computed in NumPy in float64.
    largest_difference: float


@dataclass(frozen=True)
class SentenceStates(FrozenArrays):
    """Vectors of many sentences at every layer."""

    # "token", a point for each token of a sentence's own; "cls", the vector of [CLS];
    # "mean", the mean over a sentence's own tokens. Own tokens are those that were not
    # added, so not [CLS] and [SEP].
    reading: str
    texts: tuple[TokenizedText, ...]  # the sentences
    sentence_index: np.ndarray  # int [M], the sentence of each point
    position: np.ndarray  # int [M], its token index; 0 for "cls", -1 for "mean"
    labels: tuple[str, ...]  # M names: the token, or the sentence's text
    # float32 [L + 1, M, H], embedding output first. In a pre-norm model the last one is
    # before the final norm.
    states: np.ndarray

    @property
    def num_cut(self) -> int:
        """Sentences whose end is beyond what the model reads."""
        return sum(text.was_cut for text in self.texts)

    @property
    def segments(self) -> np.ndarray:
        """Of each token, int `[M]`: 1 in the second text of a pair; else 0."""
        places = zip(self.sentence_index, self.position, strict=True)
        return np.array(
            [self.texts[i].token_type_ids[max(t, 0)] for i, t in places], np.int64
        )


@dataclass(frozen=True)
class WordSenses(FrozenArrays):
    """One word in several sentences, layer by layer."""

    word: str  # as it was asked for
    num_cut: int  # sentences whose end is beyond what the model reads
    sentence_index: np.ndarray  # int [M], the sentence of each occurrence
    spans: np.ndarray  # int [M, 2], first and past-the-last token index of each
    senses: tuple[str, ...]  # M names of the senses, from the sentences; "" for none
    states: np.ndarray  # float32 [L + 1, M, H], the mean over the word's tokens
    cosines: np.ndarray  # float64 [L + 1, M, M], between occurrences
    # At each of L + 1 layers, of the occurrences with a sense.
    separations: tuple[Separation, ...]
    # Each layer by PCA, turned onto the one before; `None` for fewer than three
    # occurrences.
    map: SentenceMap | None


@dataclass(frozen=True)
class Context:
    """A token where it stands."""

    before: str  # the sentence up to the token
    token: str
    after: str  # and from there on
    cosine: float  # of its vector with that of the token that was asked about


@dataclass(frozen=True)
class SimilarContexts:
    """The tokens whose vectors are nearest to that of one token."""

    layer: int  # of the vectors; 0 is the input's
    contexts: tuple[Context, ...]  # nearest first
    mean_cosine: float  # of all tokens that were searched
    # Both: that were searched; [CLS] and [SEP] are no tokens of a sentence's own.
    num_tokens: int
    num_sentences: int
