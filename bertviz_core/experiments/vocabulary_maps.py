"""Maps of a whole vocabulary: by PCA at once, by t-SNE computed ahead or as a job."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from bertviz_core.analysis.geometry import Pca, fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.errors import TextError
from bertviz_core.experiments import stored_maps
from bertviz_core.experiments.map_results import MAX_EXPORTED_NUMBERS, VocabularyMap
from bertviz_core.experiments.maps import tsne_map
from bertviz_core.experiments.sentence_maps import MOST_NEIGHBOURS, checked_rows
from bertviz_core.experiments.word_vectors import WordVectors
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task

Progress = Callable[[float, str], None]

# Entries whose neighbours are checked: of PCA while somebody waits, of t-SNE, which
# takes minutes anyway.
CHECKED_AT_ONCE, CHECKED_AHEAD = 128, 1000


@task()
def vocabulary_map(
    explorer: Explorer,
    words: WordVectors,
    num_axes: int = 2,
    method: str = "pca",
    seed: int = 0,
) -> VocabularyMap | None:
    """Every entry of the vocabulary on a map.

    Args:
        explorer: of the model.
        words: its vocabulary.
        num_axes: 2 or 3.
        method: "pca", drawn at once; "tsne", a map that was computed before, or
            `None` where there is none.
        seed: of PCA, of the entries whose neighbours are checked.
    """
    vectors = words.table.vectors
    if method == "tsne":
        model, size = explorer.model_id, len(vectors)
        return stored_maps.find_map(model, words.digest, num_axes, size)
    return map_by_pca(vectors, num_axes, seed, words.pca)


@task(is_kept=False)
def draw_vocabulary_map(
    explorer: Explorer,
    words: WordVectors,
    num_axes: int = 2,
    seed: int = 0,
    perplexity: float = 30.0,
    progress: Progress | None = None,
) -> VocabularyMap:
    """Draws the vocabulary by t-SNE; with the usual settings, keeps it for others."""
    if progress is not None:
        progress(0.0, "drawing the map")
    vectors = words.table.vectors
    found = map_by_tsne(vectors, num_axes, seed, progress, perplexity)
    if (seed, perplexity) == (0, 30.0):
        # The map is shown all the same where nothing can be written.
        with contextlib.suppress(OSError):
            stored_maps.store_map(found, explorer.model_id, words.digest, beside=False)
    return found


def map_by_pca(
    vectors: np.ndarray, num_axes: int = 2, seed: int = 0, pca: Pca | None = None
) -> VocabularyMap:
    """Draws all entries on their widest axes.

    Args:
        vectors: float `[V, H]`.
        num_axes: 2 or 3.
        seed: of the entries whose neighbours are checked.
        pca: of the same vectors with as many axes or more; `None` finds them.
    """
    pca = pca or fit_pca(vectors, num_axes)
    positions = pca.project(vectors)[:, :num_axes]
    rows = checked_rows(len(vectors), seed, CHECKED_AT_ONCE)
    quality = map_quality(vectors, positions, _num_neighbours(vectors), rows)
    return VocabularyMap(
        method="pca",
        coordinates=positions.astype(np.float32),
        quality=quality,
        explained=float(pca.explained[:num_axes].sum()),
        seed=seed,
    )


def map_by_tsne(
    vectors: np.ndarray,
    num_axes: int = 2,
    seed: int = 0,
    progress: Progress | None = None,
    perplexity: float = 30.0,
    num_stages: int = 4,
) -> VocabularyMap:
    """Draws all entries by t-SNE, none left out. Minutes for a whole vocabulary.

    Args:
        vectors: float `[V, H]`.
        num_axes: 2 or 3.
        seed: see `tsne_map`; and of the entries whose neighbours are checked.
        progress: told the share done; may raise to cancel.
        perplexity: see `tsne_map`.
        num_stages: of 300 steps.
    """
    drawn = tsne_map(
        vectors,
        seed,
        progress,
        perplexity,
        num_stages,
        MOST_NEIGHBOURS,
        num_axes,
        checked_rows=checked_rows(len(vectors), seed, CHECKED_AHEAD),
    )
    return VocabularyMap(
        method="tsne",
        coordinates=drawn.positions.astype(np.float32),
        quality=drawn.quality,
        seed=seed,
        perplexity=drawn.perplexity,
        num_steps=drawn.num_steps,
        divergence=drawn.divergence,
    )


@task()
def exported_vectors(words: WordVectors, rows: tuple[int, ...]) -> np.ndarray:
    """The vectors of some entries, float32 `[M, H]`, to write into a file.

    Raises:
        TextError: more numbers than a page can write.
        ValueError: no such row.
    """
    vectors = words.table.vectors
    if any(not 0 <= row < len(vectors) for row in rows):
        raise ValueError(f"`rows` must be below {len(vectors)}.")
    limit = MAX_EXPORTED_NUMBERS // vectors.shape[1]
    if len(rows) > limit:
        raise TextError(
            "These are too many vectors for one file. Received: {count} entries; "
            "{limit} fit. Look for a part of them, or leave kinds of entries out.",
            count=len(rows),
            limit=limit,
        )
    return vectors[list(rows)]


def _num_neighbours(vectors: np.ndarray) -> int:
    return min(MOST_NEIGHBOURS, (len(vectors) - 1) // 2)
