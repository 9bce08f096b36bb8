"""Figures of two sentences and of many pairs: arrays in, a plotly figure out.

Colours tell nothing that a place, a word or a shape does not say as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import dots, figure, layout, line, upright
from bertviz_core.figures.labels import escaped, label, shortened

_LONGEST_HINT = 160  # characters
_CELLS = 48  # squares of the background on each side
_ABOVE = "top center"
# Where a word can stand, and how far its middle is then from the point: shares of
# the length of the axes, as is the size of a word.
_SIDES = {
    _ABOVE: np.array([0.0, 0.035]),
    "bottom center": np.array([0.0, -0.035]),
    "middle right": np.array([0.06, 0.0]),
    "middle left": np.array([-0.06, 0.0]),
}
_WORD_SIZE = np.array([0.1, 0.034])
_HEIGHT = 480  # pixels
_ROW_HEIGHT = 90  # pixels; points of a row are spread over half of it
_FRAME_HEIGHT = 130  # pixels
_LOW_ROW_HEIGHT = 40  # pixels; for a single point
_HALF = {"dash": "dot", "width": 1, "color": "#888888"}
_EDGE = 16  # pixels; plotly hides the "100%" that the right edge would cut
_GREY = [[0.0, "rgba(128,128,128,0.10)"], [1.0, "rgba(128,128,128,0.65)"]]


def two_sentences_figure(
    tokens: Sequence[str],
    log_probs_a: np.ndarray,
    log_probs_b: np.ndarray,
    written: Sequence[int],
    *,
    title_a: str,
    title_b: str,
    rest: tuple[np.ndarray, np.ndarray] | None = None,
    rest_name: str = "",
    shows_rest: bool = False,
) -> go.Figure:
    """Draws M words as points: how likely in sentence A, how likely in B.

    Args:
        log_probs_a, log_probs_b: float `[M]`, natural logarithms.
        written: which points carry their word.
        rest: the same two rows for all other words, which are counted in grey
            squares behind the points; `None` draws none.
        rest_name: what a square counts.
        shows_rest: makes the axes long enough for all squares, not for the points
            alone.
    """
    names = [label(token) for token in tokens]
    a, b = (np.exp(values) for values in (log_probs_a, log_probs_b))
    points = {
        **dots(a, b, size=6, opacity=0.6),
        "mode": "markers+text",
        "customdata": names,
        "hovertemplate": "%{customdata}<br>A %{x:.3g}<br>B %{y:.3g}<extra></extra>",
    }
    has_rest = rest is not None and len(rest[0]) > 0
    lowest = [values.min() for values in (log_probs_a, log_probs_b)]
    if rest is not None and has_rest and shows_rest:
        lowest += [values.min() for values in rest]
    decades = min(-float(min(lowest)) / np.log(10), 300.0)
    places = _text_places(log_probs_a, log_probs_b, written, decades)
    points |= {
        "text": [names[i] if i in places else "" for i in range(len(names))],
        "textposition": [places.get(i, _ABOVE) for i in range(len(names))],
    }
    behind = _squares(rest, rest_name) if rest is not None and has_rest else []
    low = 10.0**-decades
    equal = {
        **line(np.array([low, 1.0]), np.array([low, 1.0]), "dot"),
        "hoverinfo": "skip",
        "hovertemplate": None,
    }
    made = layout(
        title_a, title_b, height=_HEIGHT, hovermode="closest", showlegend=False
    )
    for axis in ("xaxis", "yaxis"):
        made[axis] |= {
            "type": "log",
            "exponentformat": "power",
            "dtick": 1 if decades < 8 else int(np.ceil(decades / 8)),
            "range": [-1.03 * decades - 0.1, 0.03 * decades + 0.1],
        }
    return figure([*behind, equal, points], made)


def next_sentences_figure(
    rows: Sequence[tuple[str, np.ndarray, Sequence[str], bool | None]], *, title: str
) -> go.Figure:
    """Draws P(is next) of many pairs as points, a row for each kind of pair.

    A round point lies on the side where it belongs, a cross on the other one.

    Args:
        rows: name, float `[M]` in [0, 1], M texts under the pointer, and whether
            these pairs are true neighbours, `None` where nobody knows; the first
            row is on top.
    """
    traces: list[dict[str, Any]] = []
    for index, (_, probs, hints, is_next) in enumerate(rows):
        is_right = (probs > 0.5) == ((probs > 0.5) if is_next is None else is_next)
        symbols = ["circle" if right else "x" for right in is_right]
        # Spread, so that points of one number do not hide each other.
        spread = (np.arange(len(probs)) + 0.5) / len(probs) / 2 - 0.25
        traces.append(
            {
                **dots(probs, index + spread, size=9, symbol=symbols, opacity=0.7),
                "customdata": [
                    escaped(shortened(hint, _LONGEST_HINT)) for hint in hints
                ],
                "hovertemplate": "%{customdata}<br>%{x:.4f}<extra></extra>",
            }
        )
    height = _FRAME_HEIGHT + sum(
        _ROW_HEIGHT if len(probs) > 1 else _LOW_ROW_HEIGHT for _, probs, *_ in rows
    )
    names = [label(name) for name, *_ in rows]
    made = layout(title, "", rows=names, height=height, showlegend=False)
    made["margin"] |= {"r": _EDGE}
    made["xaxis"] |= {"range": [-0.03, 1.03], "tickformat": ".0%"}
    made["yaxis"] |= {"range": [len(rows) - 0.5, -0.5], "showgrid": False}
    made["shapes"] = [upright(0.5) | {"line": _HALF}]
    return figure(traces, made)


def _text_places(
    log_probs_a: np.ndarray,
    log_probs_b: np.ndarray,
    written: Sequence[int],
    decades: float,
) -> dict[int, str]:
    """On which side of its point each word stands, so that none covers another.

    A word that finds no free side is left out: it is under the pointer.
    """
    length = decades * np.log(10) or 1.0
    taken: list[np.ndarray] = []
    places: dict[int, str] = {}
    for index in written:
        point = np.array([log_probs_a[index], log_probs_b[index]]) / length
        for name, way in _SIDES.items():
            middle = point + way
            if all((np.abs(middle - other) > _WORD_SIZE).any() for other in taken):
                places[index] = name
                taken.append(middle)
                break
    return places


def _squares(rest: tuple[np.ndarray, np.ndarray], name: str) -> list[dict[str, Any]]:
    """How many words lie where, as a map behind the points."""
    x, y = (np.maximum(values / np.log(10), -300.0) for values in rest)
    edges = [np.linspace(v.min() - 1e-3, v.max() + 1e-3, _CELLS + 1) for v in (x, y)]
    counts, _, _ = np.histogram2d(x, y, bins=edges)  # [x, y]
    # An empty square is no square; the shade of a count is its logarithm.
    shades = [[float(np.log10(n)) if n else None for n in row] for row in counts.T]
    return [
        {
            "type": "heatmap",
            "x": (10 ** edges[0]).tolist(),
            "y": (10 ** edges[1]).tolist(),
            "z": shades,
            "customdata": counts.T.astype(int).tolist(),
            "colorscale": _GREY,
            "zmin": 0.0,
            "showscale": False,
            "hoverongaps": False,
            "hovertemplate": f"{label(name)}: %{{customdata:,}}<extra></extra>",
        }
    ]
