"""The components of the layers page: the strip of steps, and the picture of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from bertviz_core.figures.component_files import component_script, component_style

STRIP_KEY = "layers_strip"
_PICTURE_KEY = "layers_picture"
_MOUNT_STRIP = """
export default function ({ data, parentElement, setTriggerValue }) {
  const choose = (choice) => setTriggerValue("choice", choice)
  return showStrip(parentElement, data, choose)
}
"""
_MOUNT_PICTURE = """
export default function ({ data, parentElement }) {
  return showPicture(parentElement, data)
}
"""

# Registered once: pages import this module, they do not run it again.
_strip = st.components.v2.component(
    "bert_explorer_layers",
    html='<nav\n class="walk-strip"></nav>',
    css=component_style("layers"),
    js=component_script("layers") + _MOUNT_STRIP,
)
_picture = st.components.v2.component(
    "bert_explorer_step",
    html='<div\n class="step-picture"></div>',
    css=component_style("step"),
    js=component_script("step") + _MOUNT_PICTURE,
)


def draw_strip(data: dict[str, Any], on_choice: Callable[[], None]) -> None:
    """Draws the strip.

    Args:
        data: see `showStrip` in assets/components/layers.
        on_choice: called when a step is chosen; `STRIP_KEY` holds the choice.
    """
    _strip(data=data, key=STRIP_KEY, on_choice_change=on_choice)


def draw_picture(payload: bytes) -> None:
    """Draws the picture of the step that the strip tells.

    Args:
        payload: see `number_pictures.pictures_payload`.
    """
    _picture(data=payload, key=_PICTURE_KEY)
