"""Titles beside a scale, turned by plotly: Chinese would lie on its side there."""

from typing import Any

import plotly.graph_objects as go

from bertviz_core.analysis.wordlists import is_cjk

_LINE = 22  # pixels


def set_titles_upright(figure: go.Figure) -> None:
    """Puts Chinese titles above their scale; those of other scripts stay beside it.

    Titles of vertical axes become annotations, and those of colour bars stand on top.
    """
    # All of the layout as a dictionary would be a copy of the template, too.
    layout = figure.layout
    scales = [layout[name] for name in layout if name.startswith("yaxis")]
    axes = [axis for axis in scales if is_cjk(axis.title.text or "")]
    if axes:
        notes = [*layout.annotations, *map(_above, axes)]
        for axis in axes:
            axis.title.text = None
        figure.update_layout({"annotations": notes} | _with_room(layout))
    for trace in figure.data:
        bar = trace.colorbar if "colorbar" in trace else None
        if bar is not None and is_cjk(bar.title.text or ""):
            bar.title.side = "top"


def _above(axis: Any) -> dict[str, Any]:
    is_right = axis.side == "right"
    return {
        "text": axis.title.text,
        "showarrow": False,
        "xref": "paper",
        "x": 1 if is_right else 0,
        "xanchor": "right" if is_right else "left",
        "yref": "paper",
        "y": (axis.domain or (0, 1))[1],
        "yanchor": "bottom",
    }


def _with_room(layout: Any) -> dict[str, Any]:
    """A line more above the plot, between it and its legend."""
    height = layout.height
    room: dict[str, Any] = {
        "height": height + _LINE,
        "margin": {"t": layout.margin.t + _LINE},
    }
    if layout.legend.y is not None:
        room["legend"] = {"y": layout.legend.y + _LINE / height}
    return room
