"""Buttons that have the browser save what a component of the page has drawn."""

from __future__ import annotations

import streamlit as st

from bertviz_core.figures.component_files import component_script, component_style
from pages.shared.language import plain

_MOUNT = """
export default function ({ data, parentElement }) {
  showSave(parentElement, data)
}
"""

# Registered once: pages import this module, they do not run it again.
_component = st.components.v2.component(
    "bert_explorer_save_button",
    html='<div\n class="save-button"></div>',
    css=component_style("save_button"),
    js=component_script("save_button") + _MOUNT,
)


def save_drawn(key: str, kind: str, label: str = "", file: str = "") -> None:
    """Draws a button that saves what the component of that key shows.

    Args:
        key: of the component.
        kind: of file, "svg" or "png" or what else the component knows.
        label: plain text, if the kind does not say it.
        file: its name, where the component has none of its own.
    """
    _component(
        data={
            "label": label or plain(f"app.picture_{kind}"),
            "told": {"key": key, "kind": kind, "file": file},
        },
        key=f"{key}_save_{kind}",
        width="content",
    )
