"""Maps of a vocabulary and of sentences, and facts of geometry: frozen dataclasses.

L is the number of layers, M of points, k of axes, V of the vocabulary, H the hidden
size.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.map_quality import MapQuality
from bertviz_core.trace import FrozenArrays

# Methods that keep neighbours together, with about how many each point usually has:
# t-SNE's perplexity, UMAP's `n_neighbors`.
NEIGHBOURHOODS = {"tsne": 30.0, "umap": 15.0}
METHODS = ("pca", *NEIGHBOURHOODS)
MAX_SENTENCES = 200
# In one file; as text they take some 12 bytes each.
MAX_EXPORTED_NUMBERS = 5_000_000


@dataclass(frozen=True)
class DrawnMap(FrozenArrays):
    """Points on a map, with what it is worth."""

    method: str  # of `METHODS`
    coordinates: np.ndarray  # float32 [M, k], k 2 or 3
    # Which neighbours the map kept; `None` where there are too few points for one, or
    # where all points are one.
    quality: MapQuality | None
    explained: float | None = None  # share of the variance on the k axes; of PCA alone
    # Of the method, and of the choice of checked points; the same one and the same
    # points give the same map on the same machine.
    seed: int = 0
    # About how many neighbours each point has, see `NEIGHBOURHOODS`; `None` for PCA.
    neighbourhood: float | None = None
    num_steps: int | None = None  # of the same methods' optimisation


@dataclass(frozen=True)
class SentenceMap(FrozenArrays):
    """Points of sentences at every layer, on maps that can be compared."""

    method: str  # of `METHODS`
    reading: str  # of `sentence_states.READINGS`
    labels: tuple[str, ...]  # M names: the token, or the sentence
    sentence_index: np.ndarray  # int [M], the sentence of each point
    position: np.ndarray  # int [M], its token index; -1 for a mean
    segments: np.ndarray  # int [M], 1 for a token of a pair's second text; else 0
    coordinates: np.ndarray  # float32 [L + 1, M, k], embedding output first
    norms: np.ndarray  # float32 [L + 1, M], lengths of the vectors
    qualities: tuple[MapQuality | None, ...]  # L + 1 of them, see `DrawnMap`
    # float64 [L + 1], share of the variance on the map; NaN for other methods than PCA,
    # and where all points are one.
    explained: np.ndarray
    seed: int  # of the method, and of the choice of checked points
    num_cut: int  # sentences whose end is beyond what the model reads
    # For each of L + 1 layers, whether its vectors differ by rounding alone, as those
    # of [CLS] before the first layer: all points are one.
    are_one: tuple[bool, ...]
    neighbourhood: float | None = None  # see `DrawnMap`
    num_steps: int | None = None  # of the same methods, at each layer

    def at(self, layer: int) -> DrawnMap:
        return DrawnMap(
            method=self.method,
            coordinates=self.coordinates[layer],
            quality=self.qualities[layer],
            explained=float(self.explained[layer]),
            seed=self.seed,
            neighbourhood=self.neighbourhood,
            num_steps=self.num_steps,
        )


@dataclass(frozen=True)
class LayerFacts(FrozenArrays):
    """The geometry of a model's vectors at every layer, measured on some sentences."""

    num_sentences: int  # that were read
    num_cut: int  # of them, those whose end is beyond what the model reads
    num_tokens: int  # M, vectors at each layer; [CLS] and [SEP] are left out
    num_deviations: float  # the rule for outlier dimensions, see `outlier_dimensions`
    mean_cosines: np.ndarray  # float64 [L + 1], of all pairs of different tokens
    mean_cosines_without: np.ndarray  # float64 [L + 1], the outlier dimensions left out
    # float64 [L + 1, 3], of the cosines of pairs drawn at random.
    pair_quartiles: np.ndarray
    num_pairs: int  # that were drawn
    mean_norms: np.ndarray  # float64 [L + 1]
    # float64 [L + 1, 2], 5th and 95th percentile of the lengths.
    norm_ranges: np.ndarray
    mean_norms_without: np.ndarray  # float64 [L + 1]
    # L + 1 tuples of dimensions, furthest out first.
    outliers: tuple[tuple[int, ...], ...]
    scores: np.ndarray  # float64 [L + 1, H], deviations of each dimension's mean
    contributions: np.ndarray  # float64 [L + 1, H], parts of the mean cosine
    # float64 [L + 1], share of the nearest neighbours by cosine that are the same
    # without the outlier dimensions; NaN where there are too few tokens.
    neighbours_kept: np.ndarray
    num_neighbours: int  # that were compared
    # Tokens whose neighbours were compared; drawn where there are many.
    num_checked: int
    seed: int  # of the pairs, and of the tokens whose neighbours were compared
