"""Lying bars with a name and a number each, the first one on top; and histograms.

R is the number of names. Colours stand out from a light and from a dark page; orange
and purple are like the ends of PuOr.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import dots, figure, layout, upright
from bertviz_core.figures.labels import label, with_minus
from bertviz_core.figures.masked_word import percent, share_axis

BAR_COLOR = "#8C6BB1"
_AGAINST, _FOR = "#b35806", "#7a5fb0"
_ROW_HEIGHT = 26  # pixels; a line of text fits
_FRAME_HEIGHT = 110  # pixels
_STANDING = 300  # pixels
_BESIDE = 0.46  # of a row
_ROOM = 12  # pixels that a row needs beyond its bar


def named_bars_figure(
    names: Sequence[str], values: np.ndarray, *, title: str, are_shares: bool = False
) -> go.Figure:
    """Draws numbers of one kind.

    Args:
        names: R names, at least one; repeats are allowed.
        values: float `[R]`; NaN draws nothing.
        are_shares: writes them as percentages.
    """
    write = percent if are_shares else "{:.4g}".format
    axis = share_axis(float(np.nanmax(values, initial=0))) if are_shares else {}
    return _bars(names, values, write, title, BAR_COLOR, axis)


def signed_bars_figure(
    names: Sequence[str], values: np.ndarray, title: str, digits: int = 2
) -> go.Figure:
    """Draws what speaks for something to the right, what speaks against it to the left.

    Args:
        values: float `[R]`.
        digits: of the written numbers.
    """

    def write(value: float) -> str:
        """Never a zero with a sign."""
        return f"{round(value, digits) + 0.0:.{digits}f}"

    colors = [_AGAINST if value < 0 else _FOR for value in values]
    return _bars(names, values, write, title, colors)


def effect_bars_figure(
    names: Sequence[str],
    measured: np.ndarray,
    estimated: np.ndarray,
    *,
    title: str,
    measured_name: str,
    estimated_name: str,
) -> go.Figure:
    """Draws a bar for what was measured, and a diamond for what it is held against.

    Args:
        measured: float `[R]`.
        estimated: float `[R]`, in the same unit: an estimate, or what was before.
        measured_name: of the bars, in the legend.
        estimated_name: of the diamonds.
    """
    made = named_bars_figure(names, measured, title=title)
    bars = made.data[0]
    bars.name = measured_name
    # A bar and its diamond side by side: neither covers the other, nor the number.
    bars.width, bars.offset = _BESIDE, -_BESIDE
    made.layout.height += _ROOM * len(names)
    made.layout.xaxis.range = _range(np.concatenate([measured, estimated]))
    made.add_trace(
        {
            **dots(
                estimated.astype(np.float32),
                np.arange(len(names)) + _BESIDE / 2,
                symbol="diamond-open",
                size=11,
                color="#E66100",
                line={"width": 2},
            ),
            "name": estimated_name,
            "customdata": bars.customdata,
            "hovertemplate": "%{customdata}: %{x:.6g}<extra></extra>",
        }
    )
    # Above the bars: below they would push the title of the axis away.
    made.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 36},
    )
    return made


def histogram_figure(
    counts: np.ndarray, edges: np.ndarray, *, x_title: str, y_title: str
) -> go.Figure:
    """Draws how numbers are spread, a standing bar for each interval `[B]`; marks 0."""
    bars = {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": counts,
        "width": np.diff(edges),
        "marker": {"color": BAR_COLOR},
        "customdata": [f"{low:.4g} – {high:.4g}" for low, high in pairwise(edges)],
        "hovertemplate": "%{customdata}: %{y:,}<extra></extra>",
    }
    zero = [upright(0.0)] if edges[0] <= 0 <= edges[-1] else []
    made = layout(x_title, y_title, lines=zero, height=_STANDING, hovermode="closest")
    return figure([bars], made | {"bargap": 0})


def _bars(
    names: Sequence[str],
    values: np.ndarray,
    write: Callable[[float], str],
    title: str,
    color: str | list[str],
    axis: Mapping[str, Any] = MappingProxyType({}),
) -> go.Figure:
    written = [label(name) for name in names]
    known = [None if np.isnan(value) else float(value) for value in values]
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": known,
        "y": list(range(len(names))),
        "text": ["" if value is None else with_minus(write(value)) for value in known],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": color},
        "customdata": written,
        "hovertemplate": "%{customdata}: %{x:.6g}<extra></extra>",
    }
    height = _FRAME_HEIGHT + _ROW_HEIGHT * len(names)
    made = layout(title, "", rows=written, height=height, showlegend=False)
    made["xaxis"] |= {"range": _range(values), **axis}
    return figure([trace], made)


def _range(values: np.ndarray) -> list[float]:
    """From the lowest to the highest, 0 among them, with room for the numbers."""
    known = values[~np.isnan(values)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
    room = 0.25 * ((high - low) or 1.0)  # a phone has no more than it takes
    return [low - room * (low < 0), high + room * (high > 0 or low == high)]
