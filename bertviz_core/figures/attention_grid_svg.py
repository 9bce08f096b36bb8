"""All heads as one SVG: a number each, or a thumbnail, a picture of its own pixels.

L layers, N heads. A path for each of 147 thousand pixels would take many megabytes.
"""

from __future__ import annotations

import base64
import functools
import struct
import zlib

import numpy as np

from bertviz_core.figures.attention_colors import (
    color_name,
    color_rgb,
    on_scale,
    svg_legend,
    svg_strip,
)
from bertviz_core.figures.attention_svg import LEAST_WIDTH, caption
from bertviz_core.figures.attention_thumbnails import thumbnail_values
from bertviz_core.figures.attention_view import AttentionView, HeadMap
from bertviz_core.figures.svg import INK, PAPER, escaped, svg_document, svg_text

_CELL, _GAP, _LABEL = 46, 4, 30  # pixels
_LEVELS = 64  # colours
_LEAST_SIGNED = 0.1  # of the largest magnitude; a paler cell has no sign


def grid_svg(view: AttentionView) -> str:
    """Draws all heads, rows layers and columns heads, on the scale of the view.

    By row, a thumbnail is scaled to its own largest weight. Differences have the scale
    of the largest one among all heads. The shown head is framed where the view shows
    one.

    Args:
        view: its thumbnails are differences where it is one.
    """
    num_layers, num_heads = view.thumbnails.shape[:2]
    signed, words = view.is_difference, view.words
    values = thumbnail_values(view.thumbnails, signed)
    # Two digits: the bytes of thumbnails know no more.
    top = (float(f"{np.abs(values).max():.2g}") or 1.0) if signed else 1.0
    side = _CELL - _GAP
    parts = _numbers(num_layers, num_heads)
    for layer in range(num_layers):
        for head in range(num_heads):
            x, y = _corner(layer, head)
            name = words["head_name"].format(layer=layer + 1, head=head + 1)
            picture = _thumbnail_png(values[layer, head], view.scale, top, signed)
            parts.append(
                f'<image x="{x}" y="{y}" width="{side}" height="{side}" '
                'preserveAspectRatio="none" style="image-rendering:pixelated" '
                f'href="data:image/png;base64,{picture}">'
                f"<title>{escaped(name)}</title></image>"
            )
            is_chosen = view.measured.has_head and (layer, head) == (
                view.layer,
                view.head,
            )
            parts.append(_frame(x, y, side, is_chosen))
    bottom = _LABEL + num_layers * _CELL + 18
    unit = words["unit_weight"]
    if signed:
        unit = words["unit_difference"].format(unit=unit)
    parts.append(svg_legend(view, bottom, unit, top))
    said = [words["grid_title"], view.measured.difference, *view.measured.filters]
    return _document(num_heads, bottom, said, parts)


def head_map_svg(head_map: HeadMap) -> str:
    """Draws one number for every head, as the screen does: a colour, and its sign.

    Each cell says its number; that of the chosen head stands below as well.

    Args:
        head_map: its `map_title` is the title, its `legend_map` names the numbers.
    """
    values, words = head_map.values, head_map.words
    num_layers, num_heads = values.shape
    is_difference = head_map.is_difference
    places = on_scale(values, "linear", head_map.limit)
    parts = _numbers(num_layers, num_heads)
    said = [words["map_title"]]
    for (layer, head), value in np.ndenumerate(values):
        sign = ("−" if value < 0 else "+") if is_difference else ""
        name = words["map_cell"].format(
            layer=layer + 1, head=head + 1, value=f"{sign}{abs(value):.4f}"
        )
        x, y = _corner(layer, head)
        parts.append(_number(x, y, float(places[layer, head]), sign, name))
        is_chosen = (layer, head) == (head_map.layer, head_map.head)
        parts.append(_frame(x, y, _CELL - _GAP, is_chosen))
        if is_chosen:
            said.append(name)
    bottom = _LABEL + num_layers * _CELL + 18
    end = f"{head_map.limit:.3g}"
    ends = (f"−{end}", f"+{end}") if is_difference else ("0", end)
    legend = words["legend_map"].format(scale=words["scale_linear"])
    parts.append(svg_strip(ends, legend, bottom, is_difference))
    return _document(num_heads, bottom, said, parts)


