"""Layers: one sentence walked through the network, every number on the way."""

import streamlit as st

from pages.layers.by_hand import norm_by_hand
from pages.layers.neuron_groups import explore_factors
from pages.layers.neurons import explore_neurons
from pages.layers.norm_order import compare_orders
from pages.layers.residual import follow_residual
from pages.layers.similarity import compare_layers
from pages.layers.texts import choose_token, edit_texts
from pages.layers.walk import walk
from pages.shared.choices import choose_named
from pages.shared.language import t
from pages.shared.models import model_picker
from pages.shared.text_pair import read_by

model = model_picker()

texts = edit_texts(model)
tokenized = read_by(model, texts)
token = choose_token(tokenized)

st.header(t("layers.walk_title"), anchor=False)
st.caption(t("layers.keys"))
walk(model, texts, tokenized, token)

st.header(t("layers.further_title"), anchor=False)
questions = {  # only the one that is asked is computed
    "residual": lambda: follow_residual(model, texts, tokenized.num_tokens, token),
    "similarity": lambda: compare_layers(model, texts),
    "neurons": lambda: explore_neurons(model, texts, tokenized, token),
    "factors": lambda: explore_factors(model, texts, tokenized.num_tokens),
    "orders": lambda: compare_orders(model),
    "by_hand": lambda: norm_by_hand(model, texts, tokenized, token),
}
questions[
    choose_named(
        "layers.panel", list(questions), "panel", key="layers_panel", widget=st.pills
    )
]()
