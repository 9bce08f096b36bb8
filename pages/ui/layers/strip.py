"""The strip of all steps: shows where one is, a click goes elsewhere.

A component and no radio buttons, because those would keep the arrow keys to
themselves, which go from step to step here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep
from pages.ui.language import plain
from pages.ui.layers.state import go_to
from pages.ui.layers.wording import operation_name, part_name

_FILES = Path(__file__).parents[3] / "assets" / "components" / "layers"
_KEY = "layers_strip"
_MOUNT = """
export default function ({ data, parentElement, setTriggerValue }) {
  showStrip(parentElement, data, (name) => setTriggerValue("step", name))
}
"""

# Registered once: pages import this module, they do not run it again.
_component = st.components.v2.component(
    "bert_explorer_layers",
    html='<nav\n class="walk-strip"></nav>',
    css=(_FILES / "strip.css").read_text("utf-8"),
    js=(_FILES / "strip.js").read_text("utf-8") + _MOUNT,
)


def step_strip(steps: tuple[LayerStep, ...], step: LayerStep) -> None:
    """Draws the strip.

    Args:
        steps: all of them.
        step: where one is.
    """
    data = {
        "label": plain("layers.strip"),
        "parts": _parts(steps),
        "current": step.name,
    }
    _component(data=data, key=_KEY, on_step_change=_take)


def _take() -> None:
    chosen = (st.session_state.get(_KEY) or {}).get("step")
    if isinstance(chosen, str):
        go_to(chosen)


def _parts(steps: tuple[LayerStep, ...]) -> list[dict[str, Any]]:
    names = dict.fromkeys(step.part for step in steps)
    return [
        {
            "name": part,
            "title": part_name(part),
            "steps": [
                {
                    "name": step.name,
                    "operation": step.operation,
                    "title": operation_name(step),
                }
                for step in steps
                if step.part == part
            ],
        }
        for part in names
    ]
