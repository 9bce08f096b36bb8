"""Masked words: hide words of a sentence and see what the model predicts."""

import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.explorer import Explorer
from pages.masked_word.editor import edit_text, show_reading
from pages.masked_word.likeliest_words import explore_choices
from pages.masked_word.panels import ask_further
from pages.masked_word.question import Question, choose_mask, compare_with_hidden
from pages.shared.answers import answer, ask, fetch
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.models import model_picker
from pages.shared.panel import panel


@panel
def show_masked_word(model: str) -> None:
    """Draws the text, its pieces and the picture, and the question asked further."""
    # Side by side, so that a laptop shows all three at once.
    text_side, picture_side = st.columns(2, gap="medium")
    with text_side:
        masked = edit_text(model)
    if not masked.text.strip():
        picture_side.info(t("masked_word.empty"), icon=":material/edit:")
        ask_further(model)
        return
    if "mlm" not in ask(Explorer.info)(model).heads:
        said = t("masked_word.no_head", model=model)
        picture_side.info(said, icon=":material/block:")
        ask_further(model)
        return

    split = ask(Explorer.tokenize).about(model, masked.text, cut=True)
    guess = ask(Explorer.predict_masks).about(model, masked.text, cut=True)
    predictions = None
    with shown_to_user(offer=lambda: ask_further(model)):
        fetch(split, guess)
        tokenized = answer(split)
        with text_side:
            show_reading(model, tokenized)
        if len(tokenized.mask_positions):
            predictions = answer(guess)

    if predictions is None:
        is_unread = bool(masked.originals)  # a mask in what was cut off
        why = "mask_unread" if is_unread else "no_mask"
        picture_side.info(t(f"masked_word.{why}"), icon=":material/touch_app:")
        ask_further(model, Question(model, tokenized, None))
        return
    if tokenized.num_tokens == len(tokenized.mask_positions) + 2:
        picture_side.info(t("masked_word.only_masks"), icon=":material/info:")

    with picture_side, shown_to_user():
        mask = choose_mask(predictions, ask(vocabulary)(model))
        compare_with_hidden(model, masked, mask)
        reading = {"model": model, "text": masked.text, "cut": tokenized.was_cut}
        explore_choices(masked, mask, reading)

    ask_further(model, Question(model, tokenized, mask))


show_masked_word(model_picker())
