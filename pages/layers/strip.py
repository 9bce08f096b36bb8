"""The strip of all steps: shows where one is, and leads on, back and elsewhere.

A component: it marks the chosen step at once, whatever the page still has to do, and
no choice is lost when the arrow keys are faster than the page.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep
from bertviz_core.figures.component_files import component_script, component_style
from pages.layers.wording import operation_name, part_name
from pages.shared.language import plain

STEP = "layers_step"  # one choice that several widgets move
_STRIP = "layers_strip"
_TURN = "layers_turn"  # number of the choice in the strip that was taken last
_WORDS = {
    "label": "layers.strip",
    "previous": "layers.previous",
    "next": "layers.next",
    "progress": "layers.progress",
}
_MOUNT = """
export default function ({ data, parentElement, setTriggerValue }) {
  const choose = (choice) => setTriggerValue("choice", choice)
  return showStrip(parentElement, data, choose)
}
"""

# Registered once: pages import this module, they do not run it again.
_strip = st.components.v2.component(
    "bert_explorer_layers",
    html='<nav\n class="walk-strip"></nav>',
    css=component_style("layers"),
    js=component_script("layers") + _MOUNT,
)


def go_to(name: str) -> None:
    """Makes a step the chosen one. For callbacks: they run before the page."""
    st.session_state[STEP] = name


def step_strip(steps: tuple[LayerStep, ...], step: LayerStep) -> None:
    """Draws the strip."""
    data = {
        "words": {name: plain(key) for name, key in _WORDS.items()},
        "parts": _parts(steps),
        "current": step.name,
        "turn": st.session_state.get(_TURN, 0),
    }
    _strip(data=data, key=_STRIP, on_choice_change=_take)


def _take() -> None:
    sent = (st.session_state.get(_STRIP) or {}).get("choice") or {}
    name, turn = sent.get("step"), sent.get("turn")
    if isinstance(name, str) and isinstance(turn, int):
        st.session_state[_TURN] = turn
        go_to(name)


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
