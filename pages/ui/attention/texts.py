"""The top of the attention page: one text, or two that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from bertviz_core.mask_text import normalise_masks
from pages.ui.language import t
from pages.ui.models import language_of

TEXT = "attention_text"
PAIR = "attention_pair"
EXAMPLE = "attention_example"

# A text alone, or a text and the one after it.
EXAMPLES = {
    "en": (
        ("The dog chased the cat because [MASK] was angry.", ""),
        ("Paris is the capital of [MASK].", ""),
        ("She took the book to the library.", "The [MASK] was very old."),
        ("The animal did not cross the street because it was too tired.", ""),
        ("I met my brother and my sister. My brother is older than my [MASK].", ""),
    ),
    "zh": (
        ("今天天气很[MASK]，我们去公园玩。", ""),
        ("北京是中国的首[MASK]。", ""),
        ("她把书带到了图书馆。", "那本书很[MASK]。"),
        ("小狗没有过马路，因为它太累了。", ""),
    ),
}
MOST_CHARACTERS = 4000


@dataclass(frozen=True)
class Texts:
    """What the model reads.

    Args:
        text: the first text, masks written as `[MASK]`.
        pair: the second text; `None` for none.
    """

    text: str
    pair: str | None


def edit_texts(model: str) -> Texts:
    """Draws the text boxes.

    Args:
        model: its language chooses the examples.

    Returns:
        What they hold; the text may be empty.
    """
    language = language_of(model)
    _follow_language(language)
    first, second = st.columns(2)
    text = first.text_area(
        t("attention.text"),
        EXAMPLES[language][0][0],
        key=TEXT,
        height=80,
        max_chars=MOST_CHARACTERS,
        help=t("attention.text_help"),
        bind="query-params",
        persist_state="session",
    )
    pair = second.text_area(
        t("attention.pair"),
        key=PAIR,
        height=80,
        max_chars=MOST_CHARACTERS,
        help=t("attention.pair_help"),
        bind="query-params",
        persist_state="session",
    )
    _offer_examples(language)
    return Texts(
        normalise_masks(text or "")[0], normalise_masks(pair or "")[0].strip() or None
    )


def _follow_language(language: str) -> None:
    """An untouched example changes with the language of the model."""
    now = (st.session_state.get(TEXT), st.session_state.get(PAIR) or "")
    others = [EXAMPLES[other][0] for other in EXAMPLES if other != language]
    if now in others:
        st.session_state[TEXT], st.session_state[PAIR] = EXAMPLES[language][0]


def _offer_examples(language: str) -> None:
    examples = EXAMPLES[language]
    labels = [" · ".join(filter(None, example)) for example in examples]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(t("attention.look"), icon=":material/play_arrow:", key="attention_go")
        st.selectbox(
            t("attention.examples"),
            range(len(examples)),
            index=None,
            format_func=labels.__getitem__,
            key=EXAMPLE,
            placeholder=t("attention.choose_example"),
            label_visibility="collapsed",
            on_change=_take_example,
            args=(language,),
            width=460,
        )


def _take_example(language: str) -> None:
    index = st.session_state[EXAMPLE]
    if index is not None:
        st.session_state[TEXT], st.session_state[PAIR] = EXAMPLES[language][index]
    st.session_state[EXAMPLE] = None
