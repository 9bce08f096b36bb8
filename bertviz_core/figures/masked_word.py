"""Figures of masked-word prediction: arrays in, a plotly figure out.

Bars lie on their side, so that words of any script stand upright and have room.
Colours come from the theme around the figure; hatching, symbols and written
numbers say the same without colour.

M is the number of words shown, most likely first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.sampling import count_interval
from bertviz_core.figures.labels import escaped, label

_ROW_HEIGHT = 26  # pixels; a line of text fits
_PAIR_HEIGHT = 42  # pixels; two lines of text fit
# Bars and whiskers stand one above the other: over a bar a whisker would drown.
_BESIDE = 0.2  # of a row
_FRAME_HEIGHT = 64  # pixels; the axis and its title
_LEGEND_HEIGHT = 32  # pixels


@dataclass(frozen=True)
class FigureWords:
    """What the figures say, in the reader's language."""

    probability: str = "probability"
    share: str = "share of the draws"
    logit: str = "logit"
    before: str = "before"
    after: str = "after"
    left_out: str = "left out"
    drawn: str = "drawn"
    expected: str = "expected, with 95% range"
    others: str = "all other words"


ENGLISH = FigureWords()


def candidates_figure(
    tokens: Sequence[str],
    probs: np.ndarray,
    logits: np.ndarray,
    words: FigureWords = ENGLISH,
    ranks: Sequence[int] | None = None,
) -> go.Figure:
    """Draws the most likely words at one mask, each with rank and probability.

    Args:
        tokens: M word pieces, the likeliest first; repeats are allowed.
        probs: float `[M]`, in [0, 1].
        logits: float `[M]`, before softmax.
        words: the texts on the figure.
        ranks: M places; `None` counts from 1.

    Raises:
        ValueError: the three do not have one length.
    """
    _require_rows(tokens, probs, logits)
    labels = _ranked_labels(tokens, ranks)
    bar = {
        **_bars(probs, np.arange(len(tokens)), [percent(p) for p in probs]),
        "customdata": _columns(labels, logits),
        "hovertemplate": "%{customdata[0]}<br>"
        f"{escaped(words.probability)} %{{x:.6f}}<br>"
        f"{escaped(words.logit)} %{{customdata[1]:.3f}}<extra></extra>",
    }
    layout = _layout(labels, float(probs.max()), words.probability, _ROW_HEIGHT, 8)
    return _figure([bar], layout)


def distribution_figure(
    tokens: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    words: FigureWords = ENGLISH,
) -> go.Figure:
    """Draws the model's distribution and the one that is drawn from on one axis.

    The last row takes what the words shown leave of the sum 1.

    Args:
        tokens: M word pieces, rank 1 first.
        before: float `[M]`, probabilities at temperature 1.
        after: float `[M]`, after temperature, top-k and top-p; 0 for a word
            that was left out.
        words: the texts on the figure.

    Raises:
        ValueError: the three do not have one length.
    """
    _require_rows(tokens, before, after)
    before, after = _with_rest(before, 1.0), _with_rest(after, 1.0)
    labels = [*_ranked_labels(tokens), escaped(words.others)]
    said = {
        words.before: [percent(value) for value in before],
        words.after: [percent(v) if v else words.left_out for v in after],
    }
    bars = [
        {
            **_bars(values, np.arange(len(labels)), said[name]),
            "name": name,
            "marker": {"pattern": {"shape": shape, "fillmode": "replace", "size": 5}},
            "customdata": _columns(labels),
            "hovertemplate": "%{customdata[0]}<br>"
            f"{escaped(name)} %{{x:.6f}}<extra></extra>",
        }
        for name, values, shape in (
            (words.before, before, "/"),
            (words.after, after, ""),
        )
    ]
    top = max(float(before.max()), float(after.max()))
    layout = _layout(labels, top, words.probability, _PAIR_HEIGHT, _LEGEND_HEIGHT)
    return _figure(bars, layout)


