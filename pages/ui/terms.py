"""The new words of a page and their meaning, folded up at its top."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st


def show_terms(title: str, meanings: Iterable[tuple[str, str]]) -> None:
    """Draws words and their meaning, for who never heard of them.

    Args:
        title: of the box.
        meanings: each word and what it means, as Markdown.
    """
    with st.expander(title, icon=":material/menu_book:"):
        # One element: each costs the server as much as ten lines of text.
        st.markdown("\n\n".join(f"**{term}** — {said}" for term, said in meanings))
