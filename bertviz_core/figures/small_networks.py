"""Figures of small networks in which a function's weakness shows.

n layers, S steps, P examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.dying_neurons import Training
from bertviz_core.analysis.small_networks import LearningPath, OutputSigns
from bertviz_core.figures.activations import (
    GREY,
    NUM_COLORS,
    PLACES,
    figure,
    function_line,
    layout,
    line,
    nothing,
    upright,
)


@dataclass(frozen=True)
class NetworkWords:
    """What these figures say, in the reader's language."""

    layers_back: str = "layers on the way back"
    gradient: str = "size of the gradient"
    mean: str = "mean of the outputs, with their spread"
    first_weight: str = "first weight"
    second_weight: str = "second weight"
    start: str = "start"
    goal: str = "goal"
    step: str = "step"
    activity: str = "share of examples with input > 0"
    neuron_gradient: str = "size of the neuron's gradient"
    examples: str = "examples"
    input: str = "input x"
    output: str = "output"
    stack: str = "{count} linear layers"
    collapsed: str = "the one layer"
    with_function: str = "with {name} in between"


ENGLISH = NetworkWords()
_TALL = 520  # pixels
# Of two networks; the second one is drawn over the first.
_DASHES = ("solid", "dash")


def gradients_figure(
    gradients: Mapping[str, np.ndarray],
    labels: Mapping[str, str],
    words: NetworkWords = ENGLISH,
) -> go.Figure:
    """Draws the gradient's size over the layers that it has come back through.

    Args:
        gradients: of each function, float `[n + 1]`; a gradient of 0 has no place
            on the axis, its curve ends there.
        labels: of the functions.
        words: the texts on the figure.
    """
    traces = []
    for name in PLACES:
        if name not in gradients:
            traces.append(nothing())
            continue
        sizes = np.where(gradients[name] > 0, gradients[name], np.nan)
        trace = function_line(name, np.arange(len(sizes)), sizes)
        # 32-bit floats end at 1e-38, gradients do not.
        traces.append({**trace, "y": sizes, "name": labels[name]})
    made = layout(words.layers_back, words.gradient)
    made["yaxis"] |= {"type": "log", "exponentformat": "power", "nticks": 8}
    return figure(traces, made)


def means_figure(
    signs: Mapping[str, OutputSigns],
    labels: Mapping[str, str],
    words: NetworkWords = ENGLISH,
) -> go.Figure:
    """Draws where each function's outputs lie: their mean, and their spread.

    Args:
        signs: of each function.
        labels: of the functions.
        words: the texts on the figure.
    """
    measured = list(signs.values())
    trace = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [one.mean for one in measured],
        "y": list(range(len(measured))),
        "text": [f"{one.mean + 0.0:.2f}".replace("-0.00", "0.00") for one in measured],
        "textposition": "top center",
        "error_x": {"array": [one.deviation for one in measured], "thickness": 2},
        "marker": {"size": 10},
        "hovertemplate": "%{x:.4f}<extra></extra>",
    }
    zero = {**upright(0.0), "line": {"color": GREY, "width": 2}}
    height = 90 + 42 * len(measured)
    made = layout(words.mean, "", lines=(zero,), height=height)
    made |= {"hovermode": "closest", "showlegend": False}
    made["yaxis"] |= {
        "tickvals": list(range(len(measured))),
        "ticktext": [labels[name] for name in signs],
        "range": [len(measured) - 0.4, -0.7],
        "zeroline": False,
    }
    return figure([trace], made)


