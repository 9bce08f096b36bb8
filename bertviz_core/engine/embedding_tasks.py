"""Tasks about embeddings, positions and hidden states, see `tasks`."""

from __future__ import annotations

from bertviz_core.analysis import position_geometry as positions
from bertviz_core.analysis.position_geometry import PositionGeometry
from bertviz_core.engine.memory import ANSWERS, explorer, words_of
from bertviz_core.experiments.embedding_results import InputSum
from bertviz_core.experiments.word_vector_results import (
    NearestWords,
    WordAnalogy,
    WordAxis,
)


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


TASKS = (
    take_input_apart,
    position_geometry,
    nearest_words,
    solve_analogy,
    project_words,
)
JOB_TASKS = ()
