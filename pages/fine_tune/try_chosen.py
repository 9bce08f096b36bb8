"""The same questions to any model with classes: loaded back, kept, or downloaded."""

from __future__ import annotations

import streamlit as st

from bertviz_core.explorer import Explorer
from bertviz_core.trace import ModelInfo
from pages.fine_tune.state import STEP, FineTuneState
from pages.fine_tune.step_try import begin_with, try_all
from pages.fine_tune.try_table import Classifier
from pages.fine_tune.widgets import button
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, switch_linked
from pages.shared.language import plain, t
from pages.shared.models import OPEN, language_of, title_of

_WHICH, _RUN, _CHOSEN = "ft_try_which", "run", "chosen"
# By the language of the model: a text, and a second one for a model that reads two.
EXAMPLES = {
    "en": ("The room was clean, but breakfast was cold.", "The guest liked the room."),
    "zh": ("房间很干净，就是早餐凉了。", "客人对房间满意。"),
}


def can_try(model: str) -> bool:
    """Whether a model says something of a text as a whole."""
    return "classifier" in ask(Explorer.info)(model).heads


def is_tried(state: FineTuneState) -> bool:
    """Whether the chosen model is tried, and not the one that was trained here.

    Where both are there, a choice of the two is drawn.
    """
    if not can_try(state.model) or state.status is None or not state.is_trained:
        return can_try(state.model)
    trained = state.status.model
    if trained is not None and trained.model_id == state.model:
        return False
    names = {
        _RUN: plain("fine_tune_results.try_trained"),
        _CHOSEN: plain("fine_tune_results.try_other", model=title_of(state.model)),
    }
    which = choose_linked(
        st.segmented_control,
        t("fine_tune_results.try_which"),
        (_RUN, _CHOSEN),
        key=_WHICH,
        required=True,
        format_func=names.__getitem__,
    )
    return which == _CHOSEN


def show(model: str) -> None:
    """Draws the step for a model without its training."""
    info = ask(Explorer.info)(model)
    st.header(t("fine_tune_results.try_title"), anchor=False)
    st.markdown(t("fine_tune_results.try_chosen_intro", model=title_of(model)))
    learned = info.trained_inputs
    if learned.max_tokens:
        st.caption(t("fine_tune_results.try_length", limit=learned.max_tokens))
    classifier = Classifier(
        model_id=model,
        has_pairs=_reads_pairs(info),
        text_column=learned.text_column,
        pair_column=learned.pair_column,
    )
    begin_with(EXAMPLES, language_of(model))
    try_all(classifier)


def explain_classes() -> None:
    """Says which models could be tried without a training, and where they are."""
    st.markdown(t("fine_tune_results.try_needs_classes"))
    label = t("fine_tune_results.load_back")
    st.page_link("pages/models/models.py", label=label, icon=":material/upload:")


def offer_to_try(model: str) -> None:
    """Draws a button on another page that opens this step for a model."""
    if button(t("fine_tune_results.try_this"), "ft_to_try", "labs"):
        st.session_state[STEP] = "try"
        st.session_state[_WHICH] = _CHOSEN
        # Without parameters, Streamlit refuses to leave an address with a choice.
        parameters = {OPEN: model, STEP: "try"}
        st.switch_page("pages/fine_tune/fine_tune.py", query_params=parameters)


def _reads_pairs(info: ModelInfo) -> bool:
    """Whether the model reads two texts; a question where its files do not say."""
    if info.config.type_vocab_size < 2:
        return False
    if info.trained_inputs.has_pairs is not None:
        return info.trained_inputs.has_pairs
    return switch_linked("fine_tune_results.try_two_texts", key="ft_try_pairs")
