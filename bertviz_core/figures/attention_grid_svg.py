"""All heads as one SVG: each thumbnail is a small picture of its own pixels.

L layers, N heads. A path for each of 147 thousand pixels would take many megabytes.
"""

from __future__ import annotations

import base64
import functools
import struct
import zlib

import numpy as np

from bertviz_core.figures.attention_colors import color_rgb, on_scale, svg_legend
from bertviz_core.figures.attention_svg import CAPTION_LINE, LEAST_WIDTH, caption
from bertviz_core.figures.attention_thumbnails import thumbnail_values
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.svg import escaped, svg_document, svg_text

_CELL, _GAP, _LABEL = 46, 4, 30  # pixels
_LEVELS = 64  # colours


def grid_svg(view: AttentionView) -> str:
    """Draws all heads, rows layers and columns heads, on the scale of the view.

    By row, a thumbnail is scaled to its own largest weight. The shown head is framed
    where the view shows one.

    Args:
        view: its thumbnails are no differences.
    """
    num_layers, num_heads = view.thumbnails.shape[:2]
    values = thumbnail_values(view.thumbnails)
    side = _CELL - _GAP
    parts = [
        svg_text(str(i + 1), _LABEL + (i + 0.5) * _CELL, _LABEL - 12, "middle")
        for i in range(num_heads)
    ]
    for layer in range(num_layers):
        y = _LABEL + layer * _CELL
        parts.append(svg_text(str(layer + 1), _LABEL - 8, y + side / 2, "end"))
        for head in range(num_heads):
            x = _LABEL + head * _CELL
            name = view.words["head_name"].format(layer=layer + 1, head=head + 1)
            picture = _thumbnail_png(values[layer, head], view.scale)
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
    title = view.words["grid_title"]
    bottom = _LABEL + num_layers * _CELL + 18
    parts.append(svg_legend(view, bottom, view.words["unit_weight"], 1.0))
    said = [title, *view.measured.filters]
    parts += caption(said, bottom + 44)
    width = max(_LABEL + num_heads * _CELL + 4, LEAST_WIDTH)
    height = bottom + 44 + len(said) * CAPTION_LINE
    return svg_document(width, height, title, parts)


def _frame(x: float, y: float, side: float, is_chosen: bool) -> str:
    style = 'stroke="#1A64A4" stroke-width="3"' if is_chosen else 'stroke="#C9D1DC"'
    return f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="none" {style}/>'


def _thumbnail_png(values: np.ndarray, scale: str) -> str:
    top = (float(values.max()) or 1.0) if scale == "row" else 1.0
    levels = np.rint(on_scale(values, scale, top) * (_LEVELS - 1)).astype(np.uint8)
    return base64.b64encode(_png(levels)).decode("ascii")


def _png(levels: np.ndarray) -> bytes:
    """Writes uint8 `[h, w]` as a picture in the colours of the scale.

    Source:
        PNG specification (W3C), section 11: IHDR with colour type 3, PLTE, IDAT, IEND.
    """
    height, width = levels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in levels)  # 0: no row filter
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", _palette()),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + both + struct.pack(">I", zlib.crc32(both))
        for data, both in ((data, name + data) for name, data in chunks)
    )


@functools.cache
def _palette() -> bytes:
    places = np.linspace(0, 1, _LEVELS).tolist()
    return bytes(part for place in places for part in color_rgb(place))
