"""Tasks about embeddings, positions and hidden states, see `tasks`."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis import position_geometry as positions
from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.position_geometry import PositionGeometry
from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer, words_of
from bertviz_core.experiments.embedding_results import (
    InputSum,
    SentenceStates,
    WordSenses,
)
from bertviz_core.experiments.map_results import (
    LayerFacts,
    SentenceMap,
    VocabularyMap,
)
from bertviz_core.experiments.word_vector_results import (
    NearestWords,
    WordAnalogy,
    WordAxis,
)

_MOST_AXES = 3


def take_input_apart(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> InputSum:
    """Splits what enters the first block into word, position and segment."""
    from bertviz_core.experiments import embedding_tables

    return embedding_tables.take_input_apart(explorer(model), text, pair, cut)


def position_geometry(model: str) -> PositionGeometry:
    """Measures the position embeddings."""
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
    """Finds the entries of the vocabulary nearest to one of them."""
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
    """Looks at a - b + c, and how far down the expected word is."""
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
    first: str,
    second: str,
    words: tuple[str, ...],
    num_ends: int = 8,
    without: tuple[str, ...] = (),
) -> WordAxis:
    """Lays words on the line between two words."""
    from bertviz_core.experiments import word_vectors

    return word_vectors.project_words(
        explorer(model), words_of(model), first, second, words, num_ends, without
    )


def word_norms(model: str) -> np.ndarray:
    """The length of every word vector, float32 `[V]`."""
    return words_of(model).table.norms.astype(np.float32)


def exported_vectors(model: str, rows: tuple[int, ...]) -> np.ndarray:
    """The vectors of some entries, to write into a file."""
    from bertviz_core.experiments import vocabulary_maps

    return vocabulary_maps.exported_vectors(words_of(model).table.vectors, rows)


def vocabulary_map(
    model: str, num_axes: int = 2, method: str = "pca"
) -> VocabularyMap | None:
    """The map of the vocabulary by PCA, or the stored one by t-SNE, if any."""
    from bertviz_core.experiments import stored_maps, vocabulary_maps

    vectors = words_of(model).table.vectors
    if method == "tsne":
        digest = stored_maps.digest_of(vectors)
        return stored_maps.find_map(model, digest, num_axes, len(vectors))
    # The widest axes take most of the time, and serve both maps.
    pca = ANSWERS.get(
        ("vocabulary_pca", model),
        lambda: fit_pca(vectors, min(_MOST_AXES, *vectors.shape)),
    )
    return ANSWERS.get(
        ("vocabulary_map", model, num_axes),
        lambda: vocabulary_maps.map_by_pca(vectors, num_axes, pca=pca),
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
        digest = stored_maps.digest_of(vectors)
        stored_maps.store_map(found, model, digest, beside=False)
    return found


def sentence_vectors(
    model: str, sentences: tuple[str, ...], reading: str, layer: int
) -> np.ndarray:
    """The vectors of sentences at one layer, to write into a file."""
    states = _states(lambda *_: None, model, sentences, reading)
    return states.states[layer]


def map_sentences(
    progress: Progress,
    model: str,
    sentences: tuple[str, ...],
    reading: str = "mean",
    num_axes: int = 2,
    alignment: str = "shared",
    seed: int = 0,
) -> SentenceMap:
    """Draws sentences at every layer by PCA."""
    from bertviz_core.experiments import sentence_maps

    states = _states(progress, model, sentences, reading)
    return sentence_maps.map_by_pca(states, num_axes, alignment, seed)


def draw_sentences(
    progress: Progress,
    model: str,
    sentences: tuple[str, ...],
    reading: str = "mean",
    num_axes: int = 2,
    seed: int = 0,
    perplexity: float = 30.0,
) -> SentenceMap:
    """Draws sentences at every layer by t-SNE."""
    from bertviz_core.experiments import sentence_maps

    states = _states(progress, model, sentences, reading)
    return sentence_maps.map_by_tsne(
        states, num_axes, seed, perplexity, progress=progress
    )


def follow_word(
    progress: Progress,
    model: str,
    sentences: tuple[str, ...],
    word: str,
    senses: tuple[str, ...],
) -> WordSenses:
    """Follows one word through the layers in several sentences."""
    from bertviz_core.experiments import sentence_states

    key = ("follow_word", model, sentences, word, senses)
    opened = explorer(model)
    return ANSWERS.get(
        key,
        lambda: sentence_states.word_senses(
            opened, sentences, word, senses, cut=True, progress=progress
        ),
    )


def measure_layers(
    progress: Progress,
    model: str,
    sentences: tuple[str, ...],
    num_deviations: float = 3.0,
    seed: int = 0,
) -> LayerFacts:
    """Measures the geometry of every layer on some sentences."""
    from bertviz_core.experiments import sentence_maps

    states = _states(progress, model, sentences, "token")
    return sentence_maps.layer_facts(states, num_deviations, seed, progress)


def _states(
    progress: Progress, model: str, sentences: tuple[str, ...], reading: str
) -> SentenceStates:
    from bertviz_core.experiments import sentence_states

    opened = explorer(model)
    return ANSWERS.get(
        ("sentence_states", model, sentences, reading),
        lambda: sentence_states.sentence_states(
            opened, sentences, reading, cut=True, progress=progress
        ),
    )


TASKS = (
    take_input_apart,
    position_geometry,
    nearest_words,
    solve_analogy,
    project_words,
    word_norms,
    exported_vectors,
    vocabulary_map,
    sentence_vectors,
)
JOB_TASKS = (
    draw_vocabulary_map,
    map_sentences,
    draw_sentences,
    follow_word,
    measure_layers,
)
