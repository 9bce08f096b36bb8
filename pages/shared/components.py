"""Registering the components of `assets/components`, and saving what they draw."""

from typing import Any

import streamlit as st

from bertviz_core.figures.component_files import component_script, component_style
from pages.shared.language import plain


def component(folder: str, show: str, host: str = "", tag: str = "div") -> Any:
    """Registers a component, once: pages import the module that does, as it stands.

    Args:
        folder: see `component_script`.
        show: JavaScript that calls what the script defines, with `data`, which may be
            the bytes of a payload, `parentElement`, `setStateValue` and
            `setTriggerValue`.
        host: class of the element that it draws into; "" draws nothing.
        tag: of that element.
    """
    given = "{ data, parentElement, setStateValue, setTriggerValue }"
    mount = f"export default function ({given}) {{\n  return {show}\n}}\n"
    # A line break: else Streamlit would look for a file of that name.
    html = f'<{tag}\n class="{host}"></{tag}>'
    return st.components.v2.component(
        f"bert_explorer_{folder}",
        html=html if host else None,
        css=component_style(folder) if host else None,
        js=f"{component_script(folder)}\n{mount}",
    )


def teller(event: str) -> Any:
    """Registers what tells a component on the page more, without sending it again.

    `event` is fired at the window, which keeps by that name what was told last.
    """
    tell = f'window["{event}"] = data\n  window.dispatchEvent(new Event("{event}"))'
    mount = f"export default function ({{ data }}) {{\n  {tell}\n}}\n"
    return st.components.v2.component(event.replace("-", "_"), js=mount)


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
