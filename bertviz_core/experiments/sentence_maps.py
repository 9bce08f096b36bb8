"""Maps of sentences at every layer, and what their geometry measures."""

import dataclasses
from typing import Any

import numpy as np

from bertviz_core.analysis.anisotropy import (
    cosine_contributions,
    mean_cosine,
    outlier_dimensions,
    random_pair_cosines,
    without_dimensions,
)
from bertviz_core.analysis.geometry import are_alike, procrustes, row_norms, unit_rows
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.map_quality import MOST_NEIGHBOURS, MapQuality, map_quality
from bertviz_core.errors import TextError
from bertviz_core.experiments.embedding_results import SentenceStates
from bertviz_core.experiments.map_results import DrawnMap, LayerFacts, SentenceMap
from bertviz_core.experiments.maps import MIN_POINTS, draw_map
from bertviz_core.tasks import Progress, task, untold

# Points whose neighbours are checked on a larger map; the answer says how many.
MOST_CHECKED = 400
NUM_PAIRS = 2000
MIN_TOKENS = 3


@task()
def map_by_pca(
    states: SentenceStates, num_axes: int = 2, alignment: str = "shared", seed: int = 0
) -> SentenceMap:
    """Draws every layer by PCA, at once, see `layer_maps`.

    The seed is that of the points whose neighbours are checked on a large map.

    Raises:
        TextError: fewer points than a map needs.
    """
    _require_points(states, num_axes + 1)
    coordinates, explained = layer_maps(states.states, num_axes, alignment)
    rows = checked_rows(states.states.shape[1], seed)
    qualities = tuple(
        _quality(vectors, positions, rows)
        for vectors, positions in zip(states.states, coordinates, strict=True)
    )
    return _sentence_map(states, "pca", coordinates, qualities, explained, seed)


@task()
def map_by_neighbours(
    states: SentenceStates,
    method: str = "tsne",
    num_axes: int = 2,
    seed: int = 0,
    neighbourhood: float | None = None,
    num_stages: int = 2,
    progress: Progress = untold,
) -> SentenceMap:
    """Draws every layer by t-SNE or UMAP, each from the one before, turned onto it.

    A layer whose vectors are all alike is drawn as one point, and the layer after it
    begins anew: both methods would spread them over a cloud that is not there.

    Args:
        method: of `NEIGHBOURHOODS`.
        seed: see `tsne_map`, at every layer; and of the points whose neighbours are
            checked.
        neighbourhood: see there; `None` for the usual one.
        num_stages: of t-SNE, of 300 steps, at each layer.

    Raises:
        TextError: fewer points than a map needs.
    """
    _require_points(states, max(MIN_POINTS, num_axes + 1))
    num_states, num_points, _ = states.states.shape
    rows = checked_rows(num_points, seed)
    coordinates: list[np.ndarray] = []
    qualities: list[MapQuality | None] = []
    before: np.ndarray | None = None
    drawn: DrawnMap | None = None
    for layer, vectors in enumerate(states.states):
        if are_alike(vectors):
            before = None
            coordinates.append(np.zeros((num_points, num_axes)))
            qualities.append(None)
            continue
        drawn = draw_map(
            vectors,
            method,
            seed,
            _part_of(progress, layer, num_states),
            neighbourhood,
            num_stages,
            num_axes=num_axes,
            start=before,
            checked_rows=rows,
        )
        positions = drawn.coordinates
        if before is not None:
            positions = procrustes(positions, before)
        before = positions
        coordinates.append(positions)
        qualities.append(drawn.quality)
    explained = np.full(num_states, np.nan)
    places, measured = np.stack(coordinates), tuple(qualities)
    made = _sentence_map(states, method, places, measured, explained, seed)
    if drawn is None:
        return made
    return dataclasses.replace(
        made, neighbourhood=drawn.neighbourhood, num_steps=drawn.num_steps
    )


