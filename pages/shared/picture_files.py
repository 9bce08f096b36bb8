"""Buttons that save a picture: as a component has drawn it, or as the page makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from bertviz_core.figures.component_files import component_script, component_style
from pages.shared.errors import shown_to_user
from pages.shared.language import plain
from pages.shared.panel import panel

_MOUNT = """
export default function ({ data, parentElement, setTriggerValue }) {
  showSave(parentElement, data, (number) => setTriggerValue("asked", number))
}
"""
_WORDS = ("making", "saved", "saved_as_text", "failed")

# Registered once: pages import this module, they do not run it again.
_component = st.components.v2.component(
    "bert_explorer_svg_save",
    html='<div\n class="svg-save"></div>',
    css=component_style("svg_save"),
    js=component_script("svg_save") + _MOUNT,
)


def save_drawn(key: str, *kinds: str) -> None:
    """Draws a button for each kind of file, "svg" or "png", that saves a component.

    The browser saves what the component of that `key` shows; the page is not asked.
    """
    for kind in kinds:
        label = {"label": plain(f"app.picture_{kind}")}
        drawn = {"key": key, "kind": kind}
        _component(
            data={"words": label, "drawn": drawn},
            key=f"{key}_drawn_{kind}",
            width="content",
        )


@panel
def download_svg(
    label: str, make: Callable[[], str], *, file_name: str, key: str
) -> None:
    """Draws the button that saves a picture; it is made when it is clicked.

    Pictures may have megabytes, so one is sent once, in the run that answers a click.

    The errors of `make` are shown above the button.
    """
    asked = f"{key}_asked"

    def remember() -> None:
        st.session_state[asked] = st.session_state[key]["asked"]

    data: dict[str, Any] = {
        "words": {name: plain(f"app.svg_{name}") for name in _WORDS} | {"label": label},
        "file": file_name,
    }
    number = st.session_state.get(asked)
    if number is not None:
        data["made"] = {"number": number, "svg": None}
        with shown_to_user(stop=False):
            data["made"]["svg"] = make()
    _component(data=data, key=key, on_asked_change=remember, width="content")
    # Only now: a run that ended early has not delivered the picture.
    st.session_state.pop(asked, None)
