"""Figures of small networks in which a function's weakness shows.

n layers, S steps, P examples.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.small_networks import LearningPath, OutputSigns
from bertviz_core.figures.activations import PLACES, function_line
from bertviz_core.figures.drawing import (
    GREY,
    dots,
    figure,
    layout,
    line,
    nothing,
    upright,
)
from bertviz_core.figures.labels import Words, with_minus


def gradients_figure(
    gradients: Mapping[str, np.ndarray], labels: Mapping[str, str], words: Words
) -> go.Figure:
    """Draws the gradient's size over the layers that it has come back through.

    A gradient of 0 has no place on the axis: its curve ends there.
    """
    known = {n: np.where(sizes > 0, sizes, np.nan) for n, sizes in gradients.items()}
    curves = {name: (np.arange(len(sizes)), sizes) for name, sizes in known.items()}
    traces = _in_places(curves, labels)
    for name, sizes in known.items():
        # 32-bit floats end at 1e-38, gradients do not.
        traces[PLACES.index(name)]["y"] = sizes
    made = layout(words("layers_back"), words("gradient"))
    made["yaxis"] |= {"type": "log", "exponentformat": "power", "nticks": 8}
    return figure(traces, made)


def means_figure(
    signs: Mapping[str, OutputSigns], labels: Mapping[str, str], words: Words
) -> go.Figure:
    """Draws where each function's outputs lie: their mean, and their spread."""
    measured = list(signs.values())
    trace = {
        **dots([one.mean for one in measured], [*range(len(measured))], size=10),
        "mode": "markers+text",
        "text": [with_minus(f"{one.mean:z.2f}") for one in measured],
        "textposition": "top center",
        "error_x": {"array": [one.deviation for one in measured], "thickness": 2},
        "hovertemplate": "%{x:.4f}<extra></extra>",
    }
    zero = {**upright(0.0), "line": {"color": GREY, "width": 2}}
    height = 90 + 42 * len(measured)
    rows = [labels[name] for name in signs]
    made = layout(words("mean"), "", rows=rows, lines=(zero,), height=height)
    return figure([trace], made | {"showlegend": False})


def path_figure(
    paths: Mapping[str, LearningPath], labels: Mapping[str, str], words: Words
) -> go.Figure:
    """Draws the ways of two weights to their one goal, in the plane of both."""
    traces = _in_places({name: one.weights.T for name, one in paths.items()}, labels)
    goal, symbols = next(iter(paths.values())).goal, ["circle-open", "x"]
    traces.append(
        {
            **dots([0.0, goal[0]], [0.0, goal[1]], size=14, color=GREY, symbol=symbols),
            "mode": "markers+text",
            "text": [words("start"), words("goal")],
            "textposition": ["top right", "bottom left"],
            "showlegend": False,
            "hoverinfo": "skip",
        }
    )
    made = layout(words("first_weight"), words("second_weight"), hovermode="closest")
    # One unit is as long to the right as upwards, or a zigzag would be flattened.
    made["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    made["xaxis"] |= {"constrain": "domain"}
    return figure(traces, made)


def collapse_figure(
    x: np.ndarray,
    stack: np.ndarray,
    collapsed: np.ndarray,
    with_function: np.ndarray,
    count: int,
    label: str,
    words: Words,
) -> go.Figure:
    """Draws one output of a stack of layers along one input, all `[P]`.

    Beside that of linear layers stand that of the one layer, and of layers with a
    function in between.
    """
    every = slice(None, None, max(len(x) // 16, 1))
    traces = [
        {**line(x, stack), "name": words("stack").format(count=count)},
        {
            **line(x[every], collapsed[every]),
            "mode": "markers",
            "name": words("collapsed"),
            "marker": {"size": 10, "symbol": "circle-open", "line": {"width": 2}},
        },
        {
            **line(x, with_function, "dash"),
            "name": words("with_function").format(name=label),
        },
    ]
    return figure(traces, layout(words("input"), words("output"), height=360))


def _in_places(
    curves: Mapping[str, Iterable[np.ndarray]], labels: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The curves of functions, each with its own colour."""
    return [
        {**function_line(name, *curves[name]), "name": labels[name]}
        if name in curves
        else nothing()
        for name in PLACES
    ]