def _number(x: float, y: float, place: float, sign: str, name: str) -> str:
    """A cell with its name, and with its sign where it is large enough for one."""
    side = _CELL - _GAP
    cell = (
        f'<rect x="{x}" y="{y}" width="{side}" height="{side}" '
        f'fill="{color_name(place, bool(sign))}"><title>{escaped(name)}</title></rect>'
    )
    if not sign or abs(place) < _LEAST_SIGNED:
        return cell
    ink = INK if _is_light(color_rgb(place, True)) else PAPER
    drawn = svg_text(sign, x + side / 2, y + side / 2, "middle")
    return f'{cell}<g fill="{ink}">{drawn}</g>'


def _corner(layer: int, head: int) -> tuple[int, int]:
    return _LABEL + head * _CELL, _LABEL + layer * _CELL


def _numbers(num_layers: int, num_heads: int) -> list[str]:
    """Of the layers, at the left, and of the heads, above."""
    heads, layers = range(num_heads), range(num_layers)
    columns = [_LABEL + (head + 0.5) * _CELL for head in heads]
    rows = [_corner(layer, 0)[1] + (_CELL - _GAP) / 2 for layer in layers]
    return [
        *(svg_text(str(i + 1), columns[i], _LABEL - 12, "middle") for i in heads),
        *(svg_text(str(i + 1), _LABEL - 8, rows[i], "end") for i in layers),
    ]


def _document(num_heads: int, bottom: float, said: list[str], parts: list[str]) -> str:
    """The first of what is said is the title; what is empty is not said."""
    said = list(filter(None, said))
    width = max(_LABEL + num_heads * _CELL + 4, LEAST_WIDTH)
    lines, height = caption(said, bottom + 44, width)
    return svg_document(width, height, said[0], [*parts, *lines])


def _is_light(color: tuple[int, int, int]) -> bool:
    """As `luminance` in colors.js."""
    return float(np.dot((0.299, 0.587, 0.114), color)) > 255 / 2


def _frame(x: float, y: float, side: float, is_chosen: bool) -> str:
    style = 'stroke="#1A64A4" stroke-width="3"' if is_chosen else 'stroke="#C9D1DC"'
    return f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="none" {style}/>'


def _thumbnail_png(
    values: np.ndarray, scale: str, top: float, is_difference: bool
) -> str:
    if scale == "row":
        top = float(np.abs(values).max()) or 1.0
    places = on_scale(values, scale, top)
    if is_difference:
        places = (places + 1) / 2
    last = _num_levels(is_difference) - 1
    levels = np.rint(places * last).astype(np.uint8)
    return base64.b64encode(_png(levels, is_difference)).decode("ascii")


def _num_levels(is_difference: bool) -> int:
    """Of differences one more, so that zero has a colour of its own in the middle."""
    return _LEVELS + is_difference


def _png(levels: np.ndarray, is_difference: bool) -> bytes:
    """Writes uint8 `[h, w]` as a picture in the colours of the scale.

    Source:
        PNG specification (W3C), section 11: IHDR with colour type 3, PLTE, IDAT, IEND.
    """
    height, width = levels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in levels)  # 0: no row filter
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", _palette(is_difference)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + both + struct.pack(">I", zlib.crc32(both))
        for data, both in ((data, name + data) for name, data in chunks)
    )


@functools.cache
def _palette(is_difference: bool) -> bytes:
    low = -1 if is_difference else 0
    places = np.linspace(low, 1, _num_levels(is_difference)).tolist()
    return bytes(part for place in places for part in color_rgb(place, is_difference))
