"""Layers: one sentence walked through the network, every number on the way."""

import streamlit as st

from pages.ui.answers import describe_model, tokenize
from pages.ui.errors import shown_to_user
from pages.ui.head import model_at_work, page_head
from pages.ui.language import t
from pages.ui.layers.panels import ask_further
from pages.ui.layers.texts import choose_token, edit_texts
from pages.ui.layers.walk import walk
from pages.ui.models import model_picker
from pages.ui.terms import explain_terms

page_head(
    t("layers.title"),
    see=t("layers.what_you_see"),
    look_for=t("layers.what_to_look_for"),
    not_proved=t("layers.what_it_does_not_prove"),
)
explain_terms("layers.terms")
model = model_picker()

texts = edit_texts(model)
if not texts.text.strip():
    st.info(t("layers.empty"), icon=":material/edit:")
    st.stop()

with shown_to_user(), model_at_work():
    tokenized = tokenize(model, texts.text, texts.pair, cut=True)
limit = int(str(describe_model(model).config["max_position_embeddings"]))
if tokenized.was_cut:
    st.warning(
        t("layers.too_long", count=tokenized.num_tokens_uncut, limit=limit),
        icon=":material/content_cut:",
    )
token = choose_token(tokenized)

st.header(t("layers.walk_title"), anchor=False)
st.caption(t("layers.keys"))
walk(model, texts, tokenized, token)

st.header(t("layers.further_title"), anchor=False)
ask_further(model, texts, tokenized, token)
