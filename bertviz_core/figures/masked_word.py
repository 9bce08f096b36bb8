"""Figures of masked-word prediction: arrays in, a plotly figure out.

Bars lie on their side, so that words of any script stand upright and have room.
Colours come from the theme around the figure; hatching, symbols and written
numbers say the same without colour.

M is the number of words shown, most likely first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.analysis.sampling import count_interval
from bertviz_core.figures.drawing import dots, figure, layout, line
from bertviz_core.figures.labels import Words, escaped, label

_ROW_HEIGHT = 20  # pixels; a line of text fits
# Bars and whiskers stand one above the other: over a bar a whisker would drown. These
# lanes are as thin as ten words on a laptop need them; pixels.
_BAR_LANE, _MARKS_LANE = 10, 6
_THIN_FONT = 10  # pixels, of the numbers behind two bars
_FILLED = 0.85  # of a row
_FRAME_HEIGHT = 64  # pixels; the axis and its title
_LEGEND_HEIGHT = 32  # pixels


def candidates_figure(
    tokens: Sequence[str],
    probs: np.ndarray,
    logits: np.ndarray,
    words: Words,
    ranks: Sequence[int] | None = None,
    after: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> go.Figure:
    """Draws the most likely words at one mask, each with rank and probability.

    What is drawn by chance lies below the bar of what it is drawn with: a diamond is
    the share that was drawn, the whiskers hold at least 95 of 100 experiments of this
    size, for one word at a time.

    Args:
        tokens: M word pieces, the likeliest first; repeats are allowed.
        probs: float `[M]`, in [0, 1]; or `[M + 1]`, the last of all other words.
        logits: float `[M]`, before softmax.
        ranks: M places; `None` counts from 1.
        after: like `probs`, after temperature, top-k and top-p; 0 for a word that was
            left out. `None` draws `probs` alone.
        counts: like `probs`, how often each was drawn with `after`, or else with
            `probs`; with those of all other words, as their sum is all draws.
    """
    places = range(1, len(tokens) + 1) if ranks is None else ranks
    labels = [f"{label(t)}  {rank}" for t, rank in zip(tokens, places, strict=True)]
    if len(probs) == len(tokens) + 1:
        labels.append(escaped(words("others")))
    bars = {words("probability"): probs}
    if after is not None:
        bars = {words("before"): probs, words("after"): after}
    sizes = np.array([_BAR_LANE] * len(bars) + [_MARKS_LANE] * (counts is not None))
    height = max(_ROW_HEIGHT, int(sizes.sum() / _FILLED))
    sizes = sizes * (_FILLED / sizes.sum())  # in rows
    lanes = np.cumsum(sizes) - sizes / 2 - sizes.sum() / 2
    said = [f"{escaped(words('logit'))} {logit:.3f}" for logit in logits]
    said += [""] * (len(labels) - len(tokens))
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": values,
            "y": np.arange(len(labels)) + lane,
            "width": sizes[0],
            "text": [
                percent(value) if value or name != words("after") else words("left_out")
                for value in values
            ],
            "textposition": "outside",
            "textfont": {"size": _THIN_FONT} if after is not None else {},
            "cliponaxis": False,
            "marker": {"pattern": {"shape": shape, "fillmode": "overlay", "size": 5}},
            "customdata": _columns(labels, said),
            "hovertemplate": "%{customdata[0]}<br>"
            f"{escaped(name)} %{{x:.6f}}<br>%{{customdata[1]}}<extra></extra>",
        }
        for (name, values), lane, shape in zip(
            bars.items(), lanes, ("/", "")[-len(bars) :], strict=False
        )
    ]
    top = max(float(values.max()) for values in bars.values())
    if counts is not None:
        traces += _draws(labels, [*bars.values()][-1], counts, lanes[-1], words)
        top = max(top, *(float(np.nanmax(mark["x"])) for mark in traces[-2:]))
    legend = _LEGEND_HEIGHT if len(traces) > 1 else 8
    total = _FRAME_HEIGHT + legend + height * len(labels)
    made = layout(words("probability"), "", rows=labels, height=total)
    made["margin"] |= {"t": legend}
    made["legend"] |= {"y": 1}
    # Room for the number behind the longest bar.
    made["xaxis"] |= {"range": [0, min(top, 1.0) * 1.2], **share_axis(top)}
    made["showlegend"] = len(traces) > 1
    return figure(traces, made | {"barmode": "overlay"})


def _draws(
    labels: Sequence[str],
    probs: np.ndarray,
    counts: np.ndarray,
    lane: float,
    words: Words,
) -> list[dict[str, Any]]:
    """Whiskers of what is to be expected, and diamonds of what was drawn."""
    num_draws = int(counts.sum())
    low, high = (ends / num_draws for ends in count_interval(probs, num_draws))
    rows = np.arange(len(labels)) + lane
    # A line from end to end of each row; the gaps are points without a value.
    ends = np.stack([low, high, np.full(len(low), np.nan)], axis=1).ravel()
    return [
        {
            **dots(ends, np.repeat(rows, 3), symbol="line-ns-open", size=7),
            "mode": "lines+markers",
            "name": words("expected"),
            "cliponaxis": False,
            "hoverinfo": "skip",
        },
        {
            **dots(counts / num_draws, rows, symbol="diamond", size=7),
            "name": words("drawn"),
            "cliponaxis": False,
            "customdata": _columns(labels, counts),
            "hovertemplate": f"%{{customdata[0]}}<br>{escaped(words('drawn'))} "
            f"%{{customdata[1]}} / {num_draws}<extra></extra>",
        },
    ]


def percent(probability: float) -> str:
    """Writes a probability for a reader: three digits, 0 and 100 only if exact."""
    if probability in (0, 1):
        return f"{probability:.0%}"
    if 0 < probability < 5e-5:
        return "<0.01%"
    if 0.9995 <= probability < 1:
        return ">99.9%"
    value = 100 * probability
    digits = 1 if value >= 9.995 else 2
    return f"{value:.{digits}f}%"


def share_axis(top: float) -> dict[str, Any]:
    """Percentages below bars, none of them beyond 100 where no bar is: `top` is 1."""
    if not 0.8 < top <= 1:
        return {"tickformat": ".3~p"}
    # Plotly writes values that are given as it does under the pointer, not as ticks.
    fifths = [0, 20, 40, 60, 80, 100]
    names = [f"{number}%" for number in fifths]
    return {"tickvals": [number / 100 for number in fifths], "ticktext": names}


def _columns(*columns: Sequence[object] | np.ndarray) -> list[list[object]]:
    """Rows of plain values: an object array would be sent as text."""
    plain = [
        column.tolist() if isinstance(column, np.ndarray) else list(column)
        for column in columns
    ]
    return [list(row) for row in zip(*plain, strict=True)]


def chain_figure(
    steps: np.ndarray,
    change_rates: np.ndarray,
    entropies: np.ndarray,
    burn_in: int,
    *,
    x_title: str,
    changed: str,
    entropy: str,
    burn_in_name: str,
) -> go.Figure:
    """Draws how much a chain changes, and how free it was, step by step.

    Args:
        change_rates: float `[S]`, share of changed words around each step, from 1.
        entropies: float `[S]`, bits, likewise.
        burn_in: first steps that are not counted; shaded.
        changed, entropy, burn_in_name: names of both lines, and of the shade.
    """
    traces = [
        {**line(steps, change_rates), "name": changed},
        {**line(steps, entropies, "dot"), "name": entropy, "yaxis": "y2"},
    ]
    made = layout(x_title, changed)
    made["yaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    made["yaxis2"] = {
        "title": {"text": entropy},
        "overlaying": "y",
        "side": "right",
        "showgrid": False,
        "rangemode": "tozero",
        "tickformat": ".1f",
        "fixedrange": True,
        "automargin": True,
    }
    made["shapes"], made["annotations"] = _burn_in(
        burn_in, int(steps[-1]), burn_in_name
    )
    return figure(traces, made)


def _burn_in(
    burn_in: int, num_steps: int, name: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    end = min(burn_in, num_steps)
    if not end:
        return [], []
    shade = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    shade |= {"x0": 0.5, "x1": end + 0.5, "fillcolor": "#888888", "opacity": 0.15}
    note = {"xref": "x", "yref": "paper", "x": 0.5 + end / 2, "y": 1, "text": name}
    note |= {"showarrow": False, "yanchor": "top"}
    return [shade | {"line": {"width": 0}}], [note]
