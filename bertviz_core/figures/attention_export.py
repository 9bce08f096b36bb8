"""Attention to take away: pictures as SVG, numbers as columns, a page as one file.

T tokens. Rows look, columns are looked at. Pictures are for light paper; text in them
stays text, so that it can be searched and set in the reader's own fonts.
"""

from __future__ import annotations

import base64
import html
import re
import unicodedata

import numpy as np

from bertviz_core.figures.attention_view import AttentionView, view_payload
from bertviz_core.figures.component_files import component_script, component_style

# Twelve hues as on the screen (colors.js), and the maps of the light theme.
HUES = (
    *("#1A64A4", "#B0570A", "#05764F", "#A3186E", "#4A2DB0", "#6B4A12"),
    *("#C1272D", "#0A7785", "#5F6B00", "#8E3FA8", "#2F7D1F", "#4A5568"),
)
_SEQUENTIAL = ("#F1F6FC", "#B5D0EC", "#689ED2", "#2B69AD", "#082A55")
_DIVERGING = ("#9A4A00", "#DA9550", "#FFFFFF", "#74A6D6", "#1A5591")
_LEVELS = 64  # colours in a heatmap
_LOG_FLOOR = 1e-4
_MOST_LINES = 1500
_CELL, _NAME, _ROW, _SPAN, _FONT = 18, 96, 20, 240, 12  # pixels
_FONTS = "system-ui, 'Noto Sans', 'PingFang SC', 'Noto Sans CJK SC', sans-serif"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# The saved file may run its own script and style, and ask nobody for anything.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
_THEME = """
:root { --st-text-color: #0F1620; --st-background-color: #FFFFFF;
  --st-secondary-background-color: #F1F4F8; --st-primary-color: #1A64A4;
  --st-border-color: #C9D1DC; --st-font: system-ui, sans-serif;
  color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --st-text-color: #E8ECF2;
  --st-background-color: #12161D; --st-secondary-background-color: #1C232E;
  --st-primary-color: #4F95E6; --st-border-color: #3A4454;
  --st-chart-sequential-colors: #16202D,#174269,#2A6AA5,#6596CF,#D8E6F7;
  --st-chart-diverging-colors: #F3B27C,#B8712F,#553312,#1B344F,#3C78B4,#A1C5EE; } }
body { margin: 0 auto; padding: 16px; max-width: 1200px;
  background: var(--st-background-color); color: var(--st-text-color);
  font-family: var(--st-font); }
"""
_START = """
const text = document.getElementById('payload').textContent
const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
showAlone(document.getElementById('view'), bytes)
"""


def attention_html(
    view: AttentionView,
    title: str,
    language: str = "en",
    attention_probs: np.ndarray | None = None,
) -> bytes:
    """Writes the interactive component as one file that needs no network.

    Args:
        view: what it shows first.
        title: of the page, the sentence for instance.
        language: of the words, for screen readers.
        attention_probs: float `[L, N, T, T]`, so that every head can be chosen in the
            file (9 MB for BERT-base and 128 tokens). Without it the shown head stays.
    """
    payload = base64.b64encode(view_payload(view, attention_probs=attention_probs))
    name = html.escape(title)
    parts = (
        f'<!doctype html><html lang="{html.escape(language)}"><head>',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}</title><style>{_THEME}{component_style('attention')}</style></head>",
        f'<body><h1 style="font-size:1.25rem">{name}</h1><main id="view"></main>',
        f'<script type="text/plain" id="payload">{payload.decode("ascii")}</script>',
        f"<script>{component_script('attention')}{_START}</script></body></html>",
    )
    return "\n".join(parts).encode("utf-8")


def attention_columns(
    view: AttentionView,
) -> dict[str, list[str] | list[int] | list[float]]:
    """The numbers of the shown head as columns of a table, a row for each cell.

    Layers, heads and token numbers count from 1, as on the screen.
    """
    size = len(view.tokens)
    rows, columns = np.divmod(np.arange(size * size), size)
    return {
        "layer": [view.layer + 1] * size * size,
        "head": [view.head + 1] * size * size,
        "from_number": (rows + 1).tolist(),
        "from": [view.tokens[row] for row in rows],
        "to_number": (columns + 1).tolist(),
        "to": [view.tokens[column] for column in columns],
        "weight": view.matrix.ravel().tolist(),
    }


