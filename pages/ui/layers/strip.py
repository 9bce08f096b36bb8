"""The strip of all steps: shows where one is, and leads on, back and elsewhere.

A component: it marks the chosen step at once, whatever the page still has to do, and
no choice is lost when the arrow keys are faster than the page.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep
from pages.ui.language import plain
from pages.ui.layers.components import STRIP_KEY, draw_strip
from pages.ui.layers.state import go_to
from pages.ui.layers.wording import operation_name, part_name

_TURN = "layers_turn"  # number of the choice in the strip that was taken last
_WORDS = {
    "label": "layers.strip",
    "previous": "layers.previous",
    "next": "layers.next",
    "progress": "layers.progress",
}


def step_strip(steps: tuple[LayerStep, ...], step: LayerStep) -> None:
    """Draws the strip.

    Args:
        steps: all of them.
        step: where one is.
    """
    data = {
        "words": {name: plain(key) for name, key in _WORDS.items()},
        "parts": _parts(steps),
        "current": step.name,
        "turn": st.session_state.get(_TURN, 0),
    }
    draw_strip(data, _take)


def _take() -> None:
    sent = (st.session_state.get(STRIP_KEY) or {}).get("choice") or {}
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
