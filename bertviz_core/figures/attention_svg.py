"""One head, or several put together, as SVG: the heatmap and the lines.

T tokens. Rows look, columns are looked at. Below each picture stands what it shows.
"""

from __future__ import annotations

import numpy as np

from bertviz_core.figures.attention_colors import (
    DIVERGING,
    color_name,
    head_style,
    on_scale,
    svg_legend,
)
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.svg import (
    INK,
    svg_column_name,
    svg_document,
    svg_line,
    svg_text,
)

_LEVELS = 64  # colours in a heatmap
_MOST_LINES = 1500
_CELL, _NAME, _ROW, _SPAN = 18, 96, 20, 240  # pixels
CAPTION_LINE, LEAST_WIDTH = 18, 460
_DASHED = 'stroke-dasharray="5 3"'
_BRACKET = 'stroke-width="2"'


def heatmap_svg(view: AttentionView) -> str:
    """Draws the shown matrix as a picture; cells of one colour share one path."""
    side = len(view.tokens) * _CELL
    parts = [_heat_cells(view)]
    for index, label in enumerate(view.labels):
        middle = _NAME + (index + 0.5) * _CELL
        parts.append(svg_text(label, _NAME - 8, middle, "end"))
        parts.append(svg_column_name(label, middle, _NAME - 8))
    for start, size in view.spans:
        first, last = _NAME + start * _CELL + 2, _NAME + (start + size) * _CELL - 2
        parts.append(svg_line(_NAME - 3, first, _NAME - 3, last, _BRACKET))
        parts.append(svg_line(first, _NAME - 3, last, _NAME - 3, _BRACKET))
    for border in (np.flatnonzero(np.diff(view.segments)) + 1).tolist():
        place, end = _NAME + border * _CELL, _NAME + side
        parts.append(svg_line(_NAME, place, end, place, _DASHED))
        parts.append(svg_line(place, _NAME, place, end, _DASHED))
    parts += _locked_frames(view)
    title = view.words["heat_title"].format(name=view.name)
    bottom = _NAME + side + 18
    parts.append(svg_legend(view, bottom, view.measured.unit, view.top))
    said = [title, *view.measured.filters, *_locked(view, view.name)]
    parts += caption(said, bottom + 44)
    height = bottom + 44 + len(said) * CAPTION_LINE
    return svg_document(max(_NAME + side + 4, LEAST_WIDTH), height, title, parts)


def lines_svg(view: AttentionView) -> str:
    """Draws the lines of the shown heads, standing or lying as the view says.

    Lines from the threshold up, at most the 1500 strongest; of a locked token its own
    alone, of a locked cell the one, however weak. Heads other than the shown one have
    the lines of `view.links`.
    """
    length, far = len(view.tokens) * _ROW, _NAME + _SPAN
    parts = [_line(view, *link) for link in _lines_to_draw(view)]
    parts += _token_names(view)
    parts += _word_bars(view)
    for border in (np.flatnonzero(np.diff(view.segments)) + 1).tolist():
        place, end = border * _ROW, far + _NAME
        corners = (place, 0, place, end) if view.is_lying else (0, place, end, place)
        parts.append(svg_line(*corners, _DASHED))
    across = far + _NAME
    width, height = (length, across) if view.is_lying else (across, length)
    name = view.name
    if view.heads:
        words = view.words
        numbers = words["list_comma"].join(str(head + 1) for head in view.heads)
        name = (
            words["shown_head"].format(layer=view.layer + 1, head=numbers)
            if len(view.heads) == 1
            else words["shown_heads"].format(layer=view.layer + 1, heads=numbers)
        )
    title = view.words["lines_title"].format(name=name)
    least = f"{view.threshold * view.top:.3f} {view.measured.unit}"
    from_on = view.words["threshold"].format(threshold=least)
    said = [title, from_on, *view.measured.filters, *_locked(view, name)]
    parts += caption(said, height + 16)
    height += 16 + len(said) * CAPTION_LINE
    if view.heads:
        parts += _head_colors(view, height)
        height += len(view.heads) * CAPTION_LINE
    return svg_document(max(width, LEAST_WIDTH), height, title, parts)


def caption(lines: list[str], y: float) -> list[str]:
    """Lines of text below each other at the left.

    Args:
        lines: plain text.
        y: of the first line's middle, in pixels.
    """
    return [
        svg_text(line, 12, y + index * CAPTION_LINE) for index, line in enumerate(lines)
    ]


