"""Figures of two sentences and of many pairs: arrays in, a plotly figure out.

Colours tell nothing that a place, a word or a shape does not say as well.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import figure, layout, line
from bertviz_core.figures.masked_word import label

_LONGEST_HINT = 160  # characters
_CELLS = 48  # squares of the background on each side
_HEIGHT = 480  # pixels
_ROW_HEIGHT = 90  # pixels; points of a row are spread over half of it
_FRAME_HEIGHT = 130  # pixels
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
) -> go.Figure:
    """Draws words as points: how likely in sentence A, how likely in B.

    Args:
        tokens: M words.
        log_probs_a: float `[M]`, natural logarithms.
        log_probs_b: float `[M]`, likewise.
        written: which points carry their word.
        title_a: of the horizontal axis.
        title_b: of the other one.
        rest: the same two rows for all other words, which are counted in grey
            squares behind the points; `None` draws none.
        rest_name: what a square counts.
    """
    named = set(written)
    names = [label(token) for token in tokens]
    a, b = (np.exp(values) for values in (log_probs_a, log_probs_b))
    points = {
        "type": "scatter",
        "mode": "markers+text",
        "x": a,
        "y": b,
        "text": [name if i in named else "" for i, name in enumerate(names)],
        "textposition": "top center",
        "customdata": names,
        "marker": {"size": 6, "opacity": 0.6},
        "hovertemplate": "%{customdata}<br>A %{x:.3g}<br>B %{y:.3g}<extra></extra>",
    }
    behind = _squares(rest, rest_name) if rest is not None and len(rest[0]) else []
    everything = [*map(float, (a.min(), b.min()))]
    if rest is not None and len(rest[0]):
        everything += [float(np.exp(values.min())) for values in rest]
    low = max(min(everything), 1e-300)
    equal = {
        **line(np.array([low, 1.0]), np.array([low, 1.0]), "dot"),
        "hoverinfo": "skip",
        "hovertemplate": None,
    }
    made = layout(title_a, title_b, height=_HEIGHT)
    made["showlegend"] = False
    made["hovermode"] = "closest"
    decades = -np.log10(low)
    for axis in ("xaxis", "yaxis"):
        made[axis] |= {
            "type": "log",
            "exponentformat": "power",
            "dtick": 1 if decades < 8 else int(np.ceil(decades / 8)),
            "range": [-1.03 * decades - 0.1, 0.15],
        }
    return figure([*behind, equal, points], made)


def next_sentences_figure(
    rows: Sequence[tuple[str, np.ndarray, Sequence[str], bool]], *, title: str
) -> go.Figure:
    """Draws P(is next) of many pairs as points, a row for each kind of pair.

    A round point lies on the side where it belongs, a cross on the other one.

    Args:
        rows: name, float `[M]` in [0, 1], M texts under the pointer, and whether
            these pairs are true neighbours; the first row is on top.
        title: what the numbers are.
    """
    traces: list[dict[str, Any]] = []
    for index, (_, probs, hints, is_next) in enumerate(rows):
        is_right = (probs > 0.5) == is_next
        # Spread, so that points of one number do not hide each other.
        spread = (np.arange(len(probs)) / max(len(probs) - 1, 1) - 0.5) / 2
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": probs,
                "y": index + spread,
                "customdata": [_hint(hint) for hint in hints],
                "marker": {
                    "size": 9,
                    "symbol": ["circle" if right else "x" for right in is_right],
                    "opacity": 0.7,
                },
                "hovertemplate": "%{customdata}<br>%{x:.4f}<extra></extra>",
            }
        )
    made = layout(title, "", height=_FRAME_HEIGHT + _ROW_HEIGHT * len(rows))
    made["showlegend"] = False
    made["hovermode"] = "closest"
    made["xaxis"] |= {"range": [-0.03, 1.03], "tickformat": ".0%"}
    made["yaxis"] |= {
        "tickvals": list(range(len(rows))),
        "ticktext": [label(name) for name, *_ in rows],
        "range": [len(rows) - 0.5, -0.5],
        "zeroline": False,
        "showgrid": False,
    }
    half = {"type": "line", "xref": "x", "yref": "paper", "x0": 0.5, "x1": 0.5}
    made["shapes"] = [half | {"y0": 0, "y1": 1, "line": {"dash": "dot", "width": 1}}]
    return figure(traces, made)


def _hint(text: str) -> str:
    """Plotly reads some HTML; `%{` would begin a place to fill."""
    short = text if len(text) <= _LONGEST_HINT else text[: _LONGEST_HINT - 1] + "…"
    return html.escape(short, quote=False).replace("%{", "%\u2060{")


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
