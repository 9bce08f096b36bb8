"""Typed texts in the address, as far as there is room."""

from __future__ import annotations

import streamlit as st

from pages.ui.address import fits_address
from pages.ui.language import t


def write_text(key: str, text: str, default: str) -> None:
    """Puts a text into the address; says where there is no room for it.

    Args:
        key: of the widget, and of the text in the address.
        text: as it was typed.
        default: of an untouched widget, which the address leaves out.
    """
    if not text.strip() or text == default:
        st.query_params.pop(key, None)
        return
    names = [name for name in st.query_params if name != key]
    if not fits_address(text, {name: st.query_params.get_all(name) for name in names}):
        st.query_params.pop(key, None)
        st.caption(t("embeddings.not_in_link"))
    elif st.query_params.get(key) != text:
        st.query_params[key] = text