def _locked_frames(view: AttentionView) -> list[str]:
    """Around the locked row and the locked column."""
    side = len(view.tokens) * _CELL
    boxes = []
    if view.from_token is not None:
        boxes.append((_NAME, _NAME + view.from_token * _CELL, side, _CELL))
    if view.to_token is not None:
        boxes.append((_NAME + view.to_token * _CELL, _NAME, _CELL, side))
    return [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" '
        f'stroke="{INK}" stroke-width="1.5"/>'
        for x, y, width, height in boxes
    ]


def _locked(view: AttentionView, name: str) -> list[str]:
    """What is locked, as on the screen."""
    places = (view.from_token, view.to_token)
    if places == (None, None):
        return []
    labels = [
        view.words["every_token"] if place is None else view.labels[place]
        for place in places
    ]
    said = view.words["token_in_focus"]
    return [said.format(**{"from": labels[0], "to": labels[1], "name": name})]


def _token_names(view: AttentionView) -> list[str]:
    far = _NAME + _SPAN
    parts = []
    for index, label in enumerate(view.labels):
        middle = (index + 0.5) * _ROW
        if view.is_lying:
            parts.append(svg_column_name(label, middle, _NAME - 6))
            parts.append(svg_column_name(label, middle, far + 6, below=True))
        else:
            parts.append(svg_text(label, _NAME - 6, middle, "end"))
            parts.append(svg_text(label, far + 6, middle))
    return parts


def _word_bars(view: AttentionView) -> list[str]:
    """Pieces of one word stand behind one bar, on both sides of the lines."""
    bars = []
    for start, size in view.spans:
        first, last = start * _ROW + 2, (start + size) * _ROW - 2
        for across in (_NAME - 3, _NAME + _SPAN + 3):
            corners = (across, first, across, last)
            if view.is_lying:
                corners = (first, across, last, across)
            bars.append(svg_line(*corners, _BRACKET))
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


def _lines_to_draw(view: AttentionView) -> list[tuple[int, int, int, float]]:
    """Head, row, column, weight; weakest first, so that strong lines lie on top."""
    found = []
    for head in view.shown_heads:
        if head == view.head:
            rows, columns = np.indices(view.matrix.shape).reshape(2, -1)
            weights = view.matrix.ravel()
        elif view.links is not None:
            targets = view.links.targets[head]
            rows = np.repeat(np.arange(len(targets)), targets.shape[1])
            columns, weights = targets.ravel(), view.links.weights[head].ravel()
        else:
            continue
        kept = _is_drawn(view, rows, columns, weights)
        found += [
            (head, int(row), int(column), float(weight))
            for row, column, weight in zip(
                rows[kept], columns[kept], weights[kept], strict=True
            )
        ]
    return sorted(found, key=lambda link: abs(link[3]))[-_MOST_LINES:]


def _is_drawn(
    view: AttentionView, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    is_cell = view.from_token is not None and view.to_token is not None
    least = 0.0 if is_cell else view.threshold * view.top
    kept = (weights != 0) & (np.abs(weights) >= least)
    if view.from_token is not None:
        kept &= rows == view.from_token
    if view.to_token is not None:
        kept &= columns == view.to_token
    return np.asarray(kept)


def _line(view: AttentionView, head: int, row: int, column: int, weight: float) -> str:
    share = float(np.clip(weight / view.top, -1, 1))
    start, end = (row + 0.5) * _ROW, (column + 0.5) * _ROW
    near, far = _NAME, _NAME + _SPAN
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


def _heat_cells(view: AttentionView) -> str:
    top: float | np.ndarray = view.top
    if view.scale == "row":
        top = np.abs(view.matrix).max(axis=1, keepdims=True)
        top = np.where(top == 0, 1.0, top)
    levels = np.rint(on_scale(view.matrix, view.scale, top) * _LEVELS).astype(int)
    paths = []
    for level in np.unique(levels):
        cells = "".join(
            f"M{_NAME + column * _CELL} {_NAME + row * _CELL}h{_CELL}v{_CELL}h-{_CELL}z"
            for row, column in np.argwhere(levels == level).tolist()
        )
        color = color_name(level / _LEVELS, view.is_difference)
        paths.append(f'<path fill="{color}" d="{cells}"/>')
    return "".join(paths)
