"""Maps of a whole vocabulary: by PCA at once, others computed ahead or as a job."""

import contextlib

import numpy as np

from bertviz_core.analysis.geometry import Pca, fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.errors import TextError
from bertviz_core.experiments import stored_maps
from bertviz_core.experiments.map_results import (
    MAX_EXPORTED_NUMBERS,
    NEIGHBOURHOODS,
    DrawnMap,
)
from bertviz_core.experiments.maps import draw_map
from bertviz_core.experiments.sentence_maps import checked_rows
from bertviz_core.experiments.word_vectors import WordVectors
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold

# Entries whose neighbours are checked: few for PCA, as the visitor waits; more for the
# other methods, which take minutes anyway.
CHECKED_AT_ONCE, CHECKED_AHEAD = 128, 1000


@task()
def vocabulary_map(
    explorer: Explorer,
    words: WordVectors,
    num_axes: int = 2,
    method: str = "pca",
    seed: int = 0,
) -> DrawnMap | None:
    """Every entry of the vocabulary on a map.

    By "pca" it is drawn at once; by others it was before, or there is `None`.
    """
    vectors = words.table.vectors
    if method in NEIGHBOURHOODS:
        model, size = explorer.model_id, len(vectors)
        return stored_maps.find_map(model, words.digest, num_axes, size, method)
    return map_by_pca(vectors, num_axes, seed, words.pca)


@task(is_kept=False)
def draw_vocabulary_map(
    explorer: Explorer,
    words: WordVectors,
    method: str = "tsne",
    num_axes: int = 2,
    seed: int = 0,
    neighbourhood: float | None = None,
    progress: Progress = untold,
) -> DrawnMap:
    """See `map_by_neighbours`; with the usual settings, keeps the map for others."""
    progress(0.0, "drawing the map")
    vectors = words.table.vectors
    found = map_by_neighbours(vectors, method, num_axes, seed, progress, neighbourhood)
    if seed == 0 and neighbourhood in (None, NEIGHBOURHOODS[method]):
        # The map is shown all the same where nothing can be written.
        with contextlib.suppress(OSError):
            stored_maps.store_map(found, explorer.model_id, words.digest, beside=False)
    return found


def map_by_pca(
    vectors: np.ndarray, num_axes: int = 2, seed: int = 0, pca: Pca | None = None
) -> DrawnMap:
    """Draws all entries `[V, H]` on their widest axes.

    The seed is that of the entries whose neighbours are checked. The axes may be known.
    """
    pca = pca or fit_pca(vectors, num_axes)
    positions = pca.project(vectors)[:, :num_axes]
    rows = checked_rows(len(vectors), seed, CHECKED_AT_ONCE)
    quality = map_quality(vectors, positions, rows=rows)
    return DrawnMap(
        method="pca",
        coordinates=positions.astype(np.float32),
        quality=quality,
        explained=float(pca.explained[:num_axes].sum()),
        seed=seed,
    )


def map_by_neighbours(
    vectors: np.ndarray,
    method: str = "tsne",
    num_axes: int = 2,
    seed: int = 0,
    progress: Progress = untold,
    neighbourhood: float | None = None,
    num_stages: int = 4,
) -> DrawnMap:
    """Draws all entries `[V, H]` by t-SNE or UMAP, none left out. Takes minutes.

    For the arguments see `draw_map`; the seed is that of the checked entries, too.
    """
    return draw_map(
        vectors,
        method,
        seed,
        progress,
        neighbourhood,
        num_stages,
        num_axes=num_axes,
        checked_rows=checked_rows(len(vectors), seed, CHECKED_AHEAD),
    )


@task()
def exported_vectors(words: WordVectors, rows: tuple[int, ...]) -> np.ndarray:
    """The vectors of some entries, float32 `[M, H]`, to write into a file.

    Raises:
        TextError: more numbers than a page can write.
    """
    vectors = words.table.vectors
    if any(not 0 <= row < len(vectors) for row in rows):
        raise ValueError(f"`rows` must be below {len(vectors)}.")
    limit = MAX_EXPORTED_NUMBERS // vectors.shape[1]
    if len(rows) > limit:
        raise TextError(
            "There are too many vectors for one file. Received: {count} entries; the "
            "limit is {limit}. Search for some of them, or exclude some kinds of "
            "entries.",
            count=len(rows),
            limit=limit,
        )
    return vectors[list(rows)]
