"""The panels below the predictions; only the open one is computed."""

from collections.abc import Callable

import streamlit as st

from bertviz_core.explorer import Explorer
from pages.masked_word.attribution import explore_reasons
from pages.masked_word.chains import explore_chains
from pages.masked_word.fill_masks import explore_filling, explore_whole_words
from pages.masked_word.predictions import (
    explore_layers,
    explore_positions,
    explore_scores,
)
from pages.masked_word.question import Question
from pages.masked_word.two_sentences import explore_comparison, explore_next_sentence
from pages.shared.answers import ask
from pages.shared.choices import choose_linked_or_none
from pages.shared.language import plain, t

PANELS: dict[str, Callable[[Question], None]] = {
    "fill": explore_filling,
    "gibbs": explore_chains,
    "score": lambda question: explore_scores(question.model, question),
    "compare": explore_comparison,
    "lens": explore_layers,
    "why": explore_reasons,
    "positions": explore_positions,
    "whole": explore_whole_words,
    "next": lambda question: explore_next_sentence(question.model),
}
_NEED_A_MASK = ("fill", "compare", "why", "whole")
# These have text boxes of their own.
_NEED_NO_TEXT: dict[str, Callable[[str], None]] = {
    "score": explore_scores,
    "next": explore_next_sentence,
}


def ask_further(model: str, question: Question | None = None) -> None:
    """Draws the choice of a question, and its answer. None is asked at first.

    Where there is nothing to ask about, as the text is empty or the model has no
    masked-word head, panels with text boxes of their own work all the same.
    """
    st.header(t("masked.title"), anchor=False)
    panel = choose_linked_or_none(
        st.pills,
        "masked.panel",
        list(PANELS),
        label_visibility="collapsed",
        format_func=lambda name: plain(f"masked.panel_{name}"),
    )
    if panel is None:
        st.caption(t("masked.choose"))
    elif question is None:
        can_answer = panel == "next" or "mlm" in ask(Explorer.info)(model).heads
        if panel in _NEED_NO_TEXT and can_answer:
            _NEED_NO_TEXT[panel](model)
        else:
            st.info(t("masked.needs_prediction"), icon=":material/edit:")
    elif question.mask is None and panel in _NEED_A_MASK:
        st.info(t("masked.needs_mask"), icon=":material/touch_app:")
    else:
        PANELS[panel](question)
