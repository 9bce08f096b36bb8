"""A map of numbers, a coloured cell each: one value for every head, or place.

Colours come from palettes that colour-blind readers can tell apart; every cell says
its number under the pointer, and the strongest cells carry it in writing.

R rows, C columns.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.figures.color_scales import DIVERGING, SEQUENTIAL, SHARES
from bertviz_core.figures.column_names import LINE, name_columns
from bertviz_core.figures.drawing import figure, layout
from bertviz_core.figures.labels import escaped, label, shortened, with_minus

_ROW_HEIGHT = 26  # pixels
_LOW_ROW = 18  # pixels; where maps stand beside each other and cells are narrow
_LEAST_HEIGHT = 64  # pixels; of less, plotly takes from the names of the columns
_FRAME_HEIGHT = 120  # pixels; title, labels and title of the columns
_MOST_WRITTEN = 5  # cells that carry their number
_MOST_PAIRED = 12  # of the same things on both sides: so many have room for all numbers
_LONGEST_WORD = 8  # letters in a cell
# Light enough at both ends for black letters, and lightness alone tells it.
_PAPER = [[0.0, "#ffffff"], [1.0, "#7fb3d5"]]
_WIDEST = 24  # columns; in narrower cells no number fits
_THIRD = 22  # letters, where maps stand beside each other
_TITLE_HEIGHT = 22  # pixels; of a Chinese title of the rows, which lies above the map
_SCALE_HEIGHT = 72  # pixels; of a scale above the map, with its numbers and its name
_EDGE = 10  # pixels; plotly hides a name that the right edge would cut


def value_map_figure(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    row_title: str,
    column_title: str,
    is_signed: bool,
    digits: int = 4,
    is_paired: bool = False,
    marks: Sequence[Sequence[str]] | None = None,
    words: Sequence[Sequence[str]] | None = None,
    top: float | None = None,
    unit: str = "",
    has_scale: bool = True,
) -> go.Figure:
    """Draws a map.

    Args:
        values: float `[R, C]`; NaN leaves a cell empty.
        rows: R labels, the first one on top.
        columns: C labels.
        is_signed: has 0 in the middle of the scale and one hue on each side.
        digits: of the numbers under the pointer; 0 writes none into the cells.
        is_paired: rows and columns are the same things, and the values of each pair
            stand twice. Up to `_MOST_PAIRED` of them, every cell says its number;
            beyond, the strongest pairs do, once, and no thing with itself.
        marks: R times C signs to stand in the cells in place of numbers.
        words: R times C words to stand in the cells, whose values are shares then. Long
            ones are cut; the pointer is told all of them.
        top: where the scale ends, for maps of shares that stand beside each other:
            equal numbers have equal colours, those of attention. They follow the
            square root of the number, or a mean of many heads would be as pale as
            nothing. `None`: the scale ends at the largest number.
        unit: what a number is; stands on the scale of such maps, behind the title.
        has_scale: draws the scale, which a map of yes and no has no use for.
    """
    row_labels = [label(name) for name in rows]
    column_labels = [label(name) for name in columns]
    trace = {
        "type": "heatmap",
        # A cell without a value is null in JSON.
        "z": [[None if np.isnan(v) else float(v) for v in row] for row in values],
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "text": _written(values, digits, is_paired) if marks is None else marks,
        "texttemplate": "%{text}",
        # Of many columns it would cover all of each on a phone.
        "xgap": int(len(columns) <= _WIDEST),
        "ygap": 1,
        "colorbar": {"thickness": 12, "nticks": 3 if len(rows) < 4 else 0},
        "showscale": has_scale,
        "customdata": [[f"{r} · {c}" for c in column_labels] for r in row_labels],
        "hovertemplate": f"%{{customdata}}<br>%{{z:.{digits}f}}<extra></extra>",
        **_colours(values, is_signed, top),
    }
    if words is not None:
        trace |= _in_words(words)
    row_height = _ROW_HEIGHT if top is None else _LOW_ROW
    height = _FRAME_HEIGHT + max(row_height * len(rows), _LEAST_HEIGHT)
    made = layout(column_title, row_title, rows=row_labels, height=height)
    name_columns(made, columns, LINE if top is None else _THIRD)
    made["margin"] |= {"r": 0, "t": 32}
    made["xaxis"] |= {"showgrid": False, "zeroline": False}
    made["yaxis"] |= {"range": [len(rows) - 0.5, -0.5], "showgrid": False}
    if top is None:
        made["title"] = {"text": title, "font": {"size": 14}, "x": 0}
    else:
        trace["colorbar"] |= _scale_above(title, unit, row_title, len(rows))
        made["margin"] |= {"t": _SCALE_HEIGHT, "r": _EDGE}
        made["height"] += _SCALE_HEIGHT
    return figure([trace], made)


def _in_words(words: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Of one size and in black, on paper that is darker where the share is larger."""
    return {
        "text": [
            [escaped(shortened(word, _LONGEST_WORD)) for word in row] for row in words
        ],
        "textfont": {"color": "#111111", "size": 12},
        "customdata": [[escaped(word) for word in row] for row in words],
        "colorscale": _PAPER,
        "zmin": 0.0,
        "zmax": 1.0,
    }


def _scale_above(
    title: str, unit: str, row_title: str, num_rows: int
) -> dict[str, Any]:
    """Lying above the map: beside others it has no width to lose."""
    # Where `upright_titles` lays the title of the rows, there is no room for it.
    gap = _TITLE_HEIGHT / (_LOW_ROW * num_rows) if is_cjk(row_title) else 0
    return {
        "title": {"text": f"<b>{title}</b> · {unit}", "side": "top"},
        "orientation": "h",
        "thickness": 10,
        "y": 1 + gap,
        "yanchor": "bottom",
    }


def _colours(
    values: np.ndarray, is_signed: bool, end: float | None = None
) -> dict[str, Any]:
    if end is not None:
        places = (np.linspace(0, 1, len(SHARES)) ** 2).tolist()
        blue = [list(pair) for pair in zip(places, SHARES, strict=True)]
        return {"colorscale": blue, "zmin": 0.0, "zmax": end}
    known = values[~np.isnan(values)]
    top = float(np.abs(known).max(initial=0.0)) or 1.0
    if is_signed:
        return {"colorscale": DIVERGING, "zmin": -top, "zmax": top}
    low = float(known.min(initial=0.0))
    return {"colorscale": SEQUENTIAL, "zmin": min(low, 0.0), "zmax": top}


def _written(values: np.ndarray, digits: int, is_paired: bool) -> list[list[str]]:
    """The strongest cells in figures, so that colour is not the only sign."""
    strength = np.nan_to_num(np.abs(values))
    most = _MOST_WRITTEN
    if is_paired and len(values) <= _MOST_PAIRED:
        most = values.size
    elif is_paired:
        strength = np.triu(strength, 1)
    order = np.argsort(-strength, axis=None, kind="stable")[:most]
    texts = np.full(values.shape, "", dtype=object)
    for index in order:
        if strength.flat[index] > 0 and digits and values.shape[1] <= _WIDEST:
            number = f"{values.flat[index]:.{min(digits, 2)}g}"
            texts.flat[index] = with_minus(number)
    return texts.tolist()