def path_figure(
    paths: Mapping[str, LearningPath],
    labels: Mapping[str, str],
    words: NetworkWords = ENGLISH,
) -> go.Figure:
    """Draws the ways of two weights to their goal, in the plane of both.

    Args:
        paths: of each function; all with one goal.
        labels: of the functions.
        words: the texts on the figure.
    """
    traces = []
    for name in PLACES:
        if name not in paths:
            traces.append(nothing())
            continue
        first, second = paths[name].weights.T
        traces.append({**function_line(name, first, second), "name": labels[name]})
    goal = next(iter(paths.values())).goal
    traces.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [0.0, goal[0]],
            "y": [0.0, goal[1]],
            "text": [words.start, words.goal],
            "textposition": ["top right", "bottom left"],
            "marker": {"size": 14, "symbol": ["circle-open", "x"], "color": GREY},
            "showlegend": False,
            "hoverinfo": "skip",
        }
    )
    made = layout(words.first_weight, words.second_weight)
    made["hovermode"] = "closest"
    # One unit is as long to the right as upwards, or a zigzag would be flattened.
    made["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    made["xaxis"] |= {"constrain": "domain"}
    return figure(traces, made)


def neuron_figure(
    trainings: Mapping[str, Training],
    labels: Mapping[str, str],
    neuron: int,
    step: int,
    words: NetworkWords = ENGLISH,
) -> go.Figure:
    """Draws how active one neuron is over the steps, and what gradient it gets.

    Args:
        trainings: of two functions, from the same start; the second is drawn on top.
        labels: of the functions.
        neuron: zero-based.
        step: the one that is looked at.
        words: the texts on the figure.
    """
    traces = []
    for axis, measure in (("y", "activity"), ("y2", "gradients")):
        for (name, training), dash in zip(trainings.items(), _DASHES, strict=False):
            values = getattr(training, measure)[:, neuron]
            if axis == "y2":
                values = np.where(values > 0, values, np.nan)
            trace = line(np.arange(len(values)), values, dash)
            traces.append(
                {
                    **trace,
                    "name": labels[name],
                    "yaxis": axis,
                    "legendgroup": name,
                    "showlegend": axis == "y",
                }
            )
        # The lower curves take the colours of the upper ones.
        traces += [nothing()] * (NUM_COLORS - len(trainings)) if axis == "y" else []
    sizes = np.concatenate([t.gradients[:, neuron] for t in trainings.values()])
    return figure(traces, _two_storeys(step, _decades(sizes), words))


def fit_figure(
    trainings: Mapping[str, Training],
    labels: Mapping[str, str],
    step: int,
    words: NetworkWords = ENGLISH,
) -> go.Figure:
    """Draws what networks say at one step beside what they should say.

    Args:
        trainings: of two functions, on the same examples; the second is drawn on top.
        labels: of the functions.
        step: after how many steps.
        words: the texts on the figure.
    """
    traces: list[dict[str, Any]] = [
        {**line(training.inputs, training.outputs[step], dash), "name": labels[name]}
        for (name, training), dash in zip(trainings.items(), _DASHES, strict=False)
    ]
    first = next(iter(trainings.values()))
    traces.append(
        {
            **line(first.inputs, first.targets),
            "mode": "markers",
            "name": words.examples,
            "marker": {"size": 6, "color": GREY},
        }
    )
    low, high = float(first.targets.min()), float(first.targets.max())
    made = layout(words.input, words.output, height=_TALL)
    # The same at every step, so that the curves move and not the axis.
    made["yaxis"] |= {"range": [low - 1.5, high + 1.5]}
    return figure(traces, made)


def collapse_figure(
    x: np.ndarray,
    stack: np.ndarray,
    collapsed: np.ndarray,
    with_function: np.ndarray,
    count: int,
    label: str,
    words: NetworkWords = ENGLISH,
) -> go.Figure:
    """Draws one output of a stack of layers along one input.

    Args:
        x: float `[P]`.
        stack: float `[P]`, of the linear layers.
        collapsed: float `[P]`, of the one layer.
        with_function: float `[P]`, of the layers with a function in between.
        count: of the layers.
        label: of the function.
        words: the texts on the figure.
    """
    every = slice(None, None, max(len(x) // 16, 1))
    traces = [
        {**line(x, stack), "name": words.stack.format(count=count)},
        {
            **line(x[every], collapsed[every]),
            "mode": "markers",
            "name": words.collapsed,
            "marker": {"size": 10, "symbol": "circle-open", "line": {"width": 2}},
        },
        {
            **line(x, with_function, "dash"),
            "name": words.with_function.format(name=label),
        },
    ]
    return figure(traces, layout(words.input, words.output, height=360))


def _two_storeys(step: int, decades: float, words: NetworkWords) -> dict[str, Any]:
    made = layout(words.step, words.activity, lines=(upright(step),), height=_TALL)
    made["xaxis"] |= {"anchor": "y2"}
    made["yaxis"] |= {"domain": [0.56, 1], "range": [-0.05, 1.05], "tickformat": ".0%"}
    made["yaxis2"] = {
        **made["yaxis"],
        "title": {"text": words.neuron_gradient},
        "domain": [0, 0.44],
        "type": "log",
        "range": None,
        "tickformat": "",
        # Powers of ten alone, about five of them.
        "dtick": max(1, round(decades / 5)),
        "exponentformat": "power",
    }
    return made


def _decades(sizes: np.ndarray) -> float:
    """How many powers of ten lie between the smallest and the largest, 0 left out."""
    positive = sizes[sizes > 0]
    if not len(positive):
        return 0.0
    return float(np.log10(positive.max()) - np.log10(positive.min()))
