"""What figures are drawn with: lines, a layout, a colour that is none of the theme's.

Plain values: plotly's own objects take five times as long to make.

P is the number of points of a line.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

HEIGHT = 420  # pixels
NUM_COLORS = 10  # of the theme
# Neither light nor dark: a line that is no curve, on either ground.
GREY = "#7F8894"


def line(x: np.ndarray, y: np.ndarray, dash: str = "solid") -> dict[str, Any]:
    """A curve, in the colour of its place.

    Sent as 32-bit floats `[P]`: a picture needs no more.
    """
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x, np.float32),
        "y": np.asarray(y, np.float32),
        # Plotly would leave out points that make no difference of three pixels.
        "line": {"dash": dash, "width": 2.5, "simplify": False},
        "hovertemplate": "%{y:.4g}",
    }


def marked_line(
    x: np.ndarray,
    y: np.ndarray,
    mark: tuple[float, float],
    symbol: str,
    dash: str = "solid",
) -> dict[str, Any]:
    """A curve over increasing x `[P]` with a symbol at one point of it, x and y."""
    place = int(np.searchsorted(x, mark[0]))
    # One trace, so that both have one colour: all other symbols have no size.
    sizes = np.zeros(len(x) + 1, np.uint8)
    sizes[place] = 11
    return {
        **line(np.insert(x, place, mark[0]), np.insert(y, place, mark[1]), dash),
        "mode": "lines+markers",
        "marker": {"size": sizes, "opacity": 1, "symbol": symbol, "line": {"width": 0}},
    }


def dots(
    x: np.ndarray | list[Any], y: np.ndarray | list[Any], **marker: Any
) -> dict[str, Any]:
    """Points without a line; `marker` is plotly's."""
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker}


def nothing() -> dict[str, Any]:
    """A trace that shows nothing and takes up a colour."""
    return {"type": "scatter", "x": [], "y": [], "showlegend": False}


def upright(x: float) -> dict[str, Any]:
    """A line from bottom to top of a figure."""
    return {
        "type": "line",
        "yref": "paper",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "width": 1.5, "dash": "dash"},
    }


def layout(
    x_title: str,
    y_title: str,
    *,
    rows: Sequence[str] = (),
    lines: Sequence[dict[str, Any]] = (),
    height: int = HEIGHT,
    hovermode: str = "x unified",
    showlegend: bool = True,
) -> dict[str, Any]:
    """A layout with the legend above and nothing that a finger would drag.

    Args:
        rows: names of lying bars, or what else stands in rows, the first on top; the
            pointer then asks for what is nearest.
        lines: see `upright`.
    """
    made: dict[str, Any] = {
        "height": height,
        "margin": {"l": 0, "r": 8, "t": 16, "b": 0},
        "hovermode": "closest" if rows else hovermode,
        "showlegend": showlegend,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "shapes": list(lines),
        "xaxis": {
            "title": {"text": x_title},
            "fixedrange": True,
            "zeroline": True,
            "automargin": True,
            "hoverformat": ".4g",
        },
        "yaxis": {
            "title": {"text": y_title or None},  # an empty one takes room
            "fixedrange": True,
            "zeroline": not rows,
            "automargin": True,
        },
    }
    if rows:
        made["yaxis"] |= {
            "tickvals": list(range(len(rows))),
            "ticktext": list(rows),
            "range": [len(rows) - 0.4, -0.6],
        }
    return made


def figure(traces: list[dict[str, Any]], made: dict[str, Any]) -> go.Figure:
    """Leaves out plotly's checks of every value, half of the work; a test does them."""
    return go.Figure(traces, made, _validate=False)