def draws_figure(
    tokens: Sequence[str],
    counts: np.ndarray,
    probs: np.ndarray,
    num_draws: int,
    words: FigureWords = ENGLISH,
) -> go.Figure:
    """Draws how often words came up against how often they should.

    A bar is the share that was drawn. A diamond is the probability, its whiskers
    the range that holds at least 95 of 100 experiments of this size, for one
    word at a time. The last row takes all other words together.

    Args:
        tokens: M word pieces, rank 1 first.
        counts: int `[M]`, how often each was drawn.
        probs: float `[M]`, what they were drawn with.
        num_draws: all draws, those of other words included; at least 1.
        words: the texts on the figure.

    Raises:
        ValueError: the three do not have one length.
    """
    _require_rows(tokens, counts, probs)
    counts = _with_rest(counts, num_draws)
    probs = _with_rest(probs, 1.0)
    labels = [*_ranked_labels(tokens), escaped(words.others)]
    rows = np.arange(len(labels))
    low, high = count_interval(probs, num_draws)
    drawn = {
        **_bars(counts / num_draws, rows - _BESIDE, [f"{int(c)}" for c in counts]),
        "name": words.drawn,
        "width": 2 * _BESIDE,
        "customdata": _columns(labels, counts),
        "hovertemplate": "%{customdata[0]}<br>"
        f"{escaped(words.drawn)} %{{customdata[1]}} / {num_draws}<extra></extra>",
    }
    expected = {
        "type": "scatter",
        "name": words.expected,
        "x": probs,
        "y": rows + _BESIDE,
        "mode": "markers",
        "cliponaxis": False,
        "marker": {"symbol": "diamond-open", "size": 10, "line": {"width": 2}},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": high / num_draws - probs,
            "arrayminus": probs - low / num_draws,
            "thickness": 2,
            "width": 5,
        },
        "customdata": _columns(labels, low, high),
        "hovertemplate": "%{customdata[0]}<br>"
        f"{escaped(words.probability)} %{{x:.6f}}<br>"
        "%{customdata[1]} – %{customdata[2]}<extra></extra>",
    }
    top = max(float(counts.max()), float(high.max())) / num_draws
    layout = _layout(labels, top, words.share, _PAIR_HEIGHT, _LEGEND_HEIGHT)
    return _figure([drawn, expected], layout)


def percent(probability: float) -> str:
    """Writes a probability for a reader: three digits, 0 and 100 only if exact.

    Args:
        probability: in [0, 1].
    """
    if probability in (0, 1):
        return f"{probability:.0%}"
    if 0 < probability < 5e-5:
        return "<0.01%"
    if 0.9995 <= probability < 1:
        return ">99.9%"
    value = 100 * probability
    digits = 1 if value >= 9.995 else 2
    return f"{value:.{digits}f}%"


def _ranked_labels(
    tokens: Sequence[str], ranks: Sequence[int] | None = None
) -> list[str]:
    places = range(1, len(tokens) + 1) if ranks is None else ranks
    return [f"{label(t)}  {rank}" for t, rank in zip(tokens, places, strict=True)]


def _with_rest(values: np.ndarray, total: float) -> np.ndarray:
    """Appends what is missing to the total; rounding never makes it negative."""
    rest = total - values.sum()
    return np.append(values, rest if rest > 1e-9 else 0)


def _columns(*columns: Sequence[object] | np.ndarray) -> list[list[object]]:
    """Rows of plain values: an object array would be sent as text."""
    plain = [
        column.tolist() if isinstance(column, np.ndarray) else list(column)
        for column in columns
    ]
    return [list(row) for row in zip(*plain, strict=True)]


def _bars(values: np.ndarray, rows: np.ndarray, said: list[str]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": rows,
        "text": said,
        "textposition": "outside",
        "cliponaxis": False,
    }


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """Leaves out plotly's checks of every value, half of the work; a test does them."""
    return go.Figure(traces, layout, _validate=False)


def _layout(
    labels: Sequence[str], top: float, title: str, row_height: int, above: int
) -> dict[str, Any]:
    """A layout as plain values: `update_layout` and its kin take five times as long.

    Args:
        labels: of the rows.
        top: the largest value.
        title: of the axis of values.
        row_height: pixels.
        above: pixels, for the legend.
    """
    return {
        "height": _FRAME_HEIGHT + above + row_height * len(labels),
        "margin": {"l": 0, "r": 8, "t": above, "b": 0},
        "bargap": 0.25,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {
            "title": {"text": title},
            # Room for the number behind the longest bar.
            "range": [0, min(top, 1.0) * 1.2],
            "tickformat": ".0~%",
            "fixedrange": True,
        },
        "yaxis": {
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "range": [len(labels) - 0.4, -0.6],
            "automargin": True,
            "fixedrange": True,
        },
    }


def _require_rows(tokens: Sequence[str], *columns: np.ndarray) -> None:
    if not tokens or any(column.shape != (len(tokens),) for column in columns):
        raise ValueError(
            f"Every array must have one value for each of the {len(tokens)} tokens, "
            f"of which there must be one. "
            f"Received: shapes={[column.shape for column in columns]}."
        )
