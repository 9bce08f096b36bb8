"""Predicted numbers against true ones, and how far they are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.activations import GREY, upright
from bertviz_core.figures.evaluation_scores import frame, hover_text


@dataclass(frozen=True)
class NumberWords:
    """What these figures say, in the reader's language."""

    target: str = "true number"
    predicted: str = "predicted number"
    residual: str = "predicted less true"
    rows: str = "rows"


ENGLISH = NumberWords()


def predicted_figure(
    targets: np.ndarray,
    predicted: np.ndarray,
    hints: Sequence[str],
    words: NumberWords = ENGLISH,
) -> go.Figure:
    """Draws predicted numbers against true ones; on the line they agree.

    Args:
        targets: float `[R]`.
        predicted: float `[R]`.
        hints: R texts to show under the pointer.
        words: the texts on the figure.
    """
    ends = [
        float(min(targets.min(), predicted.min())),
        float(max(targets.max(), predicted.max())),
    ]
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": ends,
        "line": {"dash": "dash", "color": GREY},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": targets,
        "y": predicted,
        "marker": {"size": 7, "opacity": 0.7},
        "hovertext": [hover_text(hint) for hint in hints],
        "hovertemplate": "%{hovertext}<br>%{x:.6g} → %{y:.6g}<extra></extra>",
        "showlegend": False,
    }
    layout = frame(words.target, words.predicted)
    return go.Figure([line, points], layout, _validate=False)


def residuals_figure(residuals: np.ndarray, words: NumberWords = ENGLISH) -> go.Figure:
    """Draws how often predictions are how far off.

    Args:
        residuals: float `[R]`, predicted less true.
        words: the texts on the figure.
    """
    counts, edges = np.histogram(residuals, bins=min(20, max(4, len(residuals) // 4)))
    bars = {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": counts,
        "width": np.diff(edges) * 0.96,
        "hovertext": [
            f"{low:.4g} – {high:.4g}: {count}"
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ],
        "hoverinfo": "text",
    }
    layout = frame(words.residual, words.rows) | {"shapes": [upright(0.0)]}
    return go.Figure([bars], layout, _validate=False)
