"""How alike all heads are: a square map of distances, like heads side by side.

Apart from `value_map`: with a hundred heads a cell has no room for a number, and one
label a cell would be a megabyte.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import SEQUENTIAL

_SIZE = 620  # pixels, height
_MOST_LABELS = 36  # on a side; of more heads every second, third … has a label
_DIGITS = 3


def head_likeness_figure(
    distances: np.ndarray, names: Sequence[str], *, title: str, side_title: str
) -> go.Figure:
    """Draws the distance of every head from every other.

    Args:
        distances: float `[M, M]`, in [0, 1], in the order to draw.
        names: M names of heads, in that order.
        title: what the numbers are.
        side_title: what a row is, and a column.

    Raises:
        ValueError: names and distances do not fit each other.
    """
    if distances.shape != (len(names), len(names)) or not distances.size:
        raise ValueError(
            f"`distances` must be {len(names)} x {len(names)}, not empty. "
            f"Received: shape={distances.shape}."
        )
    step = -(-len(names) // _MOST_LABELS)
    places = list(range(0, len(names), step))
    trace = {
        "type": "heatmap",
        "z": np.round(distances.astype(float), _DIGITS).tolist(),
        # Categories, so that the pointer shows names without a text for each cell.
        "x": list(names),
        "y": list(names),
        "colorscale": SEQUENTIAL,
        "reversescale": True,  # like heads are light
        "zmin": 0.0,
        "zmax": 1.0,
        "colorbar": {"thickness": 12},
        "hovertemplate": f"%{{y}} – %{{x}}<br>%{{z:.{_DIGITS}f}}<extra></extra>",
    }
    axis = {
        "type": "category",
        "tickvals": [names[place] for place in places],
        "ticktext": [names[place] for place in places],
        "title": {"text": side_title},
        "automargin": True,
        "fixedrange": True,
        "showgrid": False,
    }
    layout = {
        "height": _SIZE,
        "margin": {"l": 0, "r": 0, "t": 32, "b": 0},
        "title": {"text": title, "font": {"size": 14}, "x": 0},
        "xaxis": {**axis, "tickangle": -90},
        "yaxis": {**axis, "autorange": "reversed"},
    }
    return go.Figure([trace], layout, _validate=False)
