"""What the engine said about masked words, kept by model, text and question."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.layer_results import GeluSwitch, LogitLens
from bertviz_core.experiments.sentence_pair_results import NextSentence
from bertviz_core.experiments.word_results import (
    JointFilling,
    WholeWords,
    WordScore,
)
from pages.ui.engine import client


@st.cache_data(max_entries=64, show_spinner=False)
def fill_masks(model: str, text: str, mode: str) -> JointFilling:
    """Every mask filled, in an order."""
    return client().fill_masks(model, text, mode)


@st.cache_data(max_entries=64, show_spinner=False)
def score_words(
    model: str, text: str, words: tuple[str, ...], mask_index: int
) -> tuple[WordScore, ...]:
    """How well words fit at a mask."""
    return client().score_words(model, text, words, mask_index)


@st.cache_data(max_entries=32, show_spinner=False)
def read_layers(model: str, text: str, word_ids: tuple[int, ...]) -> LogitLens:
    """What each layer would answer."""
    return client().read_layers(model, text, word_ids)


@st.cache_data(max_entries=64, show_spinner=False)
def predict_next_sentence(model: str, first: str, second: str) -> NextSentence:
    """Whether a text follows another, and the other way round."""
    return client().predict_next_sentence(model, first, second)


@st.cache_data(max_entries=16, max_size="32MB", show_spinner=False)
def switch_gelu(model: str, text: str) -> GeluSwitch:
    """The prediction with both curves that are called GELU."""
    return client().switch_gelu(model, text)


@st.cache_data(max_entries=64, show_spinner=False)
def find_whole_words(
    model: str, text: str, num_pieces: int, kind: str, mask_index: int
) -> WholeWords:
    """The likeliest words of several pieces."""
    return client().find_whole_words(model, text, num_pieces, kind, mask_index)
