"""Figures of activation functions: curves in, a plotly figure out.

Colours come from the theme around the figure, by the place of a trace among the
traces. A function keeps its place (`PLACES`), and so its colour, whichever others are
drawn: a trace without points stands for each that is not. Dashes and symbols say the
same without colour.

P is the number of points of a curve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.figures.drawing import (
    NUM_COLORS,
    figure,
    layout,
    line,
    marked_line,
    nothing,
    upright,
)
from bertviz_core.figures.labels import Words

_NUM_DIFFERENT = 6  # colours of the theme; the next four are the first again
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
    """One function as it is drawn."""

    name: str  # its key in `ACTIVATIONS`
    label: str  # as the reader knows it
    # Both: float [P], the function and its derivative.
    values: np.ndarray
    slopes: np.ndarray
    value: float  # at the x that is read out
    slope: float  # likewise


def curves_figure(
    x: np.ndarray,
    curves: Sequence[Curve],
    read_at: float,
    words: Words,
    with_slopes: bool = True,
) -> go.Figure:
    """Draws functions and their derivatives over x `[P]`, read out at one x."""
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


def function_line(name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """A curve that belongs to a function, with that function's dash and symbol."""
    index = PLACES.index(name)
    return {
        **line(x, y, _DASHES[index >= _NUM_DIFFERENT]),
        "mode": "lines+markers",
        "marker": {"size": 7, "symbol": _SYMBOLS[index % _NUM_DIFFERENT]},
        "legendrank": _rank(name),
    }


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
