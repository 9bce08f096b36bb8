"""Figures of the residual stream, and of a vector on its way through a layer norm.

Colours come from the theme around the figure; dashes and symbols say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.layer_norm import LayerNormSteps
from bertviz_core.figures.activations import figure, layout, line
from bertviz_core.figures.labels import label

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up")
_HEIGHT = 360  # pixels
_ASIDE = 0.08  # of the way to the next place


def lines_figure(
    lines: Mapping[str, np.ndarray],
    places: Sequence[str],
    *,
    x_title: str,
    y_title: str,
    intervals: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> go.Figure:
    """Draws a number at each place, one line for each name.

    Args:
        lines: name of each line, and float `[R]`; NaN leaves a gap. Five at most.
        places: R labels.
        x_title: what a place is.
        y_title: what the numbers are.
        intervals: of some names, float `[R, 2]`, lower and upper ends; NaN draws none.

    Raises:
        ValueError: too many lines, or one of another length.
    """
    if not lines or len(lines) > len(_DASHES):
        raise ValueError(f"There must be 1 to {len(_DASHES)} lines.")
    if any(values.shape != (len(places),) for values in lines.values()):
        raise ValueError(f"Every line must have {len(places)} numbers.")
    x = np.arange(len(places))
    traces: list[dict[str, Any]] = [
        {
            **line(x, values, _DASHES[index]),
            "name": label(name),
            "mode": "lines+markers",
            "marker": {"size": 9, "symbol": _SYMBOLS[index]},
        }
        for index, (name, values) in enumerate(lines.items())
    ]
    for index, (trace, name) in enumerate(zip(traces, lines, strict=True)):
        if name in intervals:
            low, high = np.nan_to_num(intervals[name].T - lines[name])
            ends = {"array": high, "arrayminus": -low, "symmetric": False}
            trace["error_y"] = {**ends, "thickness": 1.5, "width": 4}
            # Side by side: whiskers over each other cannot be told apart.
            trace["x"] = trace["x"] + (index - 0.5) * _ASIDE
    made = layout(x_title, y_title, height=_HEIGHT)
    made["xaxis"] |= {
        "tickvals": x.tolist(),
        "ticktext": [label(place) for place in places],
        "zeroline": False,
    }
    return figure(traces, made)


def norm_formulas(
    found: LayerNormSteps, gamma: float, beta: float, index: int = 0
) -> tuple[str, ...]:
    """Mean, variance and the way of one number, as LaTeX with the real numbers.

    Args:
        found: every number on the way.
        gamma: scale of that number.
        beta: its shift.
        index: which number of the vector.

    Source:
        Ba et al. 2016 (arXiv:1607.06450), equation 3.
    """
    size, number = len(found.vector), index + 1
    return (
        rf"\mu = \frac{{1}}{{{size}}} \sum_{{i=1}}^{{{size}}} x_i = {found.mean:.4f}",
        rf"\sigma^2 = \frac{{1}}{{{size}}} \sum_{{i=1}}^{{{size}}} (x_i - \mu)^2"
        rf" = {found.variance:.4f}",
        rf"\hat{{x}}_{{{number}}} = \frac{{x_{{{number}}} - \mu}}"
        rf"{{\sqrt{{\sigma^2 + \varepsilon}}}} = "
        rf"\frac{{{found.vector[index]:.4f} - {_signed(found.mean)}}}"
        rf"{{{found.deviation:.4f}}} = {found.normed[index]:.4f}",
        rf"y_{{{number}}} = \gamma_{{{number}}} \hat{{x}}_{{{number}}}"
        rf" + \beta_{{{number}}} = {gamma:.4f} \cdot {_signed(found.normed[index])}"
        rf" + {_signed(beta)} = {found.output[index]:.4f}",
    )


def _signed(value: float) -> str:
    """A number behind an operator: brackets around a minus."""
    written = f"{value:.4f}"
    return f"({written})" if written.startswith("-") else written
