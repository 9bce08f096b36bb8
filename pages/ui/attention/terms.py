"""What the words on the attention page mean."""

from __future__ import annotations

from pages.ui.language import t
from pages.ui.terms import show_terms

TERMS = ("attention", "head", "special")


def explain_terms() -> None:
    """Draws the words and their meaning, for who never heard of them."""
    show_terms(
        t("attention.terms"),
        ((t(f"attention.term_{term}"), t(f"attention.help_{term}")) for term in TERMS),
    )
