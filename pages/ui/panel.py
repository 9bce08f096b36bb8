"""A panel: a question below a page's pictures, and its answer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

import streamlit as st

from pages.ui.errors import shown_to_user

P = ParamSpec("P")


def panel(draw: Callable[P, None]) -> Callable[P, None]:
    """Makes a function a panel: it runs alone, and its errors end in a sentence.

    A widget inside draws the panel anew and leaves the rest of the page alone.

    Args:
        draw: draws the panel.
    """

    @st.fragment
    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with shown_to_user():
            draw(*args, **kwargs)

    return drawn
