"""What all SVG pictures are written with: text, lines, the document around them.

Lengths are in pixels. Text stays text, so that it can be searched and set in the
reader's own fonts.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence

FONT_SIZE = 12
INK, PAPER = "#0F1620", "#FFFFFF"
_FONTS = "system-ui, 'Noto Sans', 'PingFang SC', 'Noto Sans CJK SC', sans-serif"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg_document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Puts parts on white paper.

    Args:
        width: of the paper.
        height: of the paper.
        title: what the picture shows, for screen readers; plain text.
        parts: elements.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="{html.escape(_FONTS)}" font-size="{FONT_SIZE}" fill="{INK}">'
        f'<title>{escaped(title)}</title><rect width="100%" height="100%" '
        f'fill="{PAPER}"/>{"".join(parts)}</svg>'
    )


def svg_text(text: str, x: float, y: float, anchor: str = "start") -> str:
    """One line of text, `y` at its middle.

    Args:
        text: plain text.
        x: of the anchor.
        y: of the middle.
        anchor: "start", "middle" or "end".
    """
    return _text_at(escaped(text), x, y, anchor)


def svg_column_name(text: str, x: float, y: float, below: bool = False) -> str:
    """A name along a column: Chinese upright, letters turned by a quarter.

    Args:
        text: plain text.
        x: of the column's middle.
        y: where the name ends, or begins if `below`.
        below: whether it stands below the column.
    """
    if any(unicodedata.east_asian_width(letter) in "WF" for letter in text):
        letters = [escaped(letter) for letter in text]
        step = FONT_SIZE + 1
        first = y + step / 2 if below else y - (len(letters) - 0.5) * step
        return "".join(
            _text_at(letter, x, first + index * step, "middle")
            for index, letter in enumerate(letters)
        )
    anchor = "end" if below else "start"
    turn = f' transform="rotate(-90 {x:g} {y:g})"'
    return _text_at(escaped(text), x, y, anchor, turn)


def svg_line(x1: float, y1: float, x2: float, y2: float, style: str = "") -> str:
    """A straight line of ink.

    Args:
        x1: start.
        y1: start.
        x2: end.
        y2: end.
        style: more attributes.
    """
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{INK}" {style}/>'


def escaped(text: str) -> str:
    """Text that XML may hold: controls, which it may not, become U+FFFD."""
    return html.escape(_NOT_XML.sub("\ufffd", text))


def _text_at(safe: str, x: float, y: float, anchor: str, extra: str = "") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" '
        f'dominant-baseline="central"{extra}>{safe}</text>'
    )
