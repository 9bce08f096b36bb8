"""Figures of the questions about masked words: arrays in, a plotly figure out.

Colours tell nothing that a number, a word or a dash does not say as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import figure, layout, line
from bertviz_core.figures.labels import label

_LONGEST_IN_CELL = 8  # characters; the whole word is under the pointer
_ROW_HEIGHT = 26  # pixels; a line of text fits
_FRAME_HEIGHT = 110  # pixels
# Light enough at both ends for black letters, and lightness alone tells it.
_PAPER = [[0.0, "#ffffff"], [1.0, "#7fb3d5"]]


def words_map_figure(
    words: Sequence[Sequence[str]],
    probs: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_title: str,
    column_title: str,
    probability: str,
) -> go.Figure:
    """Draws a word in every cell, darker where the model is more certain.

    Args:
        words: R rows of C words.
        probs: float `[R, C]`, of those words.
        rows: R labels, the first one on top.
        columns: C labels.
        row_title: what a row is.
        column_title: what a column is.
        probability: the word for what the shade means.

    Raises:
        ValueError: labels, words and probabilities do not fit each other.
    """
    if probs.shape != (len(rows), len(columns)) or len(words) != len(rows):
        raise ValueError(
            f"`probs` must be {len(rows)} x {len(columns)}. "
            f"Received: {probs.shape}, {len(words)} rows of words."
        )
    shown = [[label(_cut(word)) for word in row] for row in words]
    trace = {
        "type": "heatmap",
        "z": probs.tolist(),
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "text": shown,
        "texttemplate": "%{text}",
        "textfont": {"color": "#111111", "size": 12},
        "colorscale": _PAPER,
        "zmin": 0.0,
        "zmax": 1.0,
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"thickness": 12, "title": {"text": probability}},
        "customdata": [[label(word) for word in row] for row in words],
        "hovertemplate": "%{customdata} %{z:.4f}<extra></extra>",
    }
    height = _FRAME_HEIGHT + _ROW_HEIGHT * len(rows)
    made = layout(column_title, row_title, height=height, hovermode="closest")
    made["showlegend"] = False
    made["xaxis"] |= _named(columns)
    made["yaxis"] |= _named(rows) | {"range": [len(rows) - 0.5, -0.5]}
    return go.Figure([trace], made, _validate=False)


def chain_figure(
    steps: np.ndarray,
    change_rates: np.ndarray,
    entropies: np.ndarray,
    burn_in: int,
    *,
    x_title: str,
    changed: str,
    entropy: str,
    burn_in_name: str,
) -> go.Figure:
    """Draws how much a chain changes, and how free it was, step by step.

    Args:
        steps: int `[S]`, increasing, from 1.
        change_rates: float `[S]`, share of changed words around each step.
        entropies: float `[S]`, bits, likewise.
        burn_in: first steps that are not counted; shaded.
        x_title: the word for step.
        changed: name of the first line.
        entropy: name of the second line, with its unit.
        burn_in_name: what is written into the shade.
    """
    traces = [
        {**line(steps, change_rates), "name": changed},
        {**line(steps, entropies, "dot"), "name": entropy, "yaxis": "y2"},
    ]
    made = layout(x_title, changed)
    made["yaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    made["yaxis2"] = {
        "title": {"text": entropy},
        "overlaying": "y",
        "side": "right",
        "showgrid": False,
        "rangemode": "tozero",
        "tickformat": ".1f",
        "fixedrange": True,
        "automargin": True,
    }
    made["shapes"], made["annotations"] = _burn_in(
        burn_in, int(steps[-1]), burn_in_name
    )
    return figure(traces, made)


def _named(names: Sequence[str]) -> dict[str, Any]:
    """An axis of cells with names instead of numbers."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [label(name) for name in names],
        "showgrid": False,
        "zeroline": False,
    }


def _cut(word: str) -> str:
    if len(word) <= _LONGEST_IN_CELL:
        return word
    return word[: _LONGEST_IN_CELL - 1] + "…"


def _burn_in(
    burn_in: int, num_steps: int, name: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    end = min(burn_in, num_steps)
    if not end:
        return [], []
    shade = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    shade |= {"x0": 0.5, "x1": end + 0.5, "fillcolor": "#888888", "opacity": 0.15}
    note = {"xref": "x", "yref": "paper", "x": 0.5 + end / 2, "y": 1, "text": name}
    note |= {"showarrow": False, "yanchor": "top"}
    return [shade | {"line": {"width": 0}}], [note]
