"""Streamlit's own English words, replaced in the browser by the reader's.

Streamlit says its hints below boxes, its menu and its buttons in English whatever the
page speaks. A style sheet writes other words in their place: theirs shrink to nothing,
and a screen reader still reads them before ours. Boxes for files are in `upload_box`.

What Streamlit offers to developers is no matter of a reader, and is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.ui.language import current_language, plain

_STYLE = "<style>{}</style>"
# A card above each page, where Streamlit opened the browser and finds tools for agents.
_OFFER = '[data-testid="stSkillsNudge"] { display: none; }'
_HINT = '[data-testid="InputInstructions"] span'
# Before the count of letters where a box has one; that alone is no words.
_COUNTED = f"{_HINT}:first-child:not(:last-child)"
_AREA = '[data-testid="stTextArea"]'
_MENU = '[data-testid="stMainMenuItem-{}"]'
_LABEL = '[data-testid="stMainMenuItemLabel"]'
_FRAME = {
    _COUNTED: "app.hint_enter",
    f'[data-testid="stNumberInput"] {_HINT}': "app.hint_enter",
    f"{_AREA} {_COUNTED}": "app.hint_control_enter",
    # The one box without a count: its text may be of any length.
    f".st-key-masked_text {_HINT}": "app.hint_control_enter",
    '[data-testid="stStatusWidget"] button': "app.stop_page",
    '[data-testid="stSkipToContent"]': "app.skip_to_content",
    _MENU.format("theme-System"): "app.theme_system",
    _MENU.format("theme-Light"): "app.theme_light",
    _MENU.format("theme-Dark"): "app.theme_dark",
    f"{_MENU.format('print')} {_LABEL}": "app.menu_print",
    f"{_MENU.format('recordScreencast')} {_LABEL}": "app.menu_record",
}
# What the buttons of a figure say under the pointer.
_BUTTON = '.modebar-btn[data-title="{}"]'
_BUTTONS = {
    "Download plot": "app.figure_download",
    "Zoom": "app.figure_zoom",
    "Pan": "app.figure_pan",
    "Box Select": "app.figure_box",
    "Lasso Select": "app.figure_lasso",
    "Zoom in": "app.figure_zoom_in",
    "Zoom out": "app.figure_zoom_out",
    "Autoscale": "app.figure_autoscale",
    "Reset axes": "app.figure_reset",
    "Fullscreen": "app.figure_fullscreen",
    "Close fullscreen": "app.figure_close_fullscreen",
}


def translate_frame() -> None:
    """Translates what stands around all pages. English needs no translation."""
    translated = ""
    if current_language() != "en":
        translated = _replaced(_FRAME) + _under_pointer(_BUTTONS)
    st.html(_STYLE.format(f"{_OFFER}\n{translated}"))


def quoted(text: str) -> str:
    """Plain text for a string of a style sheet between double quotes."""
    for sign in ("\\", '"', "<", "\n"):
        text = text.replace(sign, f"\\{ord(sign):x} ")
    return text


def _replaced(words: Mapping[str, str]) -> str:
    """Rules that write a text, by its key, where other words stand."""
    return "".join(
        f"{place} {{ font-size: 0 !important; }}\n"
        f'{place}::after {{ content: "{quoted(plain(key))}"; font-size: 0.875rem; }}\n'
        for place, key in words.items()
    )


def _under_pointer(words: Mapping[str, str]) -> str:
    """The same where the words appear under the pointer alone."""
    return "".join(
        f"{_BUTTON.format(said)}::after "
        f'{{ content: "{quoted(plain(key))}" !important; }}\n'
        for said, key in words.items()
    )
