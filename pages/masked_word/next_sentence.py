"""Does the second text follow the first?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.next_sentence import predict_next_sentence
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.sentence_pairs import next_sentences_figure
from bertviz_core.snippets import masked_sentences
from pages.masked_word.shuffled import explore_shuffled
from pages.shared.answers import ask
from pages.shared.choices import type_linked
from pages.shared.code import program
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.models import default_model, language_of
from pages.shared.panel import show_numbers

_FIRST, _SECOND = "masked_next_first", "masked_next_second"
_EXAMPLES = {
    "en": ("She opened the window.", "Fresh air came into the room."),
    "zh": ("她打开了窗户。", "新鲜的空气进了房间。"),
}


@st.fragment
def explore_next_sentence(model: str) -> None:
    """Draws two text boxes, what the model says, and a test on many pairs."""
    st.markdown(t("masked_panels.next_intro"))
    if "nsp" not in ask(Explorer.info)(model).heads:
        said = t("masked_panels.next_no_head", model=model, default=default_model())
        st.info(said, icon=":material/block:")
        return
    first, second = _type_both(_EXAMPLES[language_of(model)])
    if not first or not second:
        st.info(t("masked_panels.next_empty"), icon=":material/edit:")
    else:
        with shown_to_user(stop=False):
            _show(model, first, second)
    explore_shuffled(model)


def _type_both(examples: tuple[str, str]) -> tuple[str, str]:
    typed = [
        type_linked(
            box.text_area,
            t(f"masked_panels.next_{name}"),
            example,
            key=key,
            max_chars=1500,
        )
        for box, name, key, example in zip(
            st.columns(2), ("first", "second"), (_FIRST, _SECOND), examples, strict=True
        )
    ]
    st.button(
        t("masked_panels.next_swap"),
        icon=":material/swap_horiz:",
        key="masked_next_swap",
        on_click=_swap,
    )
    return typed[0], typed[1]


def _show(model: str, first: str, second: str) -> None:
    found = ask(predict_next_sentence)(model, first, second)
    probs = (found.probability, found.probability_swapped)
    show_numbers(
        {
            "masked_panels.next_as_given": percent(probs[0]),
            "masked_panels.next_swapped": percent(probs[1]),
        }
    )
    names = [
        plain(f"masked_panels.next_{name}_short") for name in ("as_given", "swapped")
    ]
    texts = [(first, second), (second, first)]
    show_figure(
        next_sentences_figure(
            [
                (name, np.array([prob]), [" → ".join(text)], None)
                for name, prob, text in zip(names, probs, texts, strict=True)
            ],
            title=plain("masked_panels.next_probability"),
        ),
        name="masked_next",
        description=t("masked_panels.next_lesson"),
        columns={
            plain("masked_panels.next_first"): [one for one, _ in texts],
            plain("masked_panels.next_second"): [other for _, other in texts],
            plain("masked_panels.next_probability"): list(probs),
        },
        code=program(
            masked_sentences.NEXT_SENTENCE, model=model, first=first, second=second
        ),
    )


def _swap() -> None:
    first, second = st.session_state[_FIRST], st.session_state[_SECOND]
    st.session_state[_FIRST], st.session_state[_SECOND] = second, first
