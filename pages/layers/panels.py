"""The questions below the walk; only the one that is asked is computed."""

from __future__ import annotations

import streamlit as st

from bertviz_core.trace import Texts, TokenizedText
from pages.layers.by_hand import norm_by_hand
from pages.layers.neuron_groups import explore_factors
from pages.layers.neurons import explore_neurons
from pages.layers.norm_order import compare_orders
from pages.layers.residual import follow_residual
from pages.layers.similarity import compare_layers
from pages.shared.choices import choose_linked
from pages.shared.language import plain, t

PANELS = ("residual", "similarity", "neurons", "factors", "orders", "by_hand")


def ask_further(model: str, texts: Texts, tokenized: TokenizedText, token: int) -> None:
    """Draws the choice of a question, and its answer."""
    panel = choose_linked(
        st.pills,
        t("layers.panel"),
        PANELS,
        key="layers_panel",
        required=True,
        format_func=lambda name: plain(f"layers.panel_{name}"),
    )
    if panel == "residual":
        follow_residual(model, texts, tokenized.num_tokens, token)
    elif panel == "similarity":
        compare_layers(model, texts)
    elif panel == "neurons":
        explore_neurons(model, texts, tokenized, token)
    elif panel == "factors":
        explore_factors(model, texts, tokenized.num_tokens)
    elif panel == "orders":
        compare_orders(model)
    else:
        norm_by_hand(model, texts, tokenized, token)
