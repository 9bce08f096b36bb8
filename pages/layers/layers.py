"""Layers: one sentence walked through the network, every number on the way."""

import streamlit as st

from bertviz_core.explorer import Explorer
from pages.layers.by_hand import norm_by_hand
from pages.layers.neuron_groups import explore_factors
from pages.layers.neurons import explore_neurons
from pages.layers.norm_order import compare_orders
from pages.layers.residual import follow_residual
from pages.layers.similarity import compare_layers
from pages.layers.texts import choose_token, edit_texts
from pages.layers.walk import walk
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.models import model_picker, say_if_unread

model = model_picker()

texts = edit_texts(model)
if not texts.text.strip():
    st.info(t("layers.empty"), icon=":material/edit:")
    st.stop()

with shown_to_user():
    tokenized = ask(Explorer.tokenize)(model, texts.text, texts.pair, cut=True)
limit = ask(Explorer.info)(model).config.max_position_embeddings
if tokenized.was_cut:
    st.warning(
        t("layers.too_long", count=tokenized.num_tokens_uncut, limit=limit),
        icon=":material/content_cut:",
    )
say_if_unread(model, tokenized)
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
