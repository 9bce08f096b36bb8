"""One layer as a drawing: what lies on the residual stream, and what beside it.

Made from the table of operations, so that it cannot differ from what the model does.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from bertviz_core.experiments.step_table import describe, layer_operations
from bertviz_core.figures.drawing import GREY, dots
from bertviz_core.figures.labels import Words

_ROW_HEIGHT = 52  # pixels
_STREAM, _BESIDE = 0.26, 0.68  # where both columns stand, from 0 to 1
_HALF_WIDTH, _HALF_HEIGHT = 0.21, 0.32

# What is drawn as one box.
_BOXES = {
    **dict.fromkeys(
        (
            *("query", "key", "value", "attention_scores", "masked_scores"),
            *("attention_probs", "context", "attention_output"),
        ),
        "attention",
    ),
    **dict.fromkeys(("intermediate", "neurons", "feed_forward_output"), "feed_forward"),
    **dict.fromkeys(("attention_norm", "output_norm"), "norm"),
    **dict.fromkeys(("attention_residual", "output_residual"), "sum"),
}


@dataclass(frozen=True)
class Box:
    """A part of a layer."""

    kind: str  # "attention", "feed_forward", "norm" or "sum"
    # The residual stream itself runs through it; else it works on a copy beside the
    # stream.
    is_on_stream: bool


def layer_boxes(pre_norm: bool) -> tuple[Box, ...]:
    """The parts of a layer in their order, see `step_table.layer_operations`."""
    order = layer_operations(pre_norm)
    # The stream: the last step, and the first input of each sum on the way to it.
    stream, name = set(), order[-1]
    while name in order:
        stream.add(name)
        name = describe(name, pre_norm, "gelu").inputs[0]
    boxes: list[Box] = []
    for name in order:
        box = Box(_BOXES[name], name in stream)
        if not boxes or box != boxes[-1]:
            boxes.append(box)
    return tuple(boxes)


def layer_diagram(pre_norm: bool, words: Words) -> go.Figure:
    """Draws one layer from top to bottom.

    Source: Xiong et al. 2020 (arXiv:2002.04745), figure 1.
    """
    boxes = layer_boxes(pre_norm)
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    bottom = -(len(boxes) + 1)
    notes.append(_text(_STREAM, 0.0, words("enters")))
    previous: Box | None = None
    for row, box in enumerate(boxes, start=1):
        _draw_box(box, previous, -row, words, shapes, notes)
        previous = box
    notes += _stream(boxes)
    notes.append(_text(_STREAM, bottom, words("leaves")))
    axis = {"visible": False, "fixedrange": True}
    layout: dict[str, Any] = {
        "height": _ROW_HEIGHT * (len(boxes) + 2),
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "shapes": shapes,
        "annotations": notes,
        "xaxis": axis | {"range": [0, 1]},
        "yaxis": axis | {"range": [bottom - 0.5, 0.5]},
    }
    # Plotly draws no axes without a trace.
    point = dots([_STREAM], [0], opacity=0)
    point |= {"hoverinfo": "skip", "showlegend": False}
    return go.Figure([point], layout, _validate=False)


def _stream(boxes: tuple[Box, ...]) -> list[dict[str, Any]]:
    rows = [row for row, box in enumerate(boxes, start=1) if box.is_on_stream]
    places = [0, *rows, len(boxes) + 1]
    return [
        _arrow((_STREAM, -above - _HALF_HEIGHT), (_STREAM, -below + _HALF_HEIGHT))
        for above, below in itertools.pairwise(places)
    ]


def _draw_box(
    box: Box,
    previous: Box | None,
    y: float,
    words: Words,
    shapes: list[dict[str, Any]],
    notes: list[dict[str, Any]],
) -> None:
    if box.kind == "sum":
        notes.append(_arrow((_BESIDE, y + 1 - _HALF_HEIGHT), (_BESIDE, y), False))
        notes.append(_arrow((_BESIDE, y), (_STREAM + 0.05, y)))
        shapes.append(_shape("circle", (_STREAM - 0.045, y - 0.28), 0.09, 0.56))
        notes.append(_text(_STREAM, y, "+", size=18))
        return
    x = _STREAM if box.is_on_stream else _BESIDE
    if not box.is_on_stream:
        if previous is None or previous.is_on_stream:
            notes.append(_arrow((_STREAM, y + 0.5), (_BESIDE, y + 0.5), False))
            notes.append(_arrow((_BESIDE, y + 0.5), (_BESIDE, y + _HALF_HEIGHT)))
        else:
            start = (_BESIDE, y + 1 - _HALF_HEIGHT)
            notes.append(_arrow(start, (_BESIDE, y + _HALF_HEIGHT)))
    corner = (x - _HALF_WIDTH, y - _HALF_HEIGHT)
    shapes.append(_shape("rect", corner, 2 * _HALF_WIDTH, 2 * _HALF_HEIGHT))
    notes.append(_text(x, y, words(box.kind)))


def _shape(
    kind: str, corner: tuple[float, float], width: float, height: float
) -> dict[str, Any]:
    x, y = corner
    return {
        "type": kind,
        "x0": x,
        "y0": y,
        "x1": x + width,
        "y1": y + height,
        "line": {"color": GREY, "width": 2},
    }


def _text(x: float, y: float, text: str, size: int = 14) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": size}}


def _arrow(
    start: tuple[float, float], end: tuple[float, float], has_head: bool = True
) -> dict[str, Any]:
    return {
        "x": end[0],
        "y": end[1],
        "ax": start[0],
        "ay": start[1],
        "axref": "x",
        "ayref": "y",
        "xref": "x",
        "yref": "y",
        "text": "",
        "showarrow": True,
        "arrowhead": 2 if has_head else 0,
        "arrowwidth": 1.5,
        "arrowcolor": GREY,
    }
