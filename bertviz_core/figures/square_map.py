"""A square map of all pairs: distances of heads, cosines of positions.

Apart from `value_map`: with a hundred of them a cell has no room for a number, and one
label a cell would be a megabyte.

M is the number of things.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import DIVERGING, SEQUENTIAL
from bertviz_core.figures.drawing import GREY, figure, layout

_HEIGHT = 620  # pixels
_MOST_LABELS = 36  # on a side; of more, every second, third … has a label


def square_map_figure(
    values: np.ndarray,
    names: Sequence[str] | None = None,
    *,
    title: str,
    side_title: str,
    is_signed: bool = False,
    marked: int | None = None,
) -> go.Figure:
    """Draws a number of everything with everything.

    Args:
        values: float `[M, M]`: distances in [0, 1], of which small ones are light, or
            cosines, which are signed, 0 in the middle of the scale.
        names: M names, in that order; `None` counts from 1.
        side_title: what a row is, and a column.
        marked: index of a row with a line through it.
    """
    sides = list(range(1, len(values) + 1)) if names is None else list(names)
    trace = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        # Categories, so that the pointer shows names without a text for each cell.
        "x": sides,
        "y": sides,
        "colorscale": DIVERGING if is_signed else SEQUENTIAL,
        "reversescale": not is_signed,
        "zmin": -1.0 if is_signed else 0.0,
        "zmax": 1.0,
        "colorbar": {"thickness": 12},
        "hovertemplate": "%{y} · %{x}<br>%{z:.4f}<extra></extra>",
    }
    made = layout(side_title, side_title, height=_HEIGHT, hovermode="closest")
    made |= {
        "showlegend": False,
        "title": {"text": title, "font": {"size": 14}, "x": 0},
    }
    made["margin"] |= {"t": 32}
    axis: dict[str, Any] = {"showgrid": False, "zeroline": False}
    if names is not None:
        shown = sides[:: -(-len(sides) // _MOST_LABELS)]
        axis |= {"type": "category", "tickvals": shown, "ticktext": shown}
        made["xaxis"] |= {"tickangle": -90}
    made["xaxis"] |= axis
    made["yaxis"] |= axis | {"autorange": "reversed"}
    if marked is not None:
        line = {"color": GREY, "width": 1.5, "dash": "dash"}
        ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": marked + 1, "y1": marked + 1}
        made["shapes"] = [{"type": "line", "line": line, **ends}]
    return figure([trace], made)
