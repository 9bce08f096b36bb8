"""The top of the layers page: a text or two, and the token that is followed."""

from __future__ import annotations

from typing import Any

import streamlit as st

from bertviz_core.trace import Texts, TokenizedText
from pages.layers.wording import numbered
from pages.shared.choices import choose_linked
from pages.shared.language import t
from pages.shared.markdown import escape
from pages.shared.models import language_of
from pages.shared.text_pair import TextBoxes

TOKEN = "layers_token"
_FOLLOWED = "layers_followed"  # the tokens that the choice was made among

# A text alone, or a text and the one after it.
EXAMPLES = {
    "en": (
        ("The cat sat on the [MASK] because it was tired.", ""),
        ("Paris is the capital of [MASK].", ""),
        ("She took the [MASK] to the library and read it.", ""),
        ("She took the book to the library.", "The [MASK] was very old."),
        ("The bank of the river was green.", ""),
    ),
    "zh": (
        ("他会说英[MASK]和法语。", ""),
        ("他们结婚后生了三个孩[MASK]。", ""),
        ("月球围绕地[MASK]运行。", ""),
        ("她把书带到了图书馆。", "那本书很[MASK]。"),
        ("小狗没有过马路，因为它太累了。", ""),
    ),
}
_BOXES = TextBoxes("layers", EXAMPLES)
_MOST_BUTTONS = 40  # tokens; more get a list


def edit_texts(model: str) -> Texts:
    """Draws the text boxes.

    Returns:
        What they hold, masks written as `[MASK]`; the first may be empty.
    """
    return _BOXES.draw(language_of(model))


def choose_token(tokenized: TokenizedText) -> int:
    """Draws the choice of a token: the first mask, or else the first word.

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
    names = numbered([escape(one, 40) if few else one for one in tokenized.tokens])
    chosen = choose_linked(
        widget,
        t("layers.token"),
        numbers,
        key=TOKEN,
        format_func=lambda number: names[int(number) - 1],
        help=t("layers.token_help"),
        **({"required": True} if few else {}),
    )
    return int(chosen) - 1
