"""The choices and the pictures, which answer ahead of the rest of the page.

The pictures are a fragment in a fragment: a click in them draws them alone, another
choice the choices and them. Once the browser shows the new head it says so, and the
rest of the page follows. To run the page at the end of the fragment instead would take
back what is still on its way to the browser: Streamlit empties its queue at the start
of a run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from bertviz_core.trace import Texts, TokenizedText
from pages.attention.controls import CANVAS, View, choose_view, view_clicked
from pages.attention.pictures import key_of, show_pictures
from pages.attention.selection import current_selection, hear
from pages.shared.panel import panel

# For what the rest fell behind last; and whether the browser says that it shows it.
_ASKED, _IS_SHOWN = "attention_rest_asked", "attention_is_shown"

# What the rest of the page is about: the view, and the locked tokens.
_Chosen = tuple[View, int | None, int | None]


@dataclass
class _PageRun:
    """One run of the whole page; runs of a fragment alone find their last one."""

    chosen: _Chosen | None = None


def choose_and_show(model: str, texts: Texts, tokenized: TokenizedText) -> View:
    """Draws the choices, the grid of heads, the heatmap, the lines and their program.

    Returns:
        What the reader asked for.
    """
    page_run = _PageRun()
    _choose_and_show(model, texts, tokenized, page_run)
    if page_run.chosen is None:
        st.stop()  # the fragment has said why
    return page_run.chosen[0]


@panel
def _choose_and_show(
    model: str, texts: Texts, tokenized: TokenizedText, page_run: _PageRun
) -> None:
    view = choose_view(model, has_pair=texts.pair is not None)
    _show(model, texts, tokenized, view, page_run)


@panel
def _show(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
    page_run: _PageRun,
) -> None:
    hear(CANVAS)
    if page_run.chosen is None:
        page_run.chosen = _chosen(view, tokenized)
    elif st.session_state.pop(_IS_SHOWN, False):
        st.rerun()
    clicked = view_clicked(model, view)
    if clicked is None:
        st.rerun()
    is_rest_behind = _chosen(clicked, tokenized) != page_run.chosen
    if is_rest_behind:
        st.session_state[_ASKED] = _name_of(_chosen(clicked, tokenized))
    asked = st.session_state.get(_ASKED, "")
    is_shown = show_pictures(model, texts, tokenized, clicked, asked, _remember)
    if is_rest_behind and not is_shown:
        st.rerun()  # no picture is there that could say when it is shown


def _chosen(view: View, tokenized: TokenizedText) -> _Chosen:
    locked = current_selection(CANVAS, 1, 1, tokenized.num_tokens, key_of(tokenized))
    return view, locked.from_token, locked.to_token


def _name_of(chosen: _Chosen) -> str:
    """The same for the same choice: what the browser has had once travels as a hash."""
    return hashlib.blake2s(repr(chosen).encode(), digest_size=8).hexdigest()


def _remember() -> None:
    st.session_state[_IS_SHOWN] = True
