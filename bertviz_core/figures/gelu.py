"""Figures of GELU: where it comes from, and how well a tanh stands in for it.

P is the number of points of a curve.
"""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import (
    dots,
    figure,
    layout,
    line,
    marked_line,
    upright,
)
from bertviz_core.figures.labels import Words

_SYMBOLS = ("circle", "square", "diamond", "star")


def normal_figure(
    x: np.ndarray,
    values: Mapping[str, np.ndarray],
    read_at: float,
    words: Words,
    sampled: tuple[np.ndarray, np.ndarray] | None = None,
) -> go.Figure:
    """Draws the normal density, the share below x, erf and GELU on one axis.

    Args:
        x: float `[P]`, increasing.
        values: "density", "cumulative", "error_function" and "gelu", each `[P]`.
        read_at: up to where the area under the density is filled.
        sampled: x and the mean of a gate's draws there, each float `[S]`.
    """
    below = x <= read_at
    edge = np.interp(read_at, x, values["density"])
    area = {
        **line(np.append(x[below], read_at), np.append(values["density"][below], edge)),
        "name": words("area"),
        "fill": "tozeroy",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    dashes = {
        "density": "solid",
        "cumulative": "dash",
        "error_function": "dot",
        "gelu": "longdash",
    }
    curves = [
        {**line(x, values[name], dash), "name": words(name)}
        for name, dash in dashes.items()
    ]
    if sampled is not None:
        dots = {**line(*sampled), "mode": "markers", "name": words("sampled")}
        curves.append({**dots, "marker": {"symbol": "circle-open", "size": 9}})
    made = layout("x", "", lines=(upright(read_at),))
    # GELU runs out at the top, where it is x; all else stays between -1 and 1.
    made["yaxis"] |= {"range": [-1.1, 2.1]}
    made["xaxis"] |= {"range": [float(x[0]), float(x[-1])]}
    return figure([area, *curves], made)


def error_figure(
    x: np.ndarray,
    errors: Mapping[str, np.ndarray],
    peaks: Mapping[str, tuple[float, float]],
    words: Words,
) -> go.Figure:
    """Draws how far tanh forms are from the exact one, each with its worst place.

    Args:
        errors: of "chosen", "taylor" and "paper", float `[P]`.
        peaks: of the same, x and the (signed) error there.
    """
    dashes = {"chosen": "solid", "taylor": "dash", "paper": "dot"}
    traces = [
        {
            **marked_line(x, error, peaks[name], symbol, dashes[name]),
            "name": words(name),
        }
        for (name, error), symbol in zip(errors.items(), _SYMBOLS, strict=False)
    ]
    made = layout("x", words("error"))
    made["yaxis"] |= {"exponentformat": "power"}
    return figure(traces, made)


def largest_error_figure(
    constants: np.ndarray,
    largest: np.ndarray,
    marked: Mapping[str, tuple[float, float]],
    words: Words,
) -> go.Figure:
    """Draws the largest error `[P]` over the constant `[P]`.

    Marked are "chosen", "taylor", "paper" and "best", each a constant and its error.
    """
    traces = [{**line(constants, largest), "showlegend": False}]
    for (name, (constant, error)), symbol in zip(
        marked.items(), _SYMBOLS, strict=False
    ):
        traces.append(
            {
                **dots([constant], [error], size=12, symbol=symbol),
                "name": f"{words(name)}: {constant:.6f}",
                "cliponaxis": False,
                "hovertemplate": "%{x:.6f}, %{y:.4g}",
            }
        )
    made = layout(words("constant"), words("largest_error"))
    made["xaxis"] |= {"tickformat": ".3f"}
    made["yaxis"] |= {"exponentformat": "power", "rangemode": "tozero"}
    return figure(traces, made)
