"""What the words on the embeddings page mean."""

from __future__ import annotations

import streamlit as st

from pages.ui.language import t

TERMS = ("vector", "cosine", "pca", "tsne", "trustworthiness")


def explain_terms() -> None:
    """Draws the words and their meaning, for who never heard of them."""
    with st.expander(t("embeddings.terms"), icon=":material/menu_book:"):
        lines = (
            f"**{t(f'embeddings.term_{term}')}** — {t(f'embeddings.meaning_{term}')}"
            for term in TERMS
        )
        # One element: each costs the server as much as ten lines of text.
        st.markdown("\n\n".join(lines))
