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
    steps = ask(steps_for_one_token).about(model, texts)
    read = choose_piece_in_focus(read_by(model, texts, steps))

    walk(read)
    st.caption(t("layers.keys"))

    st.header(t("layers.further_title"), anchor=False)
    questions = {  # only the one that is asked is computed
        "residual": lambda: follow_residual(read),
        "similarity": lambda: compare_layers(*read.asked),
        "neurons": lambda: explore_neurons(read),
        "factors": lambda: explore_factors(read),
        "orders": lambda: compare_orders(model),
        "by_hand": lambda: norm_by_hand(read),
    }
    asked = choose_named("layers.panel", list(questions), widget=st.pills)
    st.markdown(t(f"layers.{asked}_intro"))
    questions[asked]()


show_layers(model_picker())
