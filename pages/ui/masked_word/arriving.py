"""A text that a link from another page brings along."""

from __future__ import annotations

import streamlit as st

from pages.ui.masked_word.state import TEXT

# In the address of such a link. The text itself would not do: where it is the page's
# first example, Streamlit takes the one of an earlier visit.
OPEN_TEXT = "open_text"


def take_arriving_text() -> None:
    """Makes the text of a link the one that is looked at. Call it before the box."""
    if OPEN_TEXT in st.query_params:
        st.session_state[TEXT] = st.query_params.pop(OPEN_TEXT)
