"""Figures of the questions about masked words: arrays in, a plotly figure out.

Colours tell nothing that a number, a word or a dash does not say as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import figure, layout, line


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
