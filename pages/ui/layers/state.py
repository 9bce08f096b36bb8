"""The step that is looked at: one choice that several widgets move."""

from __future__ import annotations

import streamlit as st

STEP = "layers_step"


def go_to(name: str) -> None:
    """Makes a step the chosen one. For callbacks: they run before the page."""
    st.session_state[STEP] = name
