"""Tasks about sentences and words of the user at every layer, see `tasks`."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.nearest_words import Neighbours, WordTable
from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer
from bertviz_core.experiments.embedding_results import SentenceStates, WordSenses
from bertviz_core.experiments.map_results import LayerFacts, SentenceMap


def sentence_vectors(
    model: str, sentences: tuple[str, ...], reading: str, layer: int
) -> np.ndarray:
    """The vectors of sentences at one layer, float32 `[M, H]`.

    Args:
        model: its id.
        sentences: see `sentence_states`.
        reading: "token", "cls" or "mean".
        layer: 0 is the embedding output.

    Raises:
        TextError: see `sentence_states`.
    """
    states = _states(lambda *_: None, model, sentences, reading)
    return states.states[layer]


def nearest_points(
    model: str,
    sentences: tuple[str, ...],
    reading: str,
    layer: int,
    point: int,
    num_neighbours: int = 10,
) -> Neighbours:
    """Finds the points nearest to one of them by cosine, in the full space.

    Args:
        model: its id.
        sentences: see `sentence_states`.
        reading: "token", "cls" or "mean".
        layer: 0 is the embedding output.
        point: which one; it is not its own neighbour.
        num_neighbours: how many to name; fewer where there are fewer points.

    Raises:
        TextError: see `sentence_states`.
    """
    vectors = sentence_vectors(model, sentences, reading, layer)
    others = np.arange(len(vectors)) != point
    return WordTable(vectors).nearest(vectors[point], num_neighbours, allowed=others)


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


JOB_TASKS = (
    map_sentences,
    draw_sentences,
    follow_word,
    measure_layers,
)
