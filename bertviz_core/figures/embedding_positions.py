"""A figure of a cloud that has an order."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import SEQUENTIAL
from bertviz_core.figures.drawing import GREY, dots, figure, layout

_HEIGHT = 460  # pixels


def chain_figure(
    coordinates: np.ndarray, *, x_title: str, y_title: str, order: str
) -> go.Figure:
    """Draws points `[P, 2]` in their order, joined by a line, coloured along it.

    The colour stands for the order, counted from 1.
    """
    places = np.arange(1, len(coordinates) + 1, dtype=np.int32)
    # Every number of the order would hide the chain.
    step = max(1, len(places) // 8)
    written = [
        str(p) if p % step == 1 % step or p == places[-1] else "" for p in places
    ]
    scale: dict[str, Any] = {"colorscale": SEQUENTIAL}
    scale["colorbar"] = {"thickness": 12, "title": {"text": order}}
    trace = {
        **dots(*coordinates.T.astype(np.float32), size=7, color=places, **scale),
        "mode": "lines+markers+text",
        "text": written,
        "textposition": "top center",
        "customdata": places,
        "line": {"color": GREY, "width": 1, "simplify": False},
        "hovertemplate": f"{order} %{{customdata}}<br>%{{x:.3f}}, %{{y:.3f}}"
        "<extra></extra>",
    }
    made = layout(
        x_title, y_title, height=_HEIGHT, hovermode="closest", showlegend=False
    )
    # One unit is as long both ways: a chain that is a circle looks like one.
    made["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    return figure([trace], made)
