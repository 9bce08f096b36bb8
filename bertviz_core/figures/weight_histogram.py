"""How the numbers of a weight are spread."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.bars import BAR_COLOR


def weight_histogram(
    counts: np.ndarray, edges: np.ndarray, *, x_title: str, y_title: str
) -> go.Figure:
    """Draws a bar for each interval.

    Args:
        counts: int `[B]`.
        edges: float `[B + 1]`.
        x_title: what the numbers are.
        y_title: what is counted.
    """
    bars = {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": counts,
        "width": np.diff(edges),
        "marker": {"color": BAR_COLOR},
        "hovertemplate": "%{x:.4g}: %{y:,}<extra></extra>",
    }
    layout = {
        "height": 300,
        "margin": {"l": 0, "r": 8, "t": 8, "b": 0},
        "bargap": 0,
        "xaxis": {"title": {"text": x_title}, "fixedrange": True},
        "yaxis": {"title": {"text": y_title}, "fixedrange": True},
    }
    return go.Figure(data=[bars], layout=layout)
