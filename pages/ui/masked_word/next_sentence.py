"""Does the second text follow the first?"""

from __future__ import annotations

import streamlit as st

from bertviz_core.figures.masked_word import percent
from pages.ui.answers import describe_model
from pages.ui.errors import shown_to_user
from pages.ui.language import t
from pages.ui.masked_word.answers import predict_next_sentence
from pages.ui.masked_word.asking import Question
from pages.ui.models import language_of

_FIRST, _SECOND = "masked_next_first", "masked_next_second"
_EXAMPLES = {
    "en": ("She opened the window.", "Fresh air came into the room."),
    "zh": ("她打开了窗户。", "新鲜的空气进了房间。"),
}


@st.fragment
def explore_next_sentence(question: Question) -> None:
    """Draws two text boxes and what the model says about their order."""
    st.markdown(t("masked_panels.next_intro"))
    if "nsp" not in describe_model(question.model).heads:
        st.info(
            t("masked_panels.next_no_head", model=question.model),
            icon=":material/block:",
        )
        return
    examples = _EXAMPLES[language_of(question.model)]
    boxes = st.columns(2)
    texts = [
        box.text_area(
            t(f"masked_panels.next_{name}"),
            example,
            key=key,
            bind="query-params",
            max_chars=1500,
        )
        for box, name, key, example in zip(
            boxes, ("first", "second"), (_FIRST, _SECOND), examples, strict=True
        )
    ]
    st.button(
        t("masked_panels.next_swap"),
        icon=":material/swap_horiz:",
        key="masked_next_swap",
        on_click=_swap,
    )
    first, second = ((text or "").strip() for text in texts)
    if not first or not second:
        st.info(t("masked_panels.next_empty"), icon=":material/edit:")
        return
    with shown_to_user():
        found = predict_next_sentence(question.model, first, second)
        boxes = st.columns(2)
        boxes[0].metric(t("masked_panels.next_as_given"), percent(found.probability))
        boxes[1].metric(
            t("masked_panels.next_swapped"), percent(found.probability_swapped)
        )
        st.caption(t("masked_panels.next_lesson"))


def _swap() -> None:
    first, second = st.session_state[_FIRST], st.session_state[_SECOND]
    st.session_state[_FIRST], st.session_state[_SECOND] = second, first
