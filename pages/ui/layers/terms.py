"""What the words on the layers page mean."""

from __future__ import annotations

from pages.ui.language import t
from pages.ui.terms import show_terms

TERMS = ("vector", "layer", "weights", "residual", "neuron", "logit")


def explain_terms() -> None:
    """Draws the words and their meaning, for who never heard of them."""
    show_terms(
        t("layers.terms"),
        ((t(f"layers.term_{term}"), t(f"layers.help_{term}")) for term in TERMS),
    )