def heatmap_svg(view: AttentionView) -> str:
    """Draws the shown head as a picture; cells of one colour share one path."""
    size = len(view.tokens)
    side = size * _CELL
    parts = [_heat_cells(view)]
    for index, label in enumerate(view.labels):
        middle = _NAME + (index + 0.5) * _CELL
        parts.append(_text(label, _NAME - 6, middle, "end"))
        parts.append(_column_name(label, middle, _NAME - 6))
    for border in (np.flatnonzero(np.diff(view.segments)) + 1).tolist():
        place, end = _NAME + border * _CELL, _NAME + side
        parts.append(_dashed(_NAME, place, end, place))
        parts.append(_dashed(place, _NAME, place, end))
    parts.append(_svg_legend(view, _NAME + side + 18))
    return _svg(view, max(_NAME + side + 4, 460), _NAME + side + 52, parts)


def lines_svg(view: AttentionView) -> str:
    """Draws the lines of the shown head, standing or lying as the view says.

    Lines from the threshold up, at most the 1500 strongest; of a locked token its own
    alone, of a locked cell the one, however weak.
    """
    size, length = len(view.tokens), len(view.tokens) * _ROW
    far = _NAME + _SPAN
    top = float(np.abs(view.matrix).max()) or 1.0 if view.is_difference else 1.0
    parts = []
    for row, column in _lines_to_draw(view):
        weight = float(view.matrix[row, column])
        parts.append(_line(view, row, column, weight / top))
    for index in range(size):
        middle, label = (index + 0.5) * _ROW, view.labels[index]
        if view.is_lying:
            parts.append(_column_name(label, middle, _NAME - 6))
            parts.append(_column_name(label, middle, far + 6, below=True))
        else:
            parts.append(_text(label, _NAME - 6, middle, "end"))
            parts.append(_text(label, far + 6, middle, "start"))
    for border in (np.flatnonzero(np.diff(view.segments)) + 1).tolist():
        place, end = border * _ROW, far + _NAME
        corners = (place, 0, place, end) if view.is_lying else (0, place, end, place)
        parts.append(_dashed(*corners))
    across = far + _NAME
    width, height = (length, across) if view.is_lying else (across, length)
    return _svg(view, width, height, parts)


def _lines_to_draw(view: AttentionView) -> list[tuple[int, int]]:
    """Weakest first, so that strong lines lie on top."""
    sizes = np.abs(view.matrix).copy()
    if view.from_token is None or view.to_token is None:
        sizes[sizes < view.threshold] = 0
    if view.from_token is not None:
        sizes[np.arange(len(sizes)) != view.from_token] = 0
    if view.to_token is not None:
        sizes[:, np.arange(len(sizes)) != view.to_token] = 0
    order = np.argsort(sizes, axis=None, kind="stable")[-_MOST_LINES:]
    places = [np.unravel_index(index, sizes.shape) for index in order]
    return [(int(row), int(column)) for row, column in places if sizes[row, column]]


def _line(view: AttentionView, row: int, column: int, share: float) -> str:
    start, end = (row + 0.5) * _ROW, (column + 0.5) * _ROW
    near, far = _NAME, _NAME + _SPAN
    middle = (near + far) / 2
    points = [(near, start), (middle, start), (middle, end), (far, end)]
    if view.is_lying:
        points = [(y, x) for x, y in points]
    (a, b), *rest = points
    curve = " ".join(f"{x:g},{y:g}" for x, y in rest)
    is_negative = share < 0
    color = _DIVERGING[0] if is_negative else HUES[view.head % len(HUES)]
    dashes = ' stroke-dasharray="2 3"' if is_negative else ""
    return (
        f'<path d="M{a:g},{b:g} C{curve}" fill="none" stroke="{color}"{dashes} '
        f'stroke-width="{0.6 + 3 * abs(share):.2f}" '
        f'stroke-opacity="{0.12 + 0.88 * abs(share) ** 0.5:.2f}"/>'
    )


