"""Choices in the address whose options have names in the visitor's language.

Streamlit writes the shown name of an option into the address, so that a link from a
Chinese page would mean nothing on an English one. Here the option itself is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st


def choose_linked(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    *,
    key: str,
    **arguments: object,
) -> str:
    """Draws a choice that is part of the address.

    Args:
        widget: `selectbox`, `segmented_control` or `pills` of Streamlit, or of a
            container.
        label: of the widget.
        options: the first one is the default.
        key: of the widget, and of the choice in the address.
        arguments: passed on.

    Returns:
        The option that is chosen.
    """
    if st.session_state.get(key) not in options:
        wanted = st.query_params.get(key)
        st.session_state[key] = wanted if wanted in options else options[0]
    widget(label, options, key=key, persist_state="session", **arguments)
    chosen: str = st.session_state[key] or options[0]
    if chosen == options[0]:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return chosen