@task()
def layer_facts(
    states: SentenceStates,
    num_deviations: float = 3.0,
    seed: int = 0,
    progress: Progress = untold,
) -> LayerFacts:
    """Measures how wide each layer's tokens spread, and which numbers stand out.

    Args:
        states: of the sentences, read token by token.
        num_deviations: see `outlier_dimensions`.
        seed: of the pairs and tokens that are drawn.

    Raises:
        TextError: fewer than three tokens.
    """
    if states.reading != "token":
        raise ValueError(f'`states` must be of "token". Received: {states.reading}.')
    _require_points(states, MIN_TOKENS)
    num_states, num_tokens, _ = states.states.shape
    rows = checked_rows(num_tokens, seed)
    measured = []
    for layer, vectors in enumerate(states.states):
        measured.append(_measured(vectors, num_deviations, seed, rows))
        progress((layer + 1) / num_states, "measuring layers")
    found = {name: [one[name] for one in measured] for name in measured[0]}
    return LayerFacts(
        num_sentences=len(states.texts),
        num_cut=states.num_cut,
        num_tokens=num_tokens,
        num_deviations=num_deviations,
        outliers=tuple(tuple(dimensions.tolist()) for dimensions in found.pop("out")),
        num_pairs=NUM_PAIRS,
        num_neighbours=min(MOST_NEIGHBOURS, (num_tokens - 1) // 2),
        num_checked=num_tokens if rows is None else len(rows),
        seed=seed,
        **{name: np.array(of_layers) for name, of_layers in found.items()},
    )


def _measured(
    vectors: np.ndarray, num_deviations: float, seed: int, rows: np.ndarray | None
) -> dict[str, Any]:
    """One layer by the names of `LayerFacts`, and its outlier dimensions as "out"."""
    out, scores = outlier_dimensions(vectors, num_deviations)
    contributions, norms = cosine_contributions(vectors), row_norms(vectors)
    left = without_dimensions(vectors, out)
    # Between vectors of length 1, the nearest is the one of the largest cosine.
    quality = _quality(unit_rows(vectors), unit_rows(left), rows)
    cosines = random_pair_cosines(vectors, NUM_PAIRS, seed)
    return {
        "out": out,
        "mean_cosines": contributions.sum(),
        "mean_cosines_without": mean_cosine(left),
        "pair_quartiles": np.quantile(cosines, (0.25, 0.5, 0.75)),
        "mean_norms": norms.mean(),
        "norm_ranges": np.quantile(norms, (0.05, 0.95)),
        "mean_norms_without": row_norms(left).mean(),
        "scores": scores,
        "contributions": contributions,
        "neighbours_kept": np.nan if quality is None else quality.neighbours_kept,
    }


def checked_rows(
    num_points: int, seed: int, limit: int | None = None
) -> np.ndarray | None:
    """Points whose neighbours are checked; `None` where all of them are."""
    limit = MOST_CHECKED if limit is None else limit
    if num_points <= limit:
        return None
    drawn = np.random.default_rng(seed).choice(num_points, limit, replace=False)
    return np.sort(drawn)


def _quality(
    vectors: np.ndarray, positions: np.ndarray, rows: np.ndarray | None
) -> MapQuality | None:
    # Of points on one spot the first of the table would be "nearest" on both sides,
    # and a dot a perfect map.
    if len(vectors) < 3 or are_alike(vectors):
        return None
    return map_quality(vectors, positions, rows=rows)


def _sentence_map(
    states: SentenceStates,
    method: str,
    coordinates: np.ndarray,
    qualities: tuple[MapQuality | None, ...],
    explained: np.ndarray,
    seed: int,
) -> SentenceMap:
    are_one = tuple(are_alike(layer) for layer in states.states)
    return SentenceMap(
        method=method,
        reading=states.reading,
        labels=states.labels,
        sentence_index=states.sentence_index,
        position=states.position,
        segments=states.segments,
        coordinates=coordinates.astype(np.float32),
        norms=np.stack([row_norms(layer) for layer in states.states]).astype("f4"),
        qualities=qualities,
        explained=np.where(are_one, np.nan, explained),
        seed=seed,
        num_cut=states.num_cut,
        are_one=are_one,
    )


def _require_points(states: SentenceStates, least: int) -> None:
    count = states.states.shape[1]
    if count < least:
        raise TextError(
            "There are too few points. Received: {count}; at least {least} are "
            "needed. Add sentences, or use every token.",
            count=count,
            least=least,
        )


def _part_of(progress: Progress, index: int, count: int) -> Progress:
    return lambda share, message: progress((index + share) / count, message)
