"""The numbers of a step as heat strips, and as bars where each has a name.

Colours come from palettes that colour-blind readers can tell apart; every cell says
its number under the pointer.

R rows, C columns.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import DIVERGING, SEQUENTIAL
from bertviz_core.figures.column_names import name_columns
from bertviz_core.figures.drawing import figure
from bertviz_core.figures.labels import label

_ROW_HEIGHT = 30  # pixels
_FRAME_HEIGHT = 96  # pixels; title and the labels below
_SHORTEST_BAR = 120  # pixels of a scale with all its numbers
_WIDEST_ROW = 512  # numbers; in a longer row a cell would be thinner than a pixel
_FOLDED = 256  # numbers in a row of a folded vector
# Beyond this share of all numbers the colours end: a few of a BERT's dimensions are
# a hundred times larger than the others, which would all look alike.
_SHOWN_SHARE = 0.99
_FEW = 64  # numbers; among fewer each one counts
# A score that the mask pushed away says nothing about the others.
_MASKED = -5000.0


def color_limit(values: np.ndarray) -> float:
    """Where the colours of signed numbers end, above 0.

    No less than 99 % of the numbers lie within; all of them when there are few. Numbers
    that a mask pushed away are not counted.
    """
    sizes = np.abs(values[values > _MASKED])
    if not sizes.size:
        return 1.0
    share = _SHOWN_SHARE if sizes.size > _FEW else 1.0
    # A whole number of the array: nothing between two of them is invented.
    return float(np.quantile(sizes, share, method="higher")) or 1.0


def color_range(
    values: np.ndarray, is_signed: bool, limit: float | None = None
) -> tuple[float, float]:
    """What numbers the ends of the scale of colours stand for; see `strip_figure`."""
    known = values[~np.isnan(values)]
    if is_signed:
        end = color_limit(known) if limit is None else limit
        return -end, end
    return 0.0, float(known.max(initial=0.0)) or 1.0


def fold(values: np.ndarray) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Breaks a long vector into rows, the end of the last filled with NaN.

    Gives the first and last index of each row, too, from 1.
    """
    width = len(values) if len(values) <= _WIDEST_ROW else _FOLDED
    num_rows = -(-len(values) // width)
    padded = np.full(num_rows * width, np.nan)
    padded[: len(values)] = values
    ends = [
        (row * width + 1, min((row + 1) * width, len(values)))
        for row in range(num_rows)
    ]
    return padded.reshape(num_rows, width), ends


def strip_figure(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    title: str,
    row_title: str,
    column_title: str,
    is_signed: bool,
    starts: Sequence[int] | None = None,
    limit: float | None = None,
    apart: int | None = None,
    marked: int | None = None,
) -> go.Figure:
    """Draws rows of numbers, a coloured cell each.

    Args:
        values: float `[R, C]`; NaN leaves a cell empty.
        rows: R labels, the first one on top.
        columns: C labels; `None` for numbers from 1.
        row_title: what a row is; may be empty.
        is_signed: has 0 in the middle of the scale and one hue on each side; else
            the scale begins at 0.
        starts: the number of each row's first column where it is not 1.
        limit: where the colours of signed numbers end; `None` for `color_limit`.
        apart: index of the row from which on rows have a scale of their own.
        marked: index of a column with a frame around it.
    """
    num_columns = values.shape[-1] if columns is None else len(columns)
    height, parts = len(rows) * _ROW_HEIGHT, [values]
    if apart is not None:
        # All rows in either: plotly fails over a trace with some of the names alone.
        is_apart = np.arange(len(rows))[:, None] >= apart
        parts = [np.where(is_apart == late, values, np.nan) for late in (False, True)]
    traces = [
        {
            "type": "heatmap",
            "z": part.astype(np.float32),
            "x": np.arange(num_columns) + (columns is None),
            "y": _row_labels(rows),
            "hoverongaps": False,
            "colorbar": _color_bar(title, height),
            **_hover(rows, columns, column_title, starts, num_columns),
            **_colours(part, is_signed, limit),
        }
        for part in parts
    ]
    if apart is not None:
        share = apart / len(rows)
        for trace, place in zip(traces, ((0, share), (share, 1)), strict=True):
            trace["colorbar"] = _bar_beside(*place, trace["zmin"], trace["zmax"])
    made: dict[str, Any] = {
        "height": _FRAME_HEIGHT + height,
        "margin": {"l": 0, "r": 0, "t": 8, "b": 0},
        "xaxis": {
            "automargin": True,
            "showgrid": False,
            "title": {"text": column_title},
        },
        "yaxis": {
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
            "title": {"text": row_title or None},
            "type": "category",
            "range": [len(rows) - 0.5, -0.5],
        },
        "shapes": [] if marked is None else [_frame(marked + 1)],
    }
    if columns is not None:
        name_columns(made, columns)
    return figure(traces, made)


def _row_labels(rows: Sequence[str]) -> list[str]:
    """Labels that differ, as plotly takes equal ones for one row."""
    times: dict[str, int] = {}
    labels = []
    for row in map(label, rows):
        times[row] = times.get(row, -1) + 1
        labels.append(row + "\u2060" * times[row])
    return labels


def _hover(
    rows: Sequence[str],
    columns: Sequence[str] | None,
    column_title: str,
    starts: Sequence[int] | None,
    num_columns: int,
) -> dict[str, Any]:
    """What the pointer is told: row, column, number."""
    end = "<br>%{z:.5g}<extra></extra>"
    if columns is not None:
        names = [label(name) for name in columns]
        return {
            "customdata": [names] * len(rows),
            "hovertemplate": "%{y} · %{customdata}" + end,
        }
    if starts is None:
        return {"hovertemplate": f"%{{y}} · {column_title} %{{x}}" + end}
    where = np.array(starts)[:, None] + np.arange(num_columns)
    return {
        "customdata": where.astype(np.int32),
        "hovertemplate": f"{column_title} %{{customdata}}" + end,
    }


def _colours(
    values: np.ndarray, is_signed: bool, limit: float | None
) -> dict[str, Any]:
    low, high = color_range(values, is_signed, limit)
    scale = DIVERGING if is_signed else SEQUENTIAL
    return {"colorscale": scale, "zmin": low, "zmax": high}


def _color_bar(title: str, height: int) -> dict[str, Any]:
    """The scale; beside few rows it reaches down to the labels, to be readable."""
    made = {"thickness": 12, "title": {"text": title, "side": "right"}}
    if height >= _SHORTEST_BAR:
        return made
    length = height + _FRAME_HEIGHT - 16
    place = {"lenmode": "pixels", "len": length, "y": 1, "yanchor": "top", "ypad": 0}
    return {**made, **place, "nticks": 5}


def _bar_beside(start: float, end: float, low: float, high: float) -> dict[str, Any]:
    """The scale of some of the rows beside them, from `start` to `end` of all."""
    place = {"y": 1 - (start + end) / 2, "len": end - start, "ypad": 8}
    # Two numbers fit beside one row.
    return {"thickness": 12, **place, "tickvals": [low, high], "tickformat": ".2~g"}


def _frame(column: int) -> dict[str, Any]:
    sides = {"x0": column - 0.5, "x1": column + 0.5, "y0": 0, "y1": 1}
    line = {"color": "#888888", "width": 1.5}
    return {"type": "rect", "yref": "paper", "line": line, **sides}
