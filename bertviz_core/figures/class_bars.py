"""How a classifier shares its certainty among the classes of one text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.labels import label
from bertviz_core.figures.masked_word import percent

MAX_BARS = 20
_ROW_HEIGHT = 30  # pixels
_FRAME_HEIGHT = 60  # pixels; the axis and its title


def class_bars_figure(
    labels: Sequence[str], probabilities: np.ndarray, title: str
) -> go.Figure:
    """Draws the classes, the likeliest on top.

    Args:
        labels: C names.
        probabilities: float `[C]`, in [0, 1]; the `MAX_BARS` largest are drawn.
        title: what the numbers are.

    Raises:
        ValueError: the two do not have one length.
    """
    if probabilities.shape != (len(labels),) or not labels:
        raise ValueError(
            f"`probabilities` must be [{len(labels)}], not empty. "
            f"Received: shape={probabilities.shape}."
        )
    order = np.argsort(-probabilities, kind="stable")[:MAX_BARS]
    shown = probabilities[order]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": shown,
        "y": list(range(len(order))),
        "text": [percent(float(value)) for value in shown],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertext": [label(labels[index]) for index in order.tolist()],
        "hovertemplate": "%{hovertext}<br>%{x:.6f}<extra></extra>",
    }
    layout = {
        "height": _FRAME_HEIGHT + _ROW_HEIGHT * len(order),
        "margin": {"l": 0, "r": 8, "t": 8, "b": 0},
        "bargap": 0.25,
        "xaxis": {
            "title": {"text": title},
            "range": [0, float(shown.max()) * 1.2],
            "tickformat": ".3~p",
            "fixedrange": True,
        },
        "yaxis": {
            "tickvals": list(range(len(order))),
            "ticktext": [label(labels[index]) for index in order.tolist()],
            "range": [len(order) - 0.4, -0.6],
            "automargin": True,
            "fixedrange": True,
        },
    }
    return go.Figure([bars], layout, _validate=False)
