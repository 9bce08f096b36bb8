"""Embeddings: words, places and sentences as vectors, measured and drawn."""

from collections.abc import Callable

import streamlit as st

from pages.embeddings.contexts import explore_contexts, explore_senses
from pages.embeddings.geometry import explore_geometry
from pages.embeddings.input_embeddings import explore_input, explore_positions
from pages.embeddings.sentences import explore_sentences
from pages.embeddings.vocabulary import explore_vocabulary, explore_words
from pages.shared.choices import choose_named
from pages.shared.language import t
from pages.shared.models import model_picker
from pages.shared.own_text import sentence_of_visit
from pages.shared.panel import panel

PARTS: dict[str, Callable[[str], None]] = {
    "input": explore_input,
    "positions": explore_positions,
    "words": explore_words,
    "map": explore_vocabulary,
    "sentences": explore_sentences,
    "senses": explore_senses,
    "contexts": explore_contexts,
    "geometry": explore_geometry,
}


@panel
def show_embeddings(model: str) -> None:
    """Draws the part that is looked at, which alone is computed."""
    sentence_of_visit(model)  # a link brings it, whatever part is open
    part = choose_named(
        "embeddings.panel", list(PARTS), widget=st.pills, label_visibility="collapsed"
    )
    st.markdown(t(f"embeddings.{part}_intro"))
    PARTS[part](model)


show_embeddings(model_picker())
