"""The top of the layers page: a sentence, and the token that is followed."""

from __future__ import annotations

from typing import Any

import streamlit as st

from bertviz_core.mask_text import normalise_masks
from bertviz_core.trace import TokenizedText
from pages.ui.address import choose_linked
from pages.ui.language import t
from pages.ui.markdown import escape
from pages.ui.models import language_of

TEXT = "layers_text"
TOKEN = "layers_token"
_EXAMPLE = "layers_example"
_LANGUAGE = "layers_language"  # of the model that was shown before
_FOLLOWED = "layers_followed"  # the tokens that the choice was made among

EXAMPLES = {
    "en": (
        "The cat sat on the [MASK] because it was tired.",
        "Paris is the capital of [MASK].",
        "She took the [MASK] to the library and read it.",
        "The bank of the river was green.",
    ),
    "zh": (
        "今天天气很[MASK]，我们去公园玩。",
        "北京是中国的首[MASK]。",
        "他每天早上都喝一杯[MASK]奶。",
        "小狗没有过马路，因为它太累了。",
    ),
}
MOST_CHARACTERS = 4000
_MOST_BUTTONS = 40  # tokens; more get a list


def edit_text(model: str) -> str:
    """Draws the text box.

    Args:
        model: its language chooses the examples.

    Returns:
        What it holds, masks written as `[MASK]`; it may be empty.
    """
    language = language_of(model)
    before = st.session_state.get(_LANGUAGE, language)
    st.session_state[_LANGUAGE] = language
    if before != language and st.session_state.get(TEXT) == EXAMPLES[before][0]:
        # An untouched example changes with the language of the model.
        st.session_state[TEXT] = EXAMPLES[language][0]
    typed = st.text_area(
        t("layers.text"),
        EXAMPLES[language][0],
        key=TEXT,
        height=80,
        max_chars=MOST_CHARACTERS,
        help=t("layers.text_help"),
        bind="query-params",
        persist_state="session",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # Leaving the text box is what sends the text; a button gives a place to go.
        st.button(t("layers.look"), icon=":material/play_arrow:", key="layers_look")
        st.selectbox(
            t("layers.examples"),
            range(len(EXAMPLES[language])),
            index=None,
            format_func=EXAMPLES[language].__getitem__,
            key=_EXAMPLE,
            placeholder=t("layers.choose_example"),
            label_visibility="collapsed",
            on_change=_take_example,
            args=(language,),
            width=460,
        )
    return normalise_masks(typed or "")[0]


def choose_token(tokenized: TokenizedText) -> int:
    """Draws the choice of a token: the first mask, or else the first word.

    Args:
        tokenized: what the model reads.

    Returns:
        Its index.
    """
    numbers = [str(index + 1) for index in range(tokenized.num_tokens)]
    masks = tokenized.mask_positions
    first = int(masks[0]) if len(masks) else min(1, tokenized.num_tokens - 1)
    before = st.session_state.get(_FOLLOWED)
    is_linked = before is None and st.query_params.get(TOKEN) in numbers
    if before != tokenized.tokens and not is_linked:
        st.session_state[TOKEN] = numbers[first]
    st.session_state[_FOLLOWED] = tokenized.tokens
    few = len(numbers) <= _MOST_BUTTONS
    widget: Any = st.pills if few else st.selectbox
    chosen = choose_linked(
        widget,
        t("layers.token"),
        numbers,
        key=TOKEN,
        format_func=lambda number: _name(tokenized, number, is_markdown=few),
        help=t("layers.token_help"),
        **({"required": True} if few else {}),
    )
    return int(chosen) - 1


def _name(tokenized: TokenizedText, number: str, is_markdown: bool) -> str:
    token = tokenized.tokens[int(number) - 1]
    shown = escape(token, 40) if is_markdown else token
    return f"{number} {shown}"


def _take_example(language: str) -> None:
    index = st.session_state[_EXAMPLE]
    if index is not None:
        st.session_state[TEXT] = EXAMPLES[language][index]
    st.session_state[_EXAMPLE] = None
