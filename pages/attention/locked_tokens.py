"""The pair of tokens that questions are about: who looks, and who is looked at.

One pair for all questions: the cell that is locked in the pictures, until another one
is chosen in the boxes. The link carries it.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.trace import TokenizedText
from pages.attention.controls import CANVAS
from pages.attention.pictures import key_of
from pages.attention.selection import current_selection
from pages.shared.choices import choose_linked
from pages.shared.language import t

FROM, TO = "attention_from", "attention_to"
# The locked tokens that the boxes already show.
_SEEN = "attention_pair_seen"


def follow_lock(tokenized: TokenizedText) -> None:
    """Another cell was locked in the pictures: the boxes follow. Call it before them.

    Filters that hide a locked token, and show it again, lock nothing.
    """
    # Layer and head are read elsewhere; here the tokens alone.
    size, text_key = tokenized.num_tokens, key_of(tokenized)
    locked = current_selection(CANVAS, 1, 1, size, text_key)
    now = (locked.from_token, locked.to_token)
    if now == st.session_state.get(_SEEN, (None, None)):
        return
    st.session_state[_SEEN] = now
    for key, token in zip((FROM, TO), now, strict=True):
        if token is not None:
            st.session_state[key] = str(token)


def choose_pair(tokenized: TokenizedText, looks: str, seen: str) -> tuple[int, int]:
    """Draws the two boxes, for the indices of who looks and who is seen.

    `looks` and `seen` are the keys of their labels in "attention".
    """
    names = [f"{i + 1} {token}" for i, token in enumerate(tokenized.tokens)]
    options = [str(index) for index in range(len(names))]
    # A word and the sign at the end, which many heads look at.
    defaults = (options[min(1, len(names) - 1)], options[-1])
    chosen = []
    for box, key, text, default in zip(
        st.columns(2), (FROM, TO), (looks, seen), defaults, strict=True
    ):
        index = choose_linked(
            box.selectbox,
            t(f"attention.{text}"),
            options,
            default,
            key=key,
            format_func=lambda option: names[int(option)],
            help=t("attention.pair_box_help"),
        )
        chosen.append(int(index))
    return chosen[0], chosen[1]
