"""Layers: one sentence walked through the network, every number on the way."""

import streamlit as st

from bertviz_core.experiments.token_numbers import steps_for_one_token
from pages.layers.neurons import explore_factors, explore_neurons
from pages.layers.norms import compare_orders, norm_by_hand
from pages.layers.residual import compare_layers, follow_residual
from pages.layers.walk import walk
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.language import t
from pages.shared.models import model_picker
from pages.shared.own_text import choose_piece_in_focus, read_by, type_sentence
from pages.shared.panel import panel


@panel
def show_layers(model: str) -> None:
    """Draws the sentence, its walk through the layers, and the question asked."""
    texts = type_sentence(model)
    tokenized = read_by(model, texts, ask(steps_for_one_token).about(model, texts))
    token = choose_piece_in_focus(tokenized)

    walk(model, texts, tokenized, token)
    st.caption(t("layers.keys"))

    st.header(t("layers.further_title"), anchor=False)
    questions = {  # only the one that is asked is computed
        "residual": lambda: follow_residual(model, texts, tokenized.num_tokens, token),
        "similarity": lambda: compare_layers(model, texts),
        "neurons": lambda: explore_neurons(model, texts, tokenized, token),
        "factors": lambda: explore_factors(model, texts, tokenized.num_tokens),
        "orders": lambda: compare_orders(model),
        "by_hand": lambda: norm_by_hand(model, texts, tokenized, token),
    }
    asked = choose_named("layers.panel", list(questions), widget=st.pills)
    questions[asked]()


show_layers(model_picker())
