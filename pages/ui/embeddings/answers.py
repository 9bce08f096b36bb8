"""What the engine said about embeddings, kept by model, text and question."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.position_geometry import PositionGeometry
from bertviz_core.experiments.embedding_results import InputSum
from bertviz_core.experiments.word_vector_results import (
    NearestWords,
    WordAnalogy,
    WordAxis,
)
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
    first: str,
    second: str,
    words: tuple[str, ...],
    without: tuple[str, ...],
) -> WordAxis:
    """Words between two words."""
    return client().project_words(model, first, second, words, without=without)
