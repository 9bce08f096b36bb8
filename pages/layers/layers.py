"""Layers: one sentence walked through the network, every number on the way."""

import streamlit as st

from bertviz_core.explorer import Explorer
from pages.layers.panels import ask_further
from pages.layers.texts import choose_token, edit_texts
from pages.layers.walk import walk
from pages.shared.answers import ask
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
ask_further(model, texts, tokenized, token)
