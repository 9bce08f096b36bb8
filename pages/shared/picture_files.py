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


def save_drawn(key: str) -> None:
    """Draws the buttons that save what the component of that key shows."""
    for kind in ("svg", "png"):
        save_kind(key, kind, plain(f"app.picture_{kind}"))


def save_kind(key: str, kind: str, label: str, file: str = "") -> None:
    """Draws one of them, for a kind of file that the component knows.

    `label` is plain text; `file` is its name, where the component has none.
    """
    _component(
        data={"label": label, "told": {"key": key, "kind": kind, "file": file}},
        key=f"{key}_save_{kind}",
        width="content",
    )
