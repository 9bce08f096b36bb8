"""Figures of a training run: its learning rate, its loss, its metric.

Colours come from the theme around the figure; dashes, symbols and words say the same
without colour.

S optimiser steps, E epochs.
"""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.smoothing import running_mean, spread_out
from bertviz_core.figures.drawing import GREY, dots, figure, layout, line, upright
from bertviz_core.figures.labels import Words

# A line of more points looks the same and is slower to send and to draw.
MAX_POINTS = 600
# More borders than these would be a fence.
_MAX_BORDERS = 12
_MAX_MARKERS = 60
_HEIGHT = 320  # pixels


def schedule_figure(
    rates: np.ndarray,
    steps_per_epoch: int,
    words: Words,
    step: int | None = None,
    steps: np.ndarray | None = None,
) -> go.Figure:
    """Draws the learning rate of all steps, known before the first one.

    Args:
        rates: float `[S]`.
        steps_per_epoch: where an epoch ends.
        step: steps that are done, marked on the curve; `None` marks nothing.
        steps: int `[S]`, from 1, increasing, the last one included; `None` means
            that there is a rate of every step.
    """
    steps = np.arange(1, len(rates) + 1) if steps is None else steps
    shown = spread_out(len(rates), MAX_POINTS)
    traces = [
        {
            **line(steps[shown], rates[shown]),
            "name": words("learning_rate"),
            "hovertemplate": "%{y:.3g}",
        }
    ]
    if step:
        place = min(int(np.searchsorted(steps, step)), len(steps) - 1)
        rate = float(rates[place])
        traces.append(_mark(int(steps[place]), rate, words("now"), "diamond"))
    borders = np.arange(steps_per_epoch, int(steps[-1]), steps_per_epoch)
    lines = [upright(x + 0.5) for x in borders] if len(borders) < _MAX_BORDERS else []
    made = layout(words("step"), words("learning_rate"), lines=lines, height=_HEIGHT)
    made["showlegend"] = len(traces) > 1
    made["yaxis"] |= {"rangemode": "tozero", "exponentformat": "e"}
    return figure(traces, made)


def loss_figure(
    steps: np.ndarray,
    losses: np.ndarray,
    epoch_steps: np.ndarray,
    validation_losses: np.ndarray,
    words: Words,
) -> go.Figure:
    """Draws the loss of the steps, its running mean, and that of rows to check by.

    Args:
        steps: int `[S]`, from 1, increasing; those that are known.
        losses: float `[S]`.
        epoch_steps: int `[E]`, the last step of each epoch that ended.
        validation_losses: float `[E]`; NaN without rows to check by.
    """
    shown = spread_out(len(steps), MAX_POINTS)
    smooth = running_mean(losses)
    traces = [
        {**line(steps[shown], losses[shown]), "name": words("raw"), "opacity": 0.35},
        {**line(steps[shown], smooth[shown]), "name": words("smooth")},
    ]
    if np.isfinite(validation_losses).any():
        traces.append(
            {
                **line(epoch_steps, validation_losses, "dash"),
                "name": words("validation"),
                "mode": _mode(len(epoch_steps)),
                "marker": {"size": 8, "symbol": "square"},
            }
        )
    traces[0]["line"] = {"width": 1, "simplify": False}
    made = layout(words("step"), words("loss"), height=_HEIGHT)
    made["yaxis"] |= {"rangemode": "tozero"}
    return figure(traces, made)


def metric_figure(
    values: np.ndarray, best_epoch: int, name: str, words: Words
) -> go.Figure:
    """Draws a metric, at best 1, after each epoch; the best one, from 1, is marked."""
    epochs = np.arange(1, len(values) + 1)
    curve = {
        **line(epochs, values),
        "name": name,
        "mode": _mode(len(values)),
        "marker": {"size": 7},
    }
    best = _mark(best_epoch, float(values[best_epoch - 1]), words("best"), "star")
    made = layout(words("epoch"), name, height=_HEIGHT)
    made["xaxis"] |= {"tickformat": "d", "range": [0.5, len(values) + 0.5]}
    # A line of one point has no slope to choose an axis by.
    low, high = float(values.min()), float(values.max())
    room = max(0.02, 0.15 * (high - low))
    made["yaxis"] |= {"range": [low - room, high + room]}
    if len(values) <= _MAX_BORDERS:
        made["xaxis"] |= {"dtick": 1}
    return figure([curve, best], made)


def _mode(num_epochs: int) -> str:
    """Points where they are few; where they are many they would hide the line."""
    return "lines+markers" if num_epochs <= _MAX_MARKERS else "lines"


def _mark(x: int, y: float, name: str, symbol: str) -> dict[str, Any]:
    return {
        **dots([x], [y], size=14, symbol=symbol, line={"width": 1, "color": GREY}),
        "name": name,
        "hovertemplate": "%{y:.4g}",
    }
