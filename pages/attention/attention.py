"""Attention: who looks at whom, in every head, and what that causes."""

import streamlit as st

from bertviz_core.explorer import Explorer
from pages.attention.live_view import choose_and_show
from pages.attention.locked_tokens import follow_lock
from pages.attention.panels import ask_further
from pages.attention.texts import edit_texts
from pages.attention.word_boundaries import own_words
from pages.shared.answers import ask
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.models import model_picker, say_if_unread

model = model_picker()

texts = edit_texts(model)
if not texts.text.strip():
    st.info(t("attention.empty"), icon=":material/edit:")
    st.stop()

with shown_to_user():
    tokenized = ask(Explorer.tokenize)(model, texts.text, texts.pair, cut=True)
tokenized = own_words(tokenized)
limit = ask(Explorer.info)(model).config.max_position_embeddings
if tokenized.was_cut:
    st.warning(
        t("attention.too_long", count=tokenized.num_tokens_uncut, limit=limit),
        icon=":material/content_cut:",
    )
say_if_unread(model, tokenized)

st.header(t("attention.pictures_title"), anchor=False)
view = choose_and_show(model, texts, tokenized)
follow_lock(tokenized)

st.header(t("attention.questions_title"), anchor=False)
with shown_to_user():
    ask_further(model, texts, tokenized, view)
