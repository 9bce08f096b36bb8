"""One head, or several put together, as SVG: the heatmap.

T tokens. Rows look, columns are looked at. Below the picture stands what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertviz_core.figures.attention_colors import color_name, on_scale, svg_legend
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.svg import (
    INK,
    column_length,
    svg_column_name,
    svg_document,
    svg_line,
    svg_text,
    text_width,
    wrapped,
)

_LEVELS = 64  # colours in a heatmap
_CELL = 18  # pixels
CAPTION_LINE, LEAST_WIDTH = 18, 460
DASHED, BRACKET = 'stroke-dasharray="5 3"', 'stroke-width="2"'
NAME_GAP = 8  # between a name and what it names
_LEAST_NAMES, _MOST_NAMES = 84, 228  # room for names; longer ones are cut
_LEFT = 12  # of captions


def heatmap_svg(view: AttentionView) -> str:
    """Draws the shown matrix as a picture; cells of one colour share one path."""
    room = name_room(view.labels)
    start, side = room + NAME_GAP + 4, len(view.tokens) * _CELL
    parts = [_heat_cells(view, start), *_heat_names(view, start, room)]
    for first_row, size in view.spans:
        first = start + first_row * _CELL + 2
        last = start + (first_row + size) * _CELL - 2
        parts.append(svg_line(start - 3, first, start - 3, last, BRACKET))
        parts.append(svg_line(first, start - 3, last, start - 3, BRACKET))
    for border in (np.flatnonzero(np.diff(view.segments)) + 1).tolist():
        place, end = start + border * _CELL, start + side
        parts.append(svg_line(start, place, end, place, DASHED))
        parts.append(svg_line(place, start, place, end, DASHED))
    parts += _locked_frames(view, start)
    title = view.words["heat_title"].format(name=view.name)
    bottom, width = start + side + 18, max(start + side + 4, LEAST_WIDTH)
    parts.append(svg_legend(view, bottom, view.measured.unit, view.top))
    said = [title, *view.measured.filters, *locked_said(view, view.name)]
    texts, height = caption(said, bottom + 44, width)
    return svg_document(width, height, title, [*parts, *texts])


def name_room(labels: Sequence[str]) -> float:
    """Room for the longest name, beside the rows as above the columns, in pixels.

    Args:
        labels: of the tokens.
    """
    longest = max(max(text_width(name), column_length(name)) for name in labels)
    return float(np.clip(np.ceil(longest), _LEAST_NAMES, _MOST_NAMES))


def caption(said: Sequence[str], y: float, width: float) -> tuple[list[str], float]:
    """Lines of text below each other at the left; long ones take several.

    Args:
        said: plain text.
        y: of the first line's middle, in pixels.
        width: of the paper.

    Returns:
        Elements, and the middle of the line that would come next.
    """
    lines = [line for text in said for line in wrapped(text, width - 2 * _LEFT)]
    places = [y + index * CAPTION_LINE for index in range(len(lines) + 1)]
    texts = [
        svg_text(line, _LEFT, place)
        for line, place in zip(lines, places[:-1], strict=True)
    ]
    return texts, places[-1]


def _heat_names(view: AttentionView, start: float, room: float) -> list[str]:
    parts = []
    for index, label in enumerate(view.labels):
        middle = start + (index + 0.5) * _CELL
        near = start - NAME_GAP
        parts.append(svg_text(label, near, middle, "end", room))
        parts.append(svg_column_name(label, middle, near, room=room))
    return parts


def _locked_frames(view: AttentionView, start: float) -> list[str]:
    """Around the locked row and the locked column."""
    side = len(view.tokens) * _CELL
    boxes = []
    if view.from_token is not None:
        boxes.append((start, start + view.from_token * _CELL, side, _CELL))
    if view.to_token is not None:
        boxes.append((start + view.to_token * _CELL, start, _CELL, side))
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" fill="none" '
        f'stroke="{INK}" stroke-width="1.5"/>'
        for x, y, width, height in boxes
    ]


def locked_said(view: AttentionView, name: str) -> list[str]:
    """What is locked, as on the screen.

    Args:
        view: its locked tokens.
        name: what the picture shows.
    """
    places = (view.from_token, view.to_token)
    if places == (None, None):
        return []
    labels = [
        view.words["every_token"] if place is None else view.labels[place]
        for place in places
    ]
    said = view.words["token_in_focus"]
    return [said.format(**{"from": labels[0], "to": labels[1], "name": name})]


def _heat_cells(view: AttentionView, start: float) -> str:
    top: float | np.ndarray = view.top
    if view.scale == "row":
        top = np.abs(view.matrix).max(axis=1, keepdims=True)
        top = np.where(top == 0, 1.0, top)
    levels = np.rint(on_scale(view.matrix, view.scale, top) * _LEVELS).astype(int)
    paths = []
    for level in np.unique(levels):
        cells = "".join(
            f"M{start + column * _CELL:g} {start + row * _CELL:g}"
            f"h{_CELL}v{_CELL}h-{_CELL}z"
            for row, column in np.argwhere(levels == level).tolist()
        )
        color = color_name(level / _LEVELS, view.is_difference)
        paths.append(f'<path fill="{color}" d="{cells}"/>')
    return "".join(paths)
