"""Numbers at places, one line for each name.

Colours come from the theme around the figure; dashes and symbols say the same.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import figure, layout, line
from bertviz_core.figures.labels import escaped, label

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up")
_HEIGHT = 360  # pixels
_MOST_MARKED = 32  # places; among more, symbols would hide the line
_MOST_COUNTED = 12  # numbers with a tick each
_ASIDE = 0.08  # of the way to the next place


def lines_figure(
    lines: Mapping[str, np.ndarray],
    places: Sequence[str] | Sequence[int],
    *,
    x_title: str,
    y_title: str,
    bounds: tuple[float, float] | None = None,
    intervals: Mapping[str, np.ndarray] = MappingProxyType({}),
    are_ranks: bool = False,
) -> go.Figure:
    """Draws a number at each place, one line for each name.

    Args:
        lines: name of each line, and float `[R]`; NaN leaves a gap.
        places: R labels, or R increasing numbers.
        x_title: what a place is.
        y_title: what the numbers are.
        bounds: of the vertical axis; `None` leaves them to the numbers.
        intervals: of some names, float `[R, 2]`, lower and upper ends; NaN draws none.
        are_ranks: the numbers are ranks, of which 1 is on top, by powers of ten.
    """
    are_named = isinstance(places[0], str)
    x = np.arange(len(places)) if are_named else np.asarray(places)
    traces: list[dict[str, Any]] = [
        {
            **line(x, values, _DASHES[index % len(_DASHES)]),
            "name": escaped(name),
            "mode": _mode(values),
            "marker": {"size": 9, "symbol": _SYMBOLS[index % len(_SYMBOLS)]},
        }
        for index, (name, values) in enumerate(lines.items())
    ]
    for index, (trace, name) in enumerate(zip(traces, lines, strict=True)):
        if name in intervals:
            low, high = np.nan_to_num(intervals[name].T - lines[name])
            ends = {"array": high, "arrayminus": -low, "symmetric": False}
            trace["error_y"] = {**ends, "thickness": 1.5, "width": 4}
            # Side by side: whiskers over each other cannot be told apart.
            trace["x"] = trace["x"] + (index - 0.5) * _ASIDE
    made = layout(x_title, y_title, height=_HEIGHT)
    made["showlegend"] = [y_title] != list(lines)
    made["xaxis"] |= {"zeroline": False}
    if are_named:
        names = [label(str(place)) for place in places]
        made["xaxis"] |= {"tickvals": x.tolist(), "ticktext": names}
    elif np.ptp(x) <= _MOST_COUNTED:
        made["xaxis"] |= {"dtick": 1}
    if are_ranks:
        top = np.log10(max(2.0, *(float(values.max()) for values in lines.values())))
        made["yaxis"] |= {"type": "log", "dtick": 1, "zeroline": False}
        made["yaxis"] |= {"range": [top + 0.1, -0.1]}
        for trace in traces:
            trace["hovertemplate"] = "%{y:.0f}"
    elif bounds is not None:
        made["yaxis"] |= {"range": list(bounds)}
    return figure(traces, made)


def _mode(values: np.ndarray) -> str:
    """Symbols at the places, where these are few; a level needs none to be seen."""
    is_level = len(values) > 1 and np.ptp(values) == 0
    return "lines" if is_level or len(values) > _MOST_MARKED else "lines+markers"
