"""What the words on the embeddings page mean."""

from __future__ import annotations

from pages.ui.language import t
from pages.ui.terms import show_terms

TERMS = ("vector", "cosine", "pca", "tsne", "trustworthiness")


def explain_terms() -> None:
    """Draws the words and their meaning, for who never heard of them."""
    show_terms(
        t("embeddings.terms"),
        (
            (t(f"embeddings.term_{term}"), t(f"embeddings.meaning_{term}"))
            for term in TERMS
        ),
    )
