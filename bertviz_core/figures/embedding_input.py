"""Figures of the input sum: vectors as strips of colour, a cell for every number.

H is the size of a vector, R the number of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import DIVERGING
from bertviz_core.figures.labels import label

_ROW_HEIGHT = 34  # pixels
_FRAME_HEIGHT = 96  # pixels; axis, its title, and the gap between both parts
_GAP = 0.08  # of the height, between vectors of the two scales


def strips_figure(
    values: np.ndarray,
    names: Sequence[str],
    num_together: int,
    *,
    x_title: str,
    marked: int | None = None,
) -> go.Figure:
    """Draws vectors below each other, a colour for every number.

    The first ones share a scale, so that their sizes can be compared; each of the
    rest has its own.

    Args:
        values: float `[R, H]`.
        names: R names, the first one on top.
        num_together: vectors that share a scale, from the top.
        x_title: what a column is; columns are counted from 1.
        marked: index of a column with a frame around it.

    Raises:
        ValueError: names and vectors do not fit each other.
    """
    if values.ndim != 2 or values.shape[0] != len(names) or not values.size:
        raise ValueError(
            f"`values` must be [{len(names)}, H]. Received: shape={values.shape}."
        )
    groups = [slice(0, num_together)]
    groups += [slice(row, row + 1) for row in range(num_together, len(names))]
    layout = _layout(len(names), x_title)
    room = 1 - _GAP * (len(groups) - 1)
    top, traces = 1.0, []
    for index, group in enumerate(groups):
        size = room * (group.stop - group.start) / len(names)
        axis = "yaxis" + ("" if index == 0 else str(index + 1))
        layout[axis] = _axis(names[group], (max(top - size, 0.0), top))
        middle = top - size / 2
        traces.append(_strip(values[group], names[group], index, middle, size))
        top -= size + _GAP
    if marked is not None:
        layout["shapes"] = [_frame(marked + 1)]
    return go.Figure(traces, layout, _validate=False)


def _strip(
    values: np.ndarray, names: Sequence[str], index: int, middle: float, size: float
) -> dict[str, Any]:
    top = float(np.abs(values).max()) or 1.0
    ticks = {-top: f"{-top:.2g}", 0.0: "0", top: f"{top:.2g}"}
    if len(values) == 1:  # beside one row there is room for one line
        ticks = {0.0: f"±{top:.2g}"}
    return {
        "type": "heatmap",
        "z": np.asarray(values, np.float32),
        "x0": 1,
        "dx": 1,
        "y": list(range(len(names))),
        "xaxis": "x",
        "yaxis": "y" if index == 0 else f"y{index + 1}",
        "colorscale": DIVERGING,
        "zmin": -top,
        "zmax": top,
        "colorbar": {
            "thickness": 10,
            "len": size,
            "y": middle,
            "tickvals": list(ticks),
            "ticktext": list(ticks.values()),
        },
        "customdata": [[label(name)] * values.shape[1] for name in names],
        "hovertemplate": "%{customdata} · %{x}<br>%{z:.5f}<extra></extra>",
    }


def _layout(num_rows: int, x_title: str) -> dict[str, Any]:
    return {
        "height": _FRAME_HEIGHT + _ROW_HEIGHT * num_rows,
        "margin": {"l": 0, "r": 0, "t": 8, "b": 0},
        "xaxis": {
            "title": {"text": x_title},
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "anchor": "free",
            "position": 0.0,
        },
    }


def _axis(names: Sequence[str], domain: tuple[float, float]) -> dict[str, Any]:
    return {
        "domain": list(domain),
        "tickvals": list(range(len(names))),
        "ticktext": [label(name) for name in names],
        "range": [len(names) - 0.5, -0.5],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _frame(column: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "yref": "paper",
        "x0": column - 0.5,
        "x1": column + 0.5,
        "y0": 0,
        "y1": 1,
        "line": {"color": "#888888", "width": 1.5},
    }
