"""Masked words: hide words of a sentence, see what the model would put there."""

import streamlit as st

from pages.ui.answers import describe_model, predict_masks, vocabulary
from pages.ui.errors import shown_to_user
from pages.ui.head import model_at_work
from pages.ui.language import t
from pages.ui.masked_word.arriving import take_arriving_text
from pages.ui.masked_word.candidates import (
    choose_mask,
    compare_with_hidden,
    explore_candidates,
)
from pages.ui.masked_word.choosing import explore_choosing
from pages.ui.masked_word.editor import edit_text
from pages.ui.masked_word.panels import ask_further, ask_without_text
from pages.ui.masked_word.reading import show_reading
from pages.ui.models import model_picker

model = model_picker()

take_arriving_text()
masked = edit_text(model)
if not masked.text.strip():
    st.info(t("masked_word.empty"), icon=":material/edit:")
    ask_without_text(model)
    st.stop()
if "mlm" not in describe_model(model).heads:
    st.info(t("masked_word.no_head", model=model), icon=":material/block:")
    ask_without_text(model)
    st.stop()

with shown_to_user(offer=lambda: ask_without_text(model)), model_at_work():
    tokenized, predictions = show_reading(model, masked.text), None
    if tokenized is not None and len(tokenized.mask_positions):
        predictions = predict_masks(model, masked.text, cut=tokenized.was_cut)

if tokenized is None:
    ask_without_text(model)
    st.stop()
if predictions is None:
    st.info(t("masked_word.no_mask"), icon=":material/touch_app:")
    ask_further(model, tokenized, None)
    st.stop()
if tokenized.num_tokens == len(tokenized.mask_positions) + 2:
    st.info(t("masked_word.only_masks"), icon=":material/info:")

st.header(t("masked_word.candidates_title"), anchor=False)
with shown_to_user():
    mask = choose_mask(predictions, vocabulary(model))
    compare_with_hidden(model, masked, mask)
reading = {"model": model, "text": masked.text, "cut": tokenized.was_cut}
explore_candidates(masked, mask, reading)

st.header(t("masked_word.choosing_title"), anchor=False)
st.markdown(t("masked_word.choosing_intro"))
explore_choosing(mask, reading)

ask_further(model, tokenized, mask)