def _heat_cells(view: AttentionView) -> str:
    levels = np.rint(_on_scale(view) * _LEVELS).astype(int)
    paths = []
    for level in np.unique(levels):
        cells = "".join(
            f"M{_NAME + column * _CELL} {_NAME + row * _CELL}h{_CELL}v{_CELL}h-{_CELL}z"
            for row, column in np.argwhere(levels == level).tolist()
        )
        color = _color(level / _LEVELS, view.is_difference)
        paths.append(f'<path fill="{color}" d="{cells}"/>')
    return "".join(paths)


def _on_scale(view: AttentionView) -> np.ndarray:
    """Float `[T, T]` in [0, 1], or [-1, 1] for differences."""
    sizes = np.abs(view.matrix.astype(np.float64))
    if view.scale == "row":
        top = sizes.max(axis=1, keepdims=True)
    else:
        top = sizes.max() if view.is_difference else 1.0
    shares = np.clip(sizes / np.where(top == 0, 1.0, top), 0, 1)
    if view.scale == "log":
        shares = 1 - np.log(np.maximum(shares, _LOG_FLOOR)) / np.log(_LOG_FLOOR)
    return np.sign(view.matrix) * shares


def _color(place: float, is_difference: bool) -> str:
    colors = _DIVERGING if is_difference else _SEQUENTIAL
    share = (place + 1) / 2 if is_difference else place
    stops = np.array([[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in colors])
    places = np.linspace(0, 1, len(colors))
    mixed = [round(float(np.interp(share, places, stops[:, i]))) for i in range(3)]
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def _svg_legend(view: AttentionView, y: float) -> str:
    steps = 48
    low = -1.0 if view.is_difference else 0.0
    cells = "".join(
        f'<rect x="{140 + 2 * step}" y="{y - 6:g}" width="2" height="12" '
        f'fill="{_color(low + (1 - low) * step / (steps - 1), view.is_difference)}"/>'
        for step in range(steps)
    )
    largest = f"{float(np.abs(view.matrix).max()):.3g}" if view.is_difference else "1"
    top = view.words["row_top"] if view.scale == "row" else largest
    floor = f"≤ {_LOG_FLOOR}" if view.scale == "log" else "0"
    key = "legend_difference" if view.is_difference else "legend_weight"
    name = view.words[key].format(scale=view.words[f"scale_{view.scale}"])
    left = f"−{top}" if view.is_difference else floor
    ends = _text(left, 136, y, "end") + _text(top, 242, y, "start")
    return cells + ends + _text(name, 140, y + 20, "start")


def _column_name(text: str, x: float, y: float, below: bool = False) -> str:
    """A name along a column: Chinese upright, letters turned by a quarter."""
    if any(unicodedata.east_asian_width(letter) in "WF" for letter in text):
        letters = [_escaped(letter) for letter in text]
        step = _FONT + 1
        first = y + step / 2 if below else y - (len(letters) - 0.5) * step
        return "".join(
            _text_at(letter, x, first + index * step, "middle")
            for index, letter in enumerate(letters)
        )
    anchor = "end" if below else "start"
    turn = f' transform="rotate(-90 {x:g} {y:g})"'
    return _text_at(_escaped(text), x, y, anchor, turn)


def _text(text: str, x: float, y: float, anchor: str) -> str:
    return _text_at(_escaped(text), x, y, anchor)


def _text_at(safe: str, x: float, y: float, anchor: str, extra: str = "") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" '
        f'dominant-baseline="central"{extra}>{safe}</text>'
    )


def _dashed(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="#0F1620" '
        'stroke-dasharray="5 3"/>'
    )


def _svg(view: AttentionView, width: float, height: float, parts: list[str]) -> str:
    title = view.words["head_name"].format(layer=view.layer + 1, head=view.head + 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="{html.escape(_FONTS)}" font-size="{_FONT}" fill="#0F1620">'
        f'<title>{_escaped(title)}</title><rect width="100%" height="100%" '
        f'fill="#FFFFFF"/>{"".join(parts)}</svg>'
    )


def _escaped(text: str) -> str:
    """Text that XML may hold: controls, which it may not, become U+FFFD."""
    return html.escape(_NOT_XML.sub("\ufffd", text))
