"""A text as a grid of tokens, each on a shade that says how large its number is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import PAPER
from bertviz_core.figures.labels import escaped, label

COLUMNS = 8
_ROW_HEIGHT = 48  # pixels; two lines of text fit
_FRAME_HEIGHT = 60  # pixels


def token_grid_figure(
    tokens: Sequence[str], values: np.ndarray, hints: Sequence[str], *, title: str
) -> go.Figure:
    """Draws S tokens in the order of reading, their numbers below them.

    Numbers are at least 0; NaN leaves the paper blank. Hints show under the pointer.
    """
    shades, texts, said = _cells(tokens, values, hints)
    top = float(np.nan_to_num(values).max(initial=0.0)) or 1.0
    trace = {
        "type": "heatmap",
        "z": shades,
        "text": texts,
        "texttemplate": "%{text}",
        "textfont": {"color": "#111111", "size": 13},
        "customdata": said,
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": PAPER,
        "zmin": 0.0,
        "zmax": top,
        "xgap": 2,
        "ygap": 2,
        "colorbar": {"thickness": 12},
    }
    axis = {"visible": False, "fixedrange": True, "showgrid": False}
    made = {
        "height": _FRAME_HEIGHT + _ROW_HEIGHT * len(shades),
        "margin": {"l": 0, "r": 0, "t": 32, "b": 0},
        "title": {"text": title, "font": {"size": 14}, "x": 0},
        "xaxis": axis,
        "yaxis": axis | {"range": [len(shades) - 0.5, -0.5]},
    }
    return go.Figure([trace], made, _validate=False)


def _cells(
    tokens: Sequence[str], values: np.ndarray, hints: Sequence[str]
) -> tuple[list[list[float | None]], list[list[str]], list[list[str]]]:
    """Numbers, writing and hints, each in rows of `COLUMNS`."""
    num_rows = -(-len(tokens) // COLUMNS)
    shades: list[list[float | None]] = [[None] * COLUMNS for _ in range(num_rows)]
    texts = [[""] * COLUMNS for _ in range(num_rows)]
    said = [[""] * COLUMNS for _ in range(num_rows)]
    for index, (token, value) in enumerate(zip(tokens, values, strict=True)):
        row, column = divmod(index, COLUMNS)
        is_known = not np.isnan(value)
        # A place without a number still has its word.
        shades[row][column] = float(value) if is_known else 0.0
        texts[row][column] = label(token) + (f"<br>{value:.1f}" if is_known else "")
        said[row][column] = label(token) + "<br>" + escaped(hints[index])
    return shades, texts, said
