"""How far scores of classes can be trusted: intervals, calibration, coverage.

Colours come from the theme; symbols, dashes and written numbers say the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import GREY, dots, figure, layout, upright
from bertviz_core.figures.labels import Words, escaped, label, shortened
from bertviz_core.figures.masked_word import percent

_ROW_HEIGHT = 34  # pixels
_FRAME_HEIGHT = 90  # pixels; the axis
_LEGEND_HEIGHT = 32  # pixels
_HEIGHT = 380  # pixels
_SYMBOLS = ("circle", "diamond", "square", "cross")
_LARGEST_DOT = 34  # pixels
_LONGEST_HINT = 90  # characters


@dataclass(frozen=True)
class Dots:
    """One kind of share for several rows."""

    name: str  # in the legend
    values: np.ndarray  # float [M]; NaN where there is none
    intervals: np.ndarray  # float [M, 2], or NaN
    counts: Sequence[str]  # M texts to show under the pointer, such as "12 / 40"


def intervals_figure(rows: Sequence[str], dots: Sequence[Dots]) -> go.Figure:
    """Draws one to four kinds of shares, each of M rows, as dots with 95 % whiskers."""
    names = [label(row) for row in rows]
    step = 0.5 / len(dots)
    traces = []
    for index, kind in enumerate(dots):
        offset = (index - (len(dots) - 1) / 2) * step
        traces.append(_whiskers(kind, names, offset, _SYMBOLS[index]))
    above = _LEGEND_HEIGHT if len(dots) > 1 else 8
    height = _FRAME_HEIGHT + above + max(_ROW_HEIGHT, 20 * len(dots)) * len(rows)
    made = layout("", "", rows=names, height=height, showlegend=len(dots) > 1)
    made["margin"] |= {"r": 24, "t": above}
    made["legend"] |= {"y": 1}
    made["xaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    return figure(traces, made)


def calibration_figure(
    counts: np.ndarray, confidence: np.ndarray, accuracy: np.ndarray, words: Words
) -> go.Figure:
    """Draws how often rows were right against how sure the model was.

    A dot is a bin, its area the number of rows; on the line the model is as sure
    as it is right. Numbers of an empty bin are NaN.
    """
    kept = np.flatnonzero(counts)
    sizes = np.sqrt(counts[kept] / max(int(counts.max(initial=0)), 1)) * _LARGEST_DOT
    bins = {
        **dots(confidence[kept], accuracy[kept], size=np.maximum(sizes, 7)),
        "mode": "lines+markers",
        "name": words("right"),
        "line": {"dash": "dot", "width": 1},
        "cliponaxis": False,
        "hovertext": [
            f"{words('sure')}: {percent(confidence[k])}<br>{words('right')}: "
            f"{percent(accuracy[k])}<br>{words('rows')}: {int(counts[k])}"
            for k in kept
        ],
        "hoverinfo": "text",
    }
    exact = {**_equal([0, 1]), "name": words("exact")}
    return figure([exact, bins], _square(words("sure"), words("right")))


def coverage_figure(
    thresholds: np.ndarray,
    coverage: np.ndarray,
    accuracy: np.ndarray,
    chosen: float,
    words: Words,
) -> go.Figure:
    """Draws what a threshold leaves unanswered, and what it makes more reliable.

    Args:
        thresholds: float `[K]`, rising.
        coverage: float `[K]`, share of the rows that are answered.
        accuracy: float `[K]`, of these; NaN where there is none.
        chosen: the threshold that is marked.
    """
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": thresholds,
            "y": [None if np.isnan(v) else float(v) for v in values],
            # Steps: between two rows nothing happens.
            "line": {"dash": dash, "shape": "vh", "width": 2.5},
            "hovertemplate": "%{y:.1%}",
        }
        for name, values, dash in (
            (words("answered"), coverage, "dash"),
            (words("right_of_answered"), accuracy, "solid"),
        )
    ]
    made = _square(words("threshold"), words("share"))
    return figure(lines, made | {"hovermode": "x unified", "shapes": [upright(chosen)]})


def _whiskers(
    kind: Dots, names: list[str], offset: float, symbol: str
) -> dict[str, Any]:
    known = np.flatnonzero(~np.isnan(kind.values))
    values, intervals = kind.values[known], kind.intervals[known]
    return {
        **dots(values, known + offset, symbol=symbol, size=11),
        "name": kind.name,
        "cliponaxis": False,
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(intervals[:, 1] - values),
            "arrayminus": np.nan_to_num(values - intervals[:, 0]),
            "thickness": 2,
            "width": 5,
        },
        "hovertext": [
            f"{names[row]}<br>{label(kind.name)}: {percent(float(kind.values[row]))}"
            f"<br>{kind.counts[row]}"
            for row in known.tolist()
        ],
        "hoverinfo": "text",
    }


def predicted_figure(
    targets: np.ndarray,
    predicted: np.ndarray,
    hints: Sequence[str],
    *,
    x_title: str,
    y_title: str,
) -> go.Figure:
    """Draws R predicted numbers against true ones, with texts under the pointer.

    On the line they agree.
    """
    ends = [
        float(min(targets.min(), predicted.min())),
        float(max(targets.max(), predicted.max())),
    ]
    points = {
        **dots(targets, predicted, size=7, opacity=0.7),
        "hovertext": [escaped(shortened(hint, _LONGEST_HINT)) for hint in hints],
        "hovertemplate": "%{hovertext}<br>%{x:.6g} → %{y:.6g}<extra></extra>",
    }
    made = layout(
        x_title, y_title, height=_HEIGHT, hovermode="closest", showlegend=False
    )
    return figure([_equal(ends), points], made)


def _equal(ends: list[float]) -> dict[str, Any]:
    """Where two numbers are the same."""
    line = {"mode": "lines", "line": {"dash": "dash", "color": GREY}}
    return {"type": "scatter", "x": ends, "y": ends, "hoverinfo": "skip", **line}


def _square(x_title: str, y_title: str) -> dict[str, Any]:
    made = layout(x_title, y_title, height=_HEIGHT, hovermode="closest")
    for axis in ("xaxis", "yaxis"):
        made[axis] |= {"range": [0, 1.03], "tickformat": ".0%"}
    return made
