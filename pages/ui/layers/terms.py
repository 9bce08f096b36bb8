"""What the words on the layers page mean."""

from __future__ import annotations

import streamlit as st

from pages.ui.language import t

TERMS = ("vector", "layer", "weights", "residual", "neuron")


def explain_terms() -> None:
    """Draws the words and their meaning, for who never heard of them."""
    with st.expander(t("layers.terms"), icon=":material/menu_book:"):
        lines = (
            f"**{t(f'layers.term_{term}')}** — {t(f'layers.help_{term}')}"
            for term in TERMS
        )
        # One element: each costs the server as much as ten lines of text.
        st.markdown("\n\n".join(lines))
