"""The confusion matrix of a classifier as a picture whose cells can be chosen.

C is the number of classes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import PAPER
from bertviz_core.figures.drawing import dots, figure, layout
from bertviz_core.figures.labels import Words, label
from bertviz_core.figures.masked_word import percent

# The right cells have a frame: their place on the diagonal is easily lost.
_FRAME = "#2b6cb0"
_ROW_HEIGHT = 44  # pixels; a finger hits a cell
_SMALL_ROW = 22  # pixels
_FRAME_HEIGHT = 110  # pixels; labels and titles
# In smaller cells no number fits.
MAX_WRITTEN = 12


def confusion_figure(
    confusion: np.ndarray, labels: Sequence[str], words: Words, as_shares: bool = False
) -> go.Figure:
    """Draws how often each class was taken for each, or its share of the true class.

    An invisible mark in each cell carries (true, predicted) as `customdata`: a click on
    a heatmap alone does not say which cell it met. The true class is in the row.
    """
    num_classes = len(labels)
    totals = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(
        confusion, totals, out=np.full(confusion.shape, np.nan), where=totals > 0
    )
    values = shares if as_shares else confusion.astype(np.float64)
    names = [label(name) for name in labels]
    heat = {
        "type": "heatmap",
        "z": [[None if np.isnan(v) else float(v) for v in row] for row in values],
        "x": list(range(num_classes)),
        "y": list(range(num_classes)),
        "colorscale": PAPER,
        "zmin": 0.0,
        "zmax": 1.0 if as_shares else float(max(confusion.max(), 1)),
        "xgap": 2,
        "ygap": 2,
        "showscale": num_classes > MAX_WRITTEN,
        "colorbar": {"thickness": 12},
        "hoverinfo": "skip",
    }
    marks = _marks(confusion, shares, names, as_shares, words)
    return figure([heat, marks], _layout(names, words))


def _marks(
    confusion: np.ndarray,
    shares: np.ndarray,
    names: list[str],
    as_shares: bool,
    words: Words,
) -> dict[str, Any]:
    places = [(i, j) for i in range(len(names)) for j in range(len(names))]
    written = [
        (percent(shares[place]) if not np.isnan(shares[place]) else "")
        if as_shares
        else str(int(confusion[place]))
        for place in places
    ]
    true, said_class, rows = map(words, ("true_class", "said_class", "rows"))
    said = [
        f"{true}: {names[i]}<br>{said_class}: {names[j]}<br>"
        f"{rows}: {int(confusion[i, j])}"
        for i, j in places
    ]
    fits, (rows_at, columns_at) = len(names) <= MAX_WRITTEN, zip(*places, strict=True)
    return {
        **dots(
            [*columns_at],
            [*rows_at],
            size=30 if fits else 14,
            symbol="square",
            opacity=0,
        ),
        "mode": "markers+text" if fits else "markers",
        "text": written if fits else None,
        "textfont": {"color": "#111111", "size": 14},
        "hovertext": said,
        "hoverinfo": "text",
        "customdata": [[i, j] for i, j in places],
        "selected": {"textfont": {"color": "#111111"}},
        "unselected": {"textfont": {"color": "#111111"}, "marker": {"opacity": 0}},
        "showlegend": False,
    }


def _layout(names: list[str], words: Words) -> dict[str, Any]:
    size = len(names)
    row = _ROW_HEIGHT if size <= MAX_WRITTEN else _SMALL_ROW
    height = _FRAME_HEIGHT + row * size
    made = layout("", words("true_class"), rows=names, height=height)
    made["yaxis"] |= {"range": [size - 0.5, -0.5], "showgrid": False}
    columns = {"title": {"text": words("said_class")}, "range": [-0.5, size - 0.5]}
    return made | {
        "margin": {"l": 0, "r": 0, "t": 8, "b": 0},
        # Wherever in a cell the pointer is, the mark in its middle answers.
        "hoverdistance": 200,
        "clickmode": "event+select",
        "dragmode": False,
        "xaxis": made["yaxis"] | columns,
        "shapes": [
            {
                "type": "rect",
                "x0": i - 0.48,
                "x1": i + 0.48,
                "y0": i - 0.48,
                "y1": i + 0.48,
                "line": {"color": _FRAME, "width": 2},
            }
            for i in range(size)
        ],
    }
