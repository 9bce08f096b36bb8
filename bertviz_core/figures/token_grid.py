"""A text as a grid of tokens, each on a shade that says how large its number is."""

import unicodedata
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.color_scales import PAPER
from bertviz_core.figures.labels import escaped, label

COLUMNS = 8  # fewer where a token is longer than a phone has room for
_FEWEST = 5
# Pixels; of a phone of 390, what is left of it for a figure, and of a letter there.
_PHONE, _GAP, _SIZE, _LETTER = 356, 2, 12, 7.4
_SMALLEST = 9  # pixels; of the letters of the longest tokens
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
        "textfont": {"color": "#111111", "size": _SIZE},
        "customdata": said,
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": PAPER,
        "zmin": 0.0,
        "zmax": top,
        "xgap": _GAP,
        "ygap": _GAP,
        "showscale": False,  # each cell says its number
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
    """Numbers, writing and hints, each in rows."""
    fitting = _PHONE // (_LETTER * max(map(_width, tokens)) + _GAP)
    columns = int(min(max(fitting, _FEWEST), COLUMNS))
    room = _PHONE / columns - _GAP
    num_rows = -(-len(tokens) // columns)
    shades: list[list[float | None]] = [[None] * columns for _ in range(num_rows)]
    texts = [[""] * columns for _ in range(num_rows)]
    said = [[""] * columns for _ in range(num_rows)]
    for index, (token, value) in enumerate(zip(tokens, values, strict=True)):
        row, column = divmod(index, columns)
        is_known = not np.isnan(value)
        # A place without a number still has its word.
        shades[row][column] = float(value) if is_known else 0.0
        written = _written(token, room) + (f"<br>{value:.1f}" if is_known else "")
        texts[row][column] = written
        said[row][column] = label(token) + "<br>" + escaped(hints[index])
    return shades, texts, said


def _written(token: str, room: float) -> str:
    """A token in smaller letters where it is wider than its cell, in pixels."""
    size = int(_SIZE * room / (_LETTER * _width(token)))
    if size >= _SIZE:
        return label(token)
    return f'<span style="font-size:{max(size, _SMALLEST)}px">{label(token)}</span>'


def _width(token: str) -> int:
    """In letters; a Chinese character takes two."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in token) or 1
