"""What the engine said about embeddings, kept by model, text and question."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.nearest_words import Neighbours
from bertviz_core.analysis.position_geometry import PositionGeometry
from bertviz_core.analysis.wordlists import main_kinds
from bertviz_core.experiments.embedding_results import InputSum
from bertviz_core.experiments.map_results import VocabularyMap
from bertviz_core.experiments.word_vector_results import (
    AxisRemoved,
    NearestWords,
    WordAnalogy,
    WordAxis,
)
from pages.ui.answers import vocabulary
from pages.ui.engine import client


# A text of 512 tokens takes 8 MB with BERT-base.
@st.cache_data(max_entries=16, max_size="32MB", show_spinner=False)
def take_input_apart(model: str, text: str, pair: str | None) -> InputSum:
    """The input sum of a text, cut to what the model can read."""
    return client().take_input_apart(model, text, pair, cut=True)


@st.cache_data(max_entries=4, show_spinner=False)
def position_geometry(model: str) -> PositionGeometry:
    """The position embeddings of a model, measured."""
    return client().position_geometry(model)


@st.cache_data(max_entries=64, show_spinner=False)
def nearest_words(
    model: str, word: str, num_neighbours: int, metric: str, without: tuple[str, ...]
) -> NearestWords:
    """The entries nearest to one of them."""
    return client().nearest_words(model, word, num_neighbours, metric, without)


@st.cache_data(max_entries=64, show_spinner=False)
def solve_analogy(
    model: str,
    inputs: tuple[str, str, str],
    expected: str,
    num_neighbours: int,
    metric: str,
    without: tuple[str, ...],
) -> WordAnalogy:
    """What lies at a - b + c."""
    return client().solve_analogy(
        model, inputs, expected, num_neighbours, metric, without
    )


@st.cache_data(max_entries=64, show_spinner=False)
def project_words(
    model: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    words: tuple[str, ...],
    without: tuple[str, ...],
) -> WordAxis:
    """Words between two words, or between two sets of words."""
    return client().project_words(model, first, second, words, without=without)


@st.cache_data(max_entries=64, show_spinner=False)
def remove_axis(
    model: str,
    word: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    without: tuple[str, ...],
) -> AxisRemoved:
    """The neighbours of a word with an axis and without it."""
    return client().remove_axis(model, word, first, second, without=without)


@st.cache_data(max_entries=4, show_spinner=False)
def word_norms(model: str) -> np.ndarray:
    """The length of every word vector, float32 `[V]`."""
    return client().word_norms(model)


@st.cache_data(max_entries=4, show_spinner=False)
def entries(model: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Every row of the embeddings: its name and its main kind."""
    tokens = vocabulary(model)
    return tokens, main_kinds(tokens)


def exported_vectors(model: str, rows: tuple[int, ...]) -> np.ndarray:
    """The vectors of some entries, not kept: for a file that is asked for once."""
    return client().exported_vectors(model, rows)


def sentence_vectors(
    model: str, sentences: tuple[str, ...], reading: str, layer: int
) -> np.ndarray:
    """The vectors of sentences at one layer, not kept."""
    return client().sentence_vectors(model, sentences, reading, layer)


@st.cache_data(max_entries=64, show_spinner=False)
def nearest_points(
    model: str, sentences: tuple[str, ...], reading: str, layer: int, point: int
) -> Neighbours:
    """The points nearest to one of them at one layer."""
    return client().nearest_points(model, sentences, reading, layer, point)


# 366 kB for 30,522 words. A map that is not there may be drawn any moment: short-lived.
@st.cache_data(max_entries=8, ttl=60, show_spinner=False)
def vocabulary_map(
    model: str, num_axes: int, method: str, seed: int = 0
) -> VocabularyMap | None:
    """Every entry of the vocabulary on a map."""
    return client().vocabulary_map(model, num_axes, method, seed)
