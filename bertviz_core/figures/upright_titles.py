"""Titles beside a scale, turned by plotly: Chinese would lie on its side there."""

from __future__ import annotations

import re
from typing import Any

import plotly.graph_objects as go

from bertviz_core.analysis.wordlists import is_cjk

_LINE = 22  # pixels


def set_titles_upright(figure: go.Figure) -> None:
    """Puts Chinese titles above their scale; those of other scripts stay beside it.

    Args:
        figure: is changed: titles of vertical axes become annotations, and those of
            colour bars stand on top.
    """
    made = figure.layout.to_plotly_json()
    axes = {
        name: made[name]
        for name in made
        if re.fullmatch(r"yaxis\d*", name) and is_cjk(_title(made[name]))
    }
    if axes:
        notes = [*made.get("annotations", ()), *map(_above, axes.values())]
        changed = {name: {"title": {"text": ""}} for name in axes}
        figure.update_layout({"annotations": notes} | changed | _with_room(made))
    for trace in figure.data:
        bar = (trace.to_plotly_json() if "colorbar" in trace else {}).get("colorbar")
        if bar and is_cjk(_title(bar)):
            trace.colorbar.title.side = "top"


def _title(scale: dict[str, Any]) -> str:
    return (scale.get("title") or {}).get("text") or ""


def _above(axis: dict[str, Any]) -> dict[str, Any]:
    is_right = axis.get("side") == "right"
    return {
        "text": _title(axis),
        "showarrow": False,
        "xref": "paper",
        "x": 1 if is_right else 0,
        "xanchor": "right" if is_right else "left",
        "yref": "paper",
        "y": axis.get("domain", (0, 1))[1],
        "yanchor": "bottom",
    }


def _with_room(made: dict[str, Any]) -> dict[str, Any]:
    """A line more above the plot, between it and its legend."""
    height, margin = made["height"], made["margin"]
    room: dict[str, Any] = {
        "height": height + _LINE,
        "margin": {"t": margin["t"] + _LINE},
    }
    if "y" in (legend := made.get("legend", {})):
        room["legend"] = {"y": legend["y"] + _LINE / height}
    return room
