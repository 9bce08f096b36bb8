"""The lines of one head, or of several, as SVG.

T tokens. Rows look, columns are looked at. Below the picture stands what it shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.figures.attention_colors import DIVERGING, head_style
from bertviz_core.figures.attention_svg import (
    BRACKET,
    CAPTION_LINE,
    DASHED,
    LEAST_WIDTH,
    NAME_GAP,
    caption,
    locked_said,
    name_room,
)
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.svg import (
    svg_column_name,
    svg_document,
    svg_line,
    svg_text,
)

_MOST_LINES = 1500
_ROW, _SPAN = 20, 240  # pixels


@dataclass(frozen=True)
class _Lines:
    """What is drawn of the lines that there are.

    Args:
        drawn: head, row, column, weight; weakest first, so that strong ones lie on top.
        total: how many there are.
        is_least: there may be more, which the view does not have.
    """

    drawn: list[tuple[int, int, int, float]]
    total: int
    is_least: bool


def lines_svg(view: AttentionView) -> str:
    """Draws the lines of the shown heads, standing or lying as the view says.

    Lines from the threshold up, at most the 1500 strongest; of a locked token its own
    alone, of a locked cell the one, however weak. Heads other than the shown one have
    the lines of `view.links`. How many of how many are drawn stands below.
    """
    lines = _find_lines(view)
    room = name_room(view.labels)
    near = room + NAME_GAP + 4
    length, across = len(view.tokens) * _ROW, 2 * near + _SPAN
    parts = [_line(view, near, *link) for link in lines.drawn]
    parts += _token_names(view, near, room)
    parts += _word_bars(view, near)
    for border in (np.flatnonzero(np.diff(view.segments)) + 1).tolist():
        place = border * _ROW
        if view.is_lying:
            parts.append(svg_line(place, 0, place, across, DASHED))
        else:
            parts.append(svg_line(0, place, across, place, DASHED))
    width, height = (length, across) if view.is_lying else (across, length)
    width = max(width, LEAST_WIDTH)
    name = _name(view)
    title = view.words["lines_title"].format(name=name)
    least = f"{view.threshold * view.top:.3f} {view.measured.unit}"
    from_on = view.words["threshold"].format(threshold=least)
    counted = _count(view, lines)
    said = [title, from_on, counted, *view.measured.filters, *locked_said(view, name)]
    texts, height = caption(said, height + 16, width)
    parts += texts
    if view.heads:
        parts += _head_colors(view, height)
        height += len(view.heads) * CAPTION_LINE
    return svg_document(width, height, title, parts)


def _name(view: AttentionView) -> str:
    """The head, several heads, or what was put together."""
    if not view.heads:
        return view.name
    words = view.words
    numbers = words["list_comma"].join(str(head + 1) for head in view.heads)
    if len(view.heads) == 1:
        return words["shown_head"].format(layer=view.layer + 1, head=numbers)
    return words["shown_heads"].format(layer=view.layer + 1, heads=numbers)


def _count(view: AttentionView, lines: _Lines) -> str:
    most = 0 if view.links is None else view.links.targets.shape[-1]
    said = view.words["lines_count_least" if lines.is_least else "lines_count"]
    return said.format(drawn=len(lines.drawn), total=lines.total, most=most)


def _find_lines(view: AttentionView) -> _Lines:
    found: list[tuple[int, int, int, float]] = []
    is_least = False
    for head in view.shown_heads:
        if head == view.head:
            rows, columns = np.indices(view.matrix.shape).reshape(2, -1)
            weights = view.matrix.ravel()
        elif view.links is not None:
            targets = view.links.targets[head]
            rows = np.repeat(np.arange(len(targets)), targets.shape[1])
            columns, weights = targets.ravel(), view.links.weights[head].ravel()
            is_least |= _may_have_more(view, targets, view.links.weights[head])
        else:
            continue
        kept = _is_drawn(view, rows, columns, weights)
        found += [
            (head, int(row), int(column), float(weight))
            for row, column, weight in zip(
                rows[kept], columns[kept], weights[kept], strict=True
            )
        ]
    drawn = sorted(found, key=lambda link: abs(link[3]))[-_MOST_LINES:]
    return _Lines(drawn, len(found), is_least)


def _may_have_more(
    view: AttentionView, targets: np.ndarray, weights: np.ndarray
) -> bool:
    """Whether links that are not among the strongest of a row could be drawn, too.

    Args:
        view: its threshold and its locked tokens.
        targets: int `[T, R]`, columns of the strongest.
        weights: float `[T, R]`, strongest first.
    """
    least = np.abs(weights[:, -1])
    is_open = (least > 0) & (least >= _threshold(view))
    if view.from_token is not None:
        is_open &= np.arange(len(targets)) == view.from_token
    if view.to_token is not None:
        is_open &= ~(targets == view.to_token).any(axis=1)
    return targets.shape[1] < len(view.tokens) and bool(is_open.any())


def _threshold(view: AttentionView) -> float:
    is_cell = view.from_token is not None and view.to_token is not None
    return 0.0 if is_cell else view.threshold * view.top


def _is_drawn(
    view: AttentionView, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    kept = (weights != 0) & (np.abs(weights) >= _threshold(view))
    if view.from_token is not None:
        kept &= rows == view.from_token
    if view.to_token is not None:
        kept &= columns == view.to_token
    return np.asarray(kept)


def _line(
    view: AttentionView, near: float, head: int, row: int, column: int, weight: float
) -> str:
    share = float(np.clip(weight / view.top, -1, 1))
    start, end = (row + 0.5) * _ROW, (column + 0.5) * _ROW
    far = near + _SPAN
    middle = (near + far) / 2
    points = [(near, start), (middle, start), (middle, end), (far, end)]
    if view.is_lying:
        points = [(y, x) for x, y in points]
    (a, b), *rest = points
    curve = " ".join(f"{x:g},{y:g}" for x, y in rest)
    color, dash = head_style(head)
    if share < 0:
        color, dash = DIVERGING[0], "2 3"
    elif len(view.shown_heads) == 1:
        dash = ""
    return (
        f'<path d="M{a:g},{b:g} C{curve}" fill="none" stroke="{color}"{_dash(dash)} '
        f'stroke-width="{0.6 + 3 * abs(share):.2f}" '
        f'stroke-opacity="{0.12 + 0.88 * abs(share) ** 0.5:.2f}"/>'
    )


def _dash(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _token_names(view: AttentionView, near: float, room: float) -> list[str]:
    before, behind = near - NAME_GAP, near + _SPAN + NAME_GAP
    parts = []
    for index, label in enumerate(view.labels):
        middle = (index + 0.5) * _ROW
        if view.is_lying:
            parts.append(svg_column_name(label, middle, before, room=room))
            parts.append(svg_column_name(label, middle, behind, below=True, room=room))
        else:
            parts.append(svg_text(label, before, middle, "end", room))
            parts.append(svg_text(label, behind, middle, room=room))
    return parts


def _word_bars(view: AttentionView, near: float) -> list[str]:
    """Pieces of one word stand behind one bar, on both sides of the lines."""
    bars = []
    for start, size in view.spans:
        first, last = start * _ROW + 2, (start + size) * _ROW - 2
        for across in (near - 3, near + _SPAN + 3):
            if view.is_lying:
                bars.append(svg_line(first, across, last, across, BRACKET))
            else:
                bars.append(svg_line(across, first, across, last, BRACKET))
    return bars


def _head_colors(view: AttentionView, y: float) -> list[str]:
    """A sample of each head's line, and its number."""
    parts = []
    for index, head in enumerate(view.heads):
        color, dash = head_style(head)
        place = y + index * CAPTION_LINE
        parts.append(
            f'<path d="M12 {place:g}h40" stroke="{color}" stroke-width="3"'
            f"{_dash(dash)}/>"
        )
        name = view.words["head_name"].format(layer=view.layer + 1, head=head + 1)
        parts.append(svg_text(name, 60, place))
    return parts
