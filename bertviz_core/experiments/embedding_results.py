"""What the embeddings and the sentences' states are: frozen NumPy dataclasses.

L is the number of layers, T of tokens, H the hidden size, M the points of a map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.separation import Separation
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.trace import FrozenArrays, TokenizedText

PARTS = ("word", "position", "segment")


@dataclass(frozen=True)
class InputSum(FrozenArrays):
    """The vectors that enter the first block, taken apart.

    Args:
        tokenized: the text.
        parts: float32 `[3, T, H]`, in the order of `PARTS`; they add up to
            `summed`.
        summed: float32 `[T, H]`, before the layer norm.
        normed: float32 `[T, H]`, after it: the model's own numbers.
        means: float64 `[T]`, of the numbers of each sum.
        deviations: float64 `[T]`, their standard deviation, divided by H.
        gain, bias: float32 `[H]`, of the layer norm.
        epsilon: added to the variance.
        part_norms: float64 `[3, T]`, lengths.
        sum_norms, normed_norms: float64 `[T]`.
        cosines: float64 `[3, T]`, of each part with the sum.
        shares: float64 `[3, T]`, (part · sum) / |sum|²; the three add up to 1, and
            one below 0 takes away from the others.
        largest_difference: between `normed` and the layer norm of `summed`
            computed in NumPy in float64.
    """

    tokenized: TokenizedText
    parts: np.ndarray
    summed: np.ndarray
    normed: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    epsilon: float
    part_norms: np.ndarray
    sum_norms: np.ndarray
    normed_norms: np.ndarray
    cosines: np.ndarray
    shares: np.ndarray
    largest_difference: float


@dataclass(frozen=True)
class SentenceStates(FrozenArrays):
    """Vectors of many sentences at every layer.

    Args:
        reading: "token", a point for each token of a sentence's own; "cls", the
            vector of [CLS]; "mean", the mean over a sentence's own tokens. Own
            tokens are those that were not added, so not [CLS] and [SEP].
        texts: the sentences.
        sentence_index: int `[M]`, the sentence of each point.
        position: int `[M]`, its token index; 0 for "cls", -1 for "mean".
        labels: M names: the token, or the sentence's text.
        states: float32 `[L + 1, M, H]`, embedding output first. In a pre-norm
            model the last one is before the final norm.
    """

    reading: str
    texts: tuple[TokenizedText, ...]
    sentence_index: np.ndarray
    position: np.ndarray
    labels: tuple[str, ...]
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
    """One word in several sentences, layer by layer.

    Args:
        word: as it was asked for.
        num_cut: sentences whose end is beyond what the model reads.
        sentence_index: int `[M]`, the sentence of each occurrence.
        spans: int `[M, 2]`, first and past-the-last token index of each.
        senses: M names of the senses, from the sentences; "" for none.
        states: float32 `[L + 1, M, H]`, the mean over the word's tokens.
        cosines: float64 `[L + 1, M, M]`, between occurrences.
        separations: at each of L + 1 layers, of the occurrences with a sense.
        map: each layer by PCA, turned onto the one before; `None` for fewer than
            three occurrences.
    """

    word: str
    num_cut: int
    sentence_index: np.ndarray
    spans: np.ndarray
    senses: tuple[str, ...]
    states: np.ndarray
    cosines: np.ndarray
    separations: tuple[Separation, ...]
    map: SentenceMap | None


@dataclass(frozen=True)
class Context:
    """A token where it stands.

    Args:
        before, token, after: the sentence in three parts.
        cosine: of its vector with that of the token that was asked about.
    """

    before: str
    token: str
    after: str
    cosine: float


@dataclass(frozen=True)
class SimilarContexts:
    """The tokens whose vectors are nearest to that of one token.

    Args:
        layer: of the vectors; 0 is the input's.
        contexts: nearest first.
        mean_cosine: of all tokens that were searched.
        num_tokens, num_sentences: that were searched; [CLS] and [SEP] are no tokens
            of a sentence's own.
    """

    layer: int
    contexts: tuple[Context, ...]
    mean_cosine: float
    num_tokens: int
    num_sentences: int
