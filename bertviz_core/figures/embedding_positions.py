"""Figures of clouds that have an order, or are compared all with all.

P is the number of positions, k the number of axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import GREY, figure, layout, line
from bertviz_core.figures.color_scales import DIVERGING
from bertviz_core.figures.labels import escaped

_MATRIX_HEIGHT = 520  # pixels
_CHAIN_HEIGHT = 460
_MOST_COUNTED = 12  # places with a tick each
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


def curves_by_place_figure(
    curves: Sequence[tuple[str, np.ndarray, np.ndarray]],
    *,
    x_title: str,
    y_title: str,
    bounds: tuple[float, float] | None = (-1.05, 1.05),
) -> go.Figure:
    """Draws named curves; dashes tell them apart without colour.

    Args:
        curves: name, float `[M]` places and float `[M]` values of each.
        x_title: of the horizontal axis.
        y_title: of the other one.
        bounds: of the vertical axis; `None` leaves them to the values.
    """
    dashes = ("solid", "dash", "dot", "dashdot", "longdash")
    traces: list[dict[str, Any]] = [
        {
            **line(x, y, dashes[index % len(dashes)]),
            "name": escaped(name),
            "mode": "lines+markers" if len(x) <= 32 else "lines",
        }
        for index, (name, x, y) in enumerate(curves)
    ]
    made = layout(x_title, y_title)
    made["showlegend"] = len(curves) > 1
    if all(np.ptp(x) <= _MOST_COUNTED for _, x, _ in curves if len(x)):
        made["xaxis"] |= {"dtick": 1}
    if bounds is not None:
        made["yaxis"] |= {"range": list(bounds)}
    return figure(traces, made)
