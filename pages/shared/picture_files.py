"""Buttons that have the browser save what a component of the page has drawn."""

from __future__ import annotations

from pages.shared.components import component
from pages.shared.language import plain

_component = component("save_button", "showSave(parentElement, data)", "save-button")


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
