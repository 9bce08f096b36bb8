"""Figures of activation functions: curves in, a plotly figure out.

Colours come from the theme around the figure, by the place of a trace among the
traces. A function keeps its place (`PLACES`), and so its colour, whichever others are
drawn: a trace without points stands for each that is not. Dashes and symbols say the
same without colour.

P is the number of points of a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.figures.labels import Words

HEIGHT = 420  # pixels
# The theme has ten colours, of which the last four are the first again.
NUM_COLORS, _NUM_DIFFERENT = 10, 6
# Neither light nor dark: a line that is no curve, on either ground.
GREY = "#7F8894"

# The functions most often compared come first: they have six different colours.
PLACES = (
    "sigmoid",
    "tanh",
    "relu",
    "leaky_relu",
    "gelu",
    "elu",
    "prelu",
    "swish",
    "gelu_tanh",
)
_DASHES = ("solid", "longdash")
_DERIVATIVE_DASHES = ("dot", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star")


@dataclass(frozen=True)
class Curve:
    """One function as it is drawn.

    Args:
        name: its key in `ACTIVATIONS`.
        label: as the reader knows it.
        values, slopes: float `[P]`, the function and its derivative.
        value, slope: both at the x that is read out.
    """

    name: str
    label: str
    values: np.ndarray
    slopes: np.ndarray
    value: float
    slope: float


def curves_figure(
    x: np.ndarray,
    curves: Sequence[Curve],
    read_at: float,
    words: Words,
    with_slopes: bool = True,
) -> go.Figure:
    """Draws functions and their derivatives on one axis, read out at one x.

    Args:
        x: float `[P]`.
        curves: each function once.
        read_at: where the functions are read out.
        words: the texts on the figure.
        with_slopes: whether to draw the derivatives, too.
    """
    by_name = {curve.name: curve for curve in curves}
    traces = []
    for is_slope in (False, True):
        for index, name in enumerate(PLACES):
            curve = by_name.get(name)
            if curve is None or (is_slope and not with_slopes):
                traces.append(nothing())
            else:
                traces.append(_curve(x, curve, index, read_at, is_slope, words))
        # The derivatives begin with the first colour again.
        traces += [nothing()] * (NUM_COLORS - len(PLACES))
    return figure(traces, layout("x", "", lines=(upright(read_at),)))


def line(x: np.ndarray, y: np.ndarray, dash: str = "solid") -> dict[str, Any]:
    """A curve, in the colour of its place.

    Args:
        x: float `[P]`. Sent as 32-bit floats: a picture needs no more.
        y: float `[P]`.
        dash: as plotly names it.
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


def function_line(name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """A curve that belongs to a function, with that function's dash and symbol."""
    index = PLACES.index(name)
    return {
        **line(x, y, _DASHES[index >= _NUM_DIFFERENT]),
        "mode": "lines+markers",
        "marker": {"size": 7, "symbol": _SYMBOLS[index % _NUM_DIFFERENT]},
        "legendrank": _rank(name),
    }


def marked_line(
    x: np.ndarray,
    y: np.ndarray,
    mark: tuple[float, float],
    symbol: str,
    dash: str = "solid",
) -> dict[str, Any]:
    """A curve with a symbol at one point of it.

    Args:
        x: float `[P]`, increasing.
        y: float `[P]`.
        mark: x and y of the point.
        symbol: as plotly names it.
        dash: as plotly names it.
    """
    place = int(np.searchsorted(x, mark[0]))
    # One trace, so that both have one colour: all other symbols have no size.
    sizes = np.zeros(len(x) + 1, np.uint8)
    sizes[place] = 11
    return {
        **line(np.insert(x, place, mark[0]), np.insert(y, place, mark[1]), dash),
        "mode": "lines+markers",
        "marker": {"size": sizes, "opacity": 1, "symbol": symbol, "line": {"width": 0}},
    }


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
    lines: Sequence[dict[str, Any]] = (),
    height: int = HEIGHT,
    hovermode: str = "x unified",
) -> dict[str, Any]:
    """A layout with the legend above and nothing that a finger would drag.

    Args:
        x_title: of the horizontal axis.
        y_title: of the other one.
        lines: see `upright`.
        height: pixels.
        hovermode: as plotly names it.
    """
    return {
        "height": height,
        "margin": {"l": 0, "r": 8, "t": 16, "b": 0},
        "hovermode": hovermode,
        "showlegend": True,
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
            "title": {"text": y_title},
            "fixedrange": True,
            "zeroline": True,
            "automargin": True,
        },
    }


def figure(traces: list[dict[str, Any]], made: dict[str, Any]) -> go.Figure:
    """Leaves out plotly's checks of every value, half of the work; a test does them."""
    return go.Figure(traces, made, _validate=False)


def _curve(
    x: np.ndarray,
    curve: Curve,
    index: int,
    read_at: float,
    is_slope: bool,
    words: Words,
) -> dict[str, Any]:
    dashes = _DERIVATIVE_DASHES if is_slope else _DASHES
    return {
        **marked_line(
            x,
            curve.slopes if is_slope else curve.values,
            (read_at, curve.slope if is_slope else curve.value),
            _SYMBOLS[index % _NUM_DIFFERENT],
            dashes[index >= _NUM_DIFFERENT],
        ),
        "name": words("derivative").format(name=curve.label)
        if is_slope
        else curve.label,
        "legendrank": _rank(curve.name) + is_slope * len(ACTIVATIONS),
    }


def _rank(name: str) -> int:
    """Legends follow the order of invention; 1000 is plotly's own middle."""
    return 1000 + list(ACTIVATIONS).index(name)
