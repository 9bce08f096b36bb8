"""Figures of two small networks while they train.

H neurons, S steps, P examples.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.dying_neurons import Training
from bertviz_core.figures.drawing import (
    GREY,
    NUM_COLORS,
    figure,
    layout,
    line,
    marked_line,
    nothing,
    upright,
)
from bertviz_core.figures.labels import Words

_TALL = 520  # pixels
# Of two networks; the second one is drawn over the first.
_DASHES = ("solid", "dash")


def neuron_figure(
    trainings: Mapping[str, Training],
    labels: Mapping[str, str],
    neuron: int,
    step: int,
    words: Words,
) -> go.Figure:
    """Draws how active one neuron is over the steps, and what gradient it gets.

    Of two functions, from the same start; the second is drawn on top. A cross stands
    where the neuron dies.
    """
    traces = []
    for axis, measure in (("y", "activity"), ("y2", "gradients")):
        for (name, training), dash in zip(trainings.items(), _DASHES, strict=False):
            values = getattr(training, measure)[:, neuron]
            if axis == "y2":
                values = np.where(values > 0, values, np.nan)
            steps, died_at = np.arange(len(values)), training.died_at()[neuron]
            trace = line(steps, values, dash)
            if axis == "y" and died_at >= 0:
                trace = marked_line(
                    steps, values, (died_at, values[died_at]), "x", dash
                )
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
    words: Words,
) -> go.Figure:
    """Draws what networks say at one step beside what they should say.

    Of two functions, on the same examples; the second is drawn on top.
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
            "name": words("examples"),
            "marker": {"size": 6, "color": GREY},
        }
    )
    low, high = float(first.targets.min()), float(first.targets.max())
    made = layout(words("input"), words("output"), height=_TALL)
    # The same at every step, so that the curves move and not the axis.
    made["yaxis"] |= {"range": [low - 1.5, high + 1.5]}
    return figure(traces, made)


def _two_storeys(step: int, decades: float, words: Words) -> dict[str, Any]:
    made = layout(
        words("step"), words("activity"), lines=(upright(step),), height=_TALL
    )
    made["xaxis"] |= {"anchor": "y2"}
    made["yaxis"] |= {"domain": [0.56, 1], "range": [-0.05, 1.05], "tickformat": ".0%"}
    made["yaxis2"] = {
        **made["yaxis"],
        "title": {"text": words("neuron_gradient")},
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
