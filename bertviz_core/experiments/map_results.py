"""Maps of a vocabulary and of sentences, and facts of geometry: frozen dataclasses.

L is the number of layers, M of points, k of axes, V of the vocabulary, H the hidden
size.
"""

from __future__ import annotations

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
    """Points on a map, with what it is worth.

    Args:
        method: of `METHODS`.
        coordinates: float32 `[M, k]`, k 2 or 3.
        quality: which neighbours the map kept; `None` where there are too few points
            for one, or where all points are one.
        explained: share of the variance on the k axes; of PCA alone.
        seed: of the method, and of the choice of checked points; the same one and the
            same points give the same map on the same machine.
        neighbourhood: about how many neighbours each point has, see `NEIGHBOURHOODS`;
            `None` for PCA.
        num_steps: of the same methods' optimisation.
    """

    method: str
    coordinates: np.ndarray
    quality: MapQuality | None
    explained: float | None = None
    seed: int = 0
    neighbourhood: float | None = None
    num_steps: int | None = None


@dataclass(frozen=True)
class SentenceMap(FrozenArrays):
    """Points of sentences at every layer, on maps that can be compared.

    Args:
        method: of `METHODS`.
        reading: of `sentence_states.READINGS`.
        labels: M names: the token, or the sentence.
        sentence_index: int `[M]`, the sentence of each point.
        position: int `[M]`, its token index; -1 for a mean.
        segments: int `[M]`, 1 for a token of a pair's second text; else 0.
        coordinates: float32 `[L + 1, M, k]`, embedding output first.
        norms: float32 `[L + 1, M]`, lengths of the vectors.
        qualities: L + 1 of them, see `DrawnMap`.
        explained: float64 `[L + 1]`, share of the variance on the map; NaN for
            other methods than PCA, and where all points are one.
        seed: of the method, and of the choice of checked points.
        num_cut: sentences whose end is beyond what the model reads.
        are_one: for each of L + 1 layers, whether its vectors differ by rounding
            alone, as those of [CLS] before the first layer: all points are one.
        neighbourhood: see `DrawnMap`.
        num_steps: of the same methods, at each layer.
    """

    method: str
    reading: str
    labels: tuple[str, ...]
    sentence_index: np.ndarray
    position: np.ndarray
    segments: np.ndarray
    coordinates: np.ndarray
    norms: np.ndarray
    qualities: tuple[MapQuality | None, ...]
    explained: np.ndarray
    seed: int
    num_cut: int
    are_one: tuple[bool, ...]
    neighbourhood: float | None = None
    num_steps: int | None = None

    def at(self, layer: int) -> DrawnMap:
        """The map of one layer."""
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
    """The geometry of a model's vectors at every layer, measured on some sentences.

    Args:
        num_sentences: that were read.
        num_cut: of them, those whose end is beyond what the model reads.
        num_tokens: M, vectors at each layer; [CLS] and [SEP] are left out.
        num_deviations: the rule for outlier dimensions, see `outlier_dimensions`.
        mean_cosines: float64 `[L + 1]`, of all pairs of different tokens.
        mean_cosines_without: float64 `[L + 1]`, the outlier dimensions left out.
        pair_quartiles: float64 `[L + 1, 3]`, of the cosines of pairs drawn at random.
        num_pairs: that were drawn.
        mean_norms: float64 `[L + 1]`.
        norm_ranges: float64 `[L + 1, 2]`, 5th and 95th percentile of the lengths.
        mean_norms_without: float64 `[L + 1]`.
        outliers: L + 1 tuples of dimensions, furthest out first.
        scores: float64 `[L + 1, H]`, deviations of each dimension's mean.
        contributions: float64 `[L + 1, H]`, parts of the mean cosine.
        neighbours_kept: float64 `[L + 1]`, share of the nearest neighbours by
            cosine that are the same without the outlier dimensions; NaN where there
            are too few tokens.
        num_neighbours: that were compared.
        num_checked: tokens whose neighbours were compared; drawn where there are many.
        seed: of the pairs, and of the tokens whose neighbours were compared.
    """

    num_sentences: int
    num_cut: int
    num_tokens: int
    num_deviations: float
    mean_cosines: np.ndarray
    mean_cosines_without: np.ndarray
    pair_quartiles: np.ndarray
    num_pairs: int
    mean_norms: np.ndarray
    norm_ranges: np.ndarray
    mean_norms_without: np.ndarray
    outliers: tuple[tuple[int, ...], ...]
    scores: np.ndarray
    contributions: np.ndarray
    neighbours_kept: np.ndarray
    num_neighbours: int
    num_checked: int
    seed: int
