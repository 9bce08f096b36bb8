"""Tasks about embeddings, positions and hidden states, see `tasks`."""

from __future__ import annotations

import contextlib

import numpy as np

from bertviz_core.analysis import position_geometry as positions
from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.position_geometry import PositionGeometry
from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer, words_of
from bertviz_core.experiments.embedding_results import (
    InputSum,
)
from bertviz_core.experiments.map_results import (
    VocabularyMap,
)
from bertviz_core.experiments.word_vector_results import (
    AxisRemoved,
    NearestWords,
    WordAnalogy,
    WordAxis,
)

_MOST_AXES = 3


def take_input_apart(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> InputSum:
    """Splits what enters the first block into word, position and segment.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    from bertviz_core.experiments import embedding_tables

    return embedding_tables.take_input_apart(explorer(model), text, pair, cut)


def position_geometry(model: str) -> PositionGeometry:
    """Measures the position embeddings of a model."""
    from bertviz_core.experiments import embedding_tables

    return ANSWERS.get(
        ("position_geometry", model),
        lambda: positions.position_geometry(
            embedding_tables.position_table(explorer(model))
        ),
    )


def nearest_words(
    model: str,
    word: str,
    num_neighbours: int = 10,
    metric: str = "cosine",
    without: tuple[str, ...] = (),
) -> NearestWords:
    """Finds the entries of the vocabulary nearest to one of them.

    Args:
        model: its id.
        word: an entry, or a word of several pieces; capitals as the model reads them.
        num_neighbours: how many to name.
        metric: "cosine" or "euclidean".
        without: kinds of `wordlists.KINDS` that are no answer.

    Raises:
        TextError: the model cannot read the word.
    """
    from bertviz_core.experiments import word_vectors

    return word_vectors.nearest_words(
        explorer(model), words_of(model), word, num_neighbours, metric, without
    )


def solve_analogy(
    model: str,
    inputs: tuple[str, str, str],
    expected: str = "",
    num_neighbours: int = 10,
    metric: str = "cosine",
    without: tuple[str, ...] = (),
) -> WordAnalogy:
    """Looks at a - b + c, and how far down the expected word is.

    Args:
        model: its id.
        inputs: the words a, b, c, as king, man, woman.
        expected: the word that is hoped for; "" for none.
        num_neighbours: how many to name.
        metric: "cosine" or "euclidean".
        without: kinds of `wordlists.KINDS` that are no answer.

    Raises:
        TextError: the model cannot read a word.
    """
    from bertviz_core.experiments import word_vectors

    return word_vectors.solve_analogy(
        explorer(model),
        words_of(model),
        inputs,
        expected,
        num_neighbours,
        metric,
        without,
    )


def project_words(
    model: str,
    first: str | tuple[str, ...],
    second: str | tuple[str, ...],
    words: tuple[str, ...],
    without: tuple[str, ...] = (),
) -> WordAxis:
    """Lays words on the line between two words.

    Args:
        model: its id.
        first: the word at 0, or several, whose mean it is.
        second: the word at 1, likewise.
        words: to lay out.
        without: kinds of `wordlists.KINDS` that are not named.

    Raises:
        TextError: the model cannot read a word, or both ends are one.
    """
    from bertviz_core.experiments import word_axis

    return word_axis.project_words(
        explorer(model), words_of(model), first, second, words, without
    )


def remove_axis(
    model: str,
    word: str,
    first: str | tuple[str, ...],
    second: str | tuple[str, ...],
    num_neighbours: int = 10,
    without: tuple[str, ...] = (),
) -> AxisRemoved:
    """Names the neighbours of a word before and after an axis is taken out.

    Args:
        model: its id.
        word: whose neighbours.
        first: see `project_words`.
        second: see `project_words`.
        num_neighbours: how many to name.
        without: kinds of `wordlists.KINDS` that are not named.

    Raises:
        TextError: see `project_words`.
    """
    from bertviz_core.experiments import word_axis

    return word_axis.remove_axis(
        explorer(model), words_of(model), word, first, second, num_neighbours, without
    )


def word_norms(model: str) -> np.ndarray:
    """The length of every word vector, float32 `[V]`."""
    return words_of(model).table.norms.astype(np.float32)


def exported_vectors(model: str, rows: tuple[int, ...]) -> np.ndarray:
    """The vectors of some entries, float32 `[M, H]`, to write into a file.

    Args:
        model: its id.
        rows: entries of the vocabulary.

    Raises:
        TextError: too many for a file.
    """
    from bertviz_core.experiments import vocabulary_maps

    return vocabulary_maps.exported_vectors(words_of(model).table.vectors, rows)


def vocabulary_map(
    model: str, num_axes: int = 2, method: str = "pca", seed: int = 0
) -> VocabularyMap | None:
    """Every entry of the vocabulary on a map.

    Args:
        model: its id.
        num_axes: 2 or 3.
        method: "pca", drawn at once; "tsne", a map that was computed before, or
            `None` where there is none.
        seed: of PCA, of the entries whose neighbours are checked.
    """
    from bertviz_core.experiments import stored_maps, vocabulary_maps

    vectors = words_of(model).table.vectors
    if method == "tsne":
        return stored_maps.find_map(model, _digest(model), num_axes, len(vectors))
    # The widest axes take most of the time, and serve both maps.
    pca = ANSWERS.get(
        ("vocabulary_pca", model),
        lambda: fit_pca(vectors, min(_MOST_AXES, *vectors.shape)),
    )
    return ANSWERS.get(
        ("vocabulary_map", model, num_axes, seed),
        lambda: vocabulary_maps.map_by_pca(vectors, num_axes, seed, pca),
    )


def draw_vocabulary_map(
    progress: Progress,
    model: str,
    num_axes: int = 2,
    seed: int = 0,
    perplexity: float = 30.0,
) -> VocabularyMap:
    """Draws the vocabulary by t-SNE; with the usual settings, keeps it for others."""
    from bertviz_core.experiments import stored_maps, vocabulary_maps

    vectors = words_of(model).table.vectors
    progress(0.0, "drawing the map")
    found = vocabulary_maps.map_by_tsne(vectors, num_axes, seed, progress, perplexity)
    if (seed, perplexity) == (0, 30.0):
        # The map is shown all the same where nothing can be written.
        with contextlib.suppress(OSError):
            stored_maps.store_map(found, model, _digest(model), beside=False)
    return found


def _digest(model: str) -> str:
    """Of the word vectors; made once, it takes 0.2 s for those of BERT-base."""
    from bertviz_core.experiments.stored_maps import digest_of

    return str(
        ANSWERS.get(
            ("vocabulary_digest", model),
            lambda: digest_of(words_of(model).table.vectors),
        )
    )


JOB_TASKS = (draw_vocabulary_map,)
