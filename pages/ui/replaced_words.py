"""Streamlit's own English words, replaced in the browser by the reader's.

Streamlit says its button for files, its hints below boxes and its menu in English
whatever the page speaks. A style sheet can write other words in their place. Where the
words stand alone in a part of their own they are taken out, elsewhere they shrink to
nothing, and a screen reader reads them before ours.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.ui.language import current_language, plain

_HINT = '[data-testid="InputInstructions"] span'
# Before the count of letters where a box has one; that alone is no words.
_COUNTED = f"{_HINT}:first-child:not(:last-child)"
_AREA = '[data-testid="stTextArea"]'
_MENU = '[data-testid="stMainMenuItem-{}"]'
_LABEL = '[data-testid="stMainMenuItemLabel"]'
_FRAME = {
    f"{_COUNTED}": "app.hint_enter",
    f'[data-testid="stNumberInput"] {_HINT}': "app.hint_enter",
    f"{_AREA} {_COUNTED}": "app.hint_control_enter",
    # The one box without a count: its text may be of any length.
    f".st-key-masked_text {_HINT}": "app.hint_control_enter",
    '[data-testid="stSkipToContent"]': "app.skip_to_content",
    _MENU.format("theme-System"): "app.theme_system",
    _MENU.format("theme-Light"): "app.theme_light",
    _MENU.format("theme-Dark"): "app.theme_dark",
    f"{_MENU.format('print')} {_LABEL}": "app.menu_print",
    f"{_MENU.format('recordScreencast')} {_LABEL}": "app.menu_record",
}


def translate_frame() -> None:
    """Translates what stands around all pages. English needs no translation."""
    if current_language() != "en":
        st.html(_style_sheet({place: plain(key) for place, key in _FRAME.items()}))


def quoted(text: str) -> str:
    """Plain text for a string of a style sheet between double quotes."""
    for sign in ("\\", '"', "<", "\n"):
        text = text.replace(sign, f"\\{ord(sign):x} ")
    return text


def _style_sheet(words: Mapping[str, str]) -> str:
    """Writes plain text in the place of the words that stand at each CSS selector."""
    rules = "\n".join(
        f"{place} {{ font-size: 0 !important; }}\n"
        f'{place}::after {{ content: "{quoted(said)}"; font-size: 0.875rem; }}'
        for place, said in words.items()
    )
    return f"<style>{rules}</style>"
