"""The parts of the embeddings page; only the one that is looked at is computed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.embeddings.geometry import explore_geometry
from pages.embeddings.input_sum import explore_input
from pages.embeddings.positions import explore_positions
from pages.embeddings.senses import explore_senses
from pages.embeddings.sentences import explore_sentences
from pages.embeddings.vocabulary_map import explore_vocabulary
from pages.embeddings.widgets import choose
from pages.embeddings.words import explore_words
from pages.shared.language import t

PANELS: dict[str, Callable[[str], None]] = {
    "input": explore_input,
    "positions": explore_positions,
    "words": explore_words,
    "map": explore_vocabulary,
    "sentences": explore_sentences,
    "senses": explore_senses,
    "geometry": explore_geometry,
}


def explore(model: str) -> None:
    """Draws the choice of a part, and the part."""
    panel = choose("panel", list(PANELS), st.pills, label_visibility="collapsed")
    st.header(t(f"embeddings.panel_{panel}"), anchor=False)
    PANELS[panel](model)
