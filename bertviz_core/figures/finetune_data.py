"""Figures of a table of examples: how many of each class, how long the texts are.

Colours come from the theme around the figure; hatching and written numbers say the
same without colour.

C classes, B bars.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import figure, layout, upright
from bertviz_core.figures.labels import Words, label

MAX_BARS = 40
_ROW_HEIGHT = 28  # pixels; a line of text fits
_FRAME_HEIGHT = 90  # pixels
_HATCHED = {"shape": "/", "fillmode": "replace", "size": 6}
_DOTTED = {"shape": ".", "fillmode": "replace", "size": 6}
_PATTERNS: tuple[dict[str, Any], ...] = ({"shape": ""}, _HATCHED, _DOTTED)


def balance_figure(
    names: Sequence[str], parts: Sequence[np.ndarray], words: Words
) -> go.Figure:
    """Draws how many rows each class has to train, for validation and to test on."""
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": counts.tolist(),
            "y": list(range(len(names))),
            # Letters on a pattern could not be read: the last part's stand beside it.
            "text": [
                str(count) if count and pattern is not _HATCHED else ""
                for count in counts.tolist()
            ],
            "textposition": "outside" if pattern is _DOTTED else "inside",
            "cliponaxis": False,
            "marker": {"pattern": pattern},
            "customdata": [label(one) for one in names],
            "hovertemplate": f"%{{customdata}}<br>{label(name)} %{{x}}<extra></extra>",
        }
        for name, counts, pattern in _sides(parts, words)
    ]
    height = _FRAME_HEIGHT + _ROW_HEIGHT * len(names)
    made = layout(words("rows"), "", rows=[*map(label, names)], height=height)
    made["barmode"] = "stack"
    longest = float(np.sum(parts, axis=0).max(initial=1))
    made["xaxis"] |= {"range": [0, 1.08 * longest]}
    return figure(bars, made)


def lengths_figure(
    num_tokens: np.ndarray,
    num_rows: np.ndarray,
    max_tokens: int,
    longest_shown: int,
    words: Words,
) -> go.Figure:
    """Draws how many texts have which length, those that a maximum cuts apart.

    Args:
        num_tokens: int `[U]`, lengths that occur, ascending, U at least 1.
        num_rows: int `[U]`, texts of each length.
        max_tokens: a longer text loses its end.
        longest_shown: longer texts share the last of at most `MAX_BARS` bars.
    """
    least, longest = int(num_tokens[0]), int(num_tokens[-1])
    top = max(least, min(longest, longest_shown))
    width = math.ceil((top - least + 1) / MAX_BARS)
    num_bars = (top - least) // width + 1
    starts = least + width * np.arange(num_bars)
    names = [
        str(start) if width == 1 else f"{start}–{start + width - 1}"
        for start in starts.tolist()
    ]
    if longest >= least + width * num_bars:
        names[-1] = words("more").format(count=starts[-1])
    place = np.minimum((num_tokens - least) // width, num_bars - 1)
    is_cut = num_tokens > max_tokens
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": (starts + (width - 1) / 2).tolist(),
            "y": np.bincount(place[chosen], num_rows[chosen], num_bars).tolist(),
            "width": width * 0.94,
            "marker": {"pattern": pattern},
            "customdata": names,
            "hovertemplate": f"%{{customdata}} {label(words('tokens'))}<br>"
            f"{label(name)} %{{y}}<extra></extra>",
        }
        for name, chosen, pattern in (
            (words("whole"), ~is_cut, {"shape": ""}),
            (words("cut"), is_cut, _HATCHED),
        )
    ]
    most = upright(max_tokens + 0.5)
    made = layout(
        words("tokens"), words("rows"), lines=(most,), height=320, hovermode="closest"
    )
    made["barmode"] = "stack"
    end = int(starts[-1]) + width
    made["xaxis"] |= {
        "range": [min(least - 1, max_tokens - 1), max(end, max_tokens + 2)],
        "zeroline": False,
    }
    made["annotations"] = [_written(max_tokens, words)]
    return figure(traces, made)


def numbers_figure(
    edges: np.ndarray, parts: Sequence[np.ndarray], name: str, words: Words
) -> go.Figure:
    """Draws how often numbers to predict occur in each part of the split.

    Args:
        edges: float `[B + 1]`, bounds of the bars, of one width.
        parts: int `[B]` each, see `balance_figure`.
        name: of the label's column.
    """
    ranges = [f"{low:.4g} – {high:.4g}" for low, high in itertools.pairwise(edges)]
    bars = [
        {
            "type": "bar",
            "name": side,
            "x": ((edges[:-1] + edges[1:]) / 2).tolist(),
            "y": counts.tolist(),
            "width": float(edges[1] - edges[0]) * 0.94,
            "marker": {"pattern": pattern},
            "customdata": ranges,
            "hovertemplate": f"%{{customdata}}<br>{label(side)} %{{y}}<extra></extra>",
        }
        for side, counts, pattern in _sides(parts, words)
    ]
    made = layout(label(name), words("rows"), height=320, hovermode="closest")
    return figure(bars, made | {"barmode": "stack"})


def _sides(
    parts: Sequence[np.ndarray], words: Words
) -> Iterator[tuple[str, np.ndarray, dict[str, Any]]]:
    """The parts that have rows, each with its name and its pattern."""
    names = (words("train"), words("check"), words("test"))
    for name, counts, pattern in zip(names, parts, _PATTERNS, strict=True):
        if counts.any():
            yield name, counts, pattern


def _written(max_tokens: int, words: Words) -> dict[str, Any]:
    """The name of the line, beside its top."""
    return {
        "x": max_tokens + 0.5,
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "xanchor": "right",
        "text": f"{label(words('maximum'))} {max_tokens} ",
        "showarrow": False,
    }
