"""A model before and after training, layer by layer: lines and bars.

L + 1 states, embedding output first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import GREY
from bertviz_core.figures.evaluation_scores import frame
from bertviz_core.figures.labels import label

_ROW_HEIGHT = 26  # pixels


@dataclass(frozen=True)
class ChangeWords:
    """What these figures say, in the reader's language."""

    before: str = "before training"
    after: str = "after training"
    layer: str = "layer"
    embeddings: str = "embeddings"
    least: str = "commonest class"


ENGLISH = ChangeWords()


def layer_scores_figure(
    scores: np.ndarray,
    intervals: np.ndarray,
    least: float | None,
    title: str,
    words: ChangeWords = ENGLISH,
) -> go.Figure:
    """Draws a score of every layer before and after.

    Args:
        scores: float `[2, L + 1]`, before first; NaN where there is none.
        intervals: float `[2, L + 1, 2]`; NaN draws no whiskers.
        least: a level to compare with; `None` draws none.
        title: what the scores are.
        words: the texts on the figure.
    """
    layers = np.arange(scores.shape[1])
    traces = []
    for row, (name, dash, symbol) in enumerate(
        ((words.before, "dot", "circle-open"), (words.after, "solid", "diamond"))
    ):
        known = np.nan_to_num(intervals[row] - scores[row][:, None])
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                # Side by side: whiskers over each other cannot be told apart.
                "x": layers + (row - 0.5) * 0.08,
                "y": [None if np.isnan(v) else float(v) for v in scores[row]],
                "line": {"dash": dash, "width": 2.5},
                "marker": {"symbol": symbol, "size": 9},
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": known[:, 1],
                    "arrayminus": -known[:, 0],
                    "thickness": 1.5,
                    "width": 4,
                    "visible": bool(np.abs(known).any()),
                },
                "hovertemplate": "%{y:.3f}",
            }
        )
    layout = frame(words.layer, title)
    layout["hovermode"] = "x unified"
    layout["xaxis"] |= {
        "tickvals": layers.tolist(),
        "ticktext": [words.embeddings, *map(str, layers[1:].tolist())],
    }
    if least is not None:
        layout |= _level(least, words.least)
    return go.Figure(traces, layout, _validate=False)


def _level(value: float, name: str) -> dict[str, Any]:
    """A line across the figure, with its name."""
    line = {"dash": "dash", "color": GREY, "width": 1.5}
    shape = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value}
    note = {
        "xref": "paper",
        "x": 1,
        "y": value,
        "xanchor": "right",
        "yanchor": "bottom",
        "text": label(name),
        "showarrow": False,
    }
    return {
        "shapes": [shape | {"y1": value, "line": line}],
        "annotations": [note],
    }
