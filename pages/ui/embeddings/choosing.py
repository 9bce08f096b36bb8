"""Choices that several parts of the embeddings page ask for."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bertviz_core.analysis.wordlists import KINDS
from pages.ui.language import plain, t

# A row without a word is never an answer, so it is no choice either.
LEFT_OUT = tuple(kind for kind in KINDS if kind != "empty")
# In the address, where an empty value may get lost.
_NOTHING = "none"
_USUALLY_LEFT_OUT = ("piece", "unused", "special")


def choose_token(tokens: Sequence[str], key: str, default: int = 1) -> int:
    """Draws the choice of one token of a text.

    Args:
        tokens: of the text, added ones included.
        key: of the widget, and of the choice in the address.
        default: index that is chosen at first; 1 is the first word.

    Returns:
        Its index.
    """
    labels = [f"{number} · {token}" for number, token in enumerate(tokens, start=1)]
    drop_unknown(key, labels)
    chosen = st.selectbox(
        t("embeddings.token"),
        labels,
        index=min(default, len(labels) - 1),
        key=key,
        bind="query-params",
        persist_state="session",
    )
    return labels.index(chosen) if chosen in labels else 0


def choose_number(name: str, most: int, default: int = 1) -> int:
    """Draws the choice of a whole number, counted from 1.

    Args:
        name: of the texts of the label and help, and of the widget.
        most: the last one.
        default: chosen at first.
    """
    key = f"embeddings_{name}"
    now = st.session_state.get(key)
    if now is not None and not 1 <= int(now) <= most:  # of a larger model
        del st.session_state[key]
    chosen = st.number_input(
        t(f"embeddings.{name}"),
        1,
        most,
        min(default, most),
        key=key,
        help=t(f"embeddings.{name}_help"),
        bind="query-params",
        persist_state="session",
    )
    return int(chosen)


def choose_left_out(key: str) -> tuple[str, ...]:
    """Draws the choice of what kinds of entries are no answer.

    Args:
        key: of the widget, and of the choice in the address.

    Returns:
        Kinds of `wordlists.KINDS`, in a fixed order.
    """
    names = {kind: plain(f"embeddings.kind_{kind}") for kind in LEFT_OUT}
    wanted = st.query_params.get(key)
    if key not in st.session_state:
        start = _USUALLY_LEFT_OUT if wanted is None else wanted.split(",")
        st.session_state[key] = [kind for kind in start if kind in names]
    st.pills(
        t("embeddings.left_out"),
        LEFT_OUT,
        selection_mode="multi",
        key=key,
        help=t("embeddings.left_out_help"),
        format_func=names.__getitem__,
        persist_state="session",
    )
    chosen = tuple(kind for kind in LEFT_OUT if kind in st.session_state[key])
    if chosen == _USUALLY_LEFT_OUT:
        st.query_params.pop(key, None)
    else:
        st.query_params[key] = ",".join(chosen) or _NOTHING
    return chosen


def drop_unknown(key: str, options: Sequence[str]) -> None:
    """Lets a choice begin anew where its options are others now.

    Args:
        key: of the widget.
        options: that there are now.
    """
    if st.session_state.get(key, options[0]) not in options:
        del st.session_state[key]
