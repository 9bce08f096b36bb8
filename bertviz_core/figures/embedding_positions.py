"""Figures of clouds that have an order, or are compared all with all.

P is the number of positions, k the number of axes.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import GREY, figure, layout
from bertviz_core.figures.color_scales import DIVERGING

_MATRIX_HEIGHT = 520  # pixels
_CHAIN_HEIGHT = 460
# viridis: lightness rises all the way. Source: Smith and van der Walt 2015.
_ORDER = "Viridis"


def matrix_figure(
    cosines: np.ndarray, *, title: str, read_at: int | None = None
) -> go.Figure:
    """Draws the cosine of everything with everything.

    Args:
        cosines: float `[P, P]`, in [-1, 1].
        title: what a row and a column are; they are counted from 1.
        read_at: index of a row that is marked.

    Raises:
        ValueError: not a square.
    """
    if cosines.ndim != 2 or cosines.shape[0] != cosines.shape[1]:
        raise ValueError(f"`cosines` must be [P, P]. Received: {cosines.shape}.")
    trace = {
        "type": "heatmap",
        "z": np.asarray(cosines, np.float32),
        "x0": 1,
        "dx": 1,
        "y0": 1,
        "dy": 1,
        "colorscale": DIVERGING,
        "zmin": -1.0,
        "zmax": 1.0,
        "colorbar": {"thickness": 12},
        "hovertemplate": "%{y} · %{x}<br>%{z:.4f}<extra></extra>",
    }
    made = layout(title, title, height=_MATRIX_HEIGHT, hovermode="closest")
    made["showlegend"] = False
    made["xaxis"] |= {"showgrid": False, "zeroline": False}
    made["yaxis"] |= {"showgrid": False, "zeroline": False, "autorange": "reversed"}
    if read_at is not None:
        made["shapes"] = [
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": read_at + 1,
                "y1": read_at + 1,
                "line": {"color": GREY, "width": 1.5, "dash": "dash"},
            }
        ]
    return figure([trace], made)


def chain_figure(
    coordinates: np.ndarray, *, x_title: str, y_title: str, order: str
) -> go.Figure:
    """Draws points in their order, joined by a line, coloured along it.

    Args:
        coordinates: float `[P, 2]`.
        x_title: of the horizontal axis.
        y_title: of the other one.
        order: what the colour stands for; points are counted from 1.
    """
    places = np.arange(1, len(coordinates) + 1, dtype=np.int32)
    # Every number of the order would hide the chain.
    step = max(1, len(places) // 8)
    written = [
        str(p) if p % step == 1 % step or p == places[-1] else "" for p in places
    ]
    trace = {
        "type": "scatter",
        "mode": "lines+markers+text",
        "x": coordinates[:, 0].astype(np.float32),
        "y": coordinates[:, 1].astype(np.float32),
        "text": written,
        "textposition": "top center",
        "customdata": places,
        "line": {"color": GREY, "width": 1, "simplify": False},
        "marker": {
            "size": 7,
            "color": places,
            "colorscale": _ORDER,
            "colorbar": {"thickness": 12, "title": {"text": order}},
        },
        "hovertemplate": f"{order} %{{customdata}}<br>%{{x:.3f}}, %{{y:.3f}}"
        "<extra></extra>",
    }
    made = layout(x_title, y_title, height=_CHAIN_HEIGHT, hovermode="closest")
    made["showlegend"] = False
    # One unit is as long both ways: a chain that is a circle looks like one.
    made["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    return figure([trace], made)
