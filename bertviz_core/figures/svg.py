"""What all SVG pictures are written with: text, lines, the document around them.

Lengths are in pixels. Text is text here, without elements inside: the browser that
saves a picture draws the lines with Chinese letters as shapes, see `outlined` in
assets/components/outline.js. How wide letters are in its fonts nobody knows here:
widths are estimates, rather too large, so that no letter leaves the paper.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Sequence

FONT_SIZE = 12
_CUT = "…"
# From the middle of letters to the line that they stand on; few programs other than
# browsers know `dominant-baseline`, and none tells where it has put the letters.
_TO_BASELINE = "0.35em"
INK, PAPER = "#0F1620", "#FFFFFF"
# The Chinese ones of Windows, macOS and Linux: a program without `system-ui` finds one.
_FONTS = (
    "system-ui, 'Noto Sans', 'Microsoft YaHei', 'PingFang SC', 'Hiragino Sans GB', "
    "'Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC', 'WenQuanYi Micro Hei', "
    "sans-serif"
)
_UPRIGHT_STEP = FONT_SIZE + 1  # of letters one below the other
# Widths of letters in sizes of the font, as wide as those of DejaVu Sans.
_WIDTHS = {"iIjl.,:;'|!`": 0.36, 'frt()[]{}-"/ ': 0.46, "mMwWQO@%": 1.0}
_USUAL_WIDTH = 0.68
_LETTER_WIDTHS = {letter: w for letters, w in _WIDTHS.items() for letter in letters}
# Chinese breaks anywhere, other scripts between words.
_BREAKABLE = re.compile(
    r"[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+|\s+"
)
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


def text_width(text: str) -> float:
    """How wide a text is at most, in most fonts.

    Args:
        text: plain text, one line.
    """
    return FONT_SIZE * sum(map(_letter_width, text))


def column_length(text: str) -> float:
    """The same for a name along a column, see `svg_column_name`.

    Args:
        text: plain text.
    """
    return _UPRIGHT_STEP * len(text) if _is_upright(text) else text_width(text)


def wrapped(text: str, width: float) -> list[str]:
    """A text in as many lines as it takes; a word that is too long is broken.

    Args:
        text: plain text.
        width: of a line.
    """
    lines = [""]
    for piece in _BREAKABLE.findall(text):
        for part in [piece] if text_width(piece) <= width else piece:
            if text_width(lines[-1] + part) <= width:
                lines[-1] += part
            else:
                lines.append(part.lstrip())
    return [line.rstrip() for line in lines]


def svg_text(
    text: str, x: float, y: float, anchor: str = "start", room: float = math.inf
) -> str:
    """One line of text, `y` at its middle.

    Args:
        text: plain text.
        x: of the anchor.
        y: of the middle.
        anchor: "start", "middle" or "end".
        room: a wider text is cut, ends in "…", and is named whole under the pointer.
    """
    shown = _fitted(text, room)
    return _named(_text_at(escaped(shown), x, y, anchor), shown, text)


def svg_column_name(
    text: str, x: float, y: float, below: bool = False, room: float = math.inf
) -> str:
    """A name along a column: Chinese upright, letters turned by a quarter.

    Args:
        text: plain text.
        x: of the column's middle.
        y: where the name ends, or begins if `below`.
        below: whether it stands below the column.
        room: along the column; a longer name is cut, see `svg_text`.
    """
    if _is_upright(text):
        step, shown = _UPRIGHT_STEP, text
        if column_length(text) > room:
            shown = text[: max(int(room // step) - 1, 0)] + _CUT
        letters = [escaped(letter) for letter in shown]
        first = y + step / 2 if below else y - (len(letters) - 0.5) * step
        drawn = "".join(
            _text_at(letter, x, first + index * step, "middle")
            for index, letter in enumerate(letters)
        )
        return _named(drawn, shown, text)
    anchor, shown = "end" if below else "start", _fitted(text, room)
    turn = f' transform="rotate(-90 {x:g} {y:g})"'
    return _named(_text_at(escaped(shown), x, y, anchor, turn), shown, text)


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


def _letter_width(letter: str) -> float:
    """In sizes of the font."""
    if unicodedata.combining(letter):
        return 0.0
    is_wide = unicodedata.east_asian_width(letter) in "WFA"
    return 1.0 if is_wide else _LETTER_WIDTHS.get(letter, _USUAL_WIDTH)


def _is_upright(text: str) -> bool:
    return any(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def _fitted(text: str, room: float) -> str:
    if text_width(text) <= room:
        return text
    shown = text
    while shown and text_width(shown + _CUT) > room:
        shown = shown[:-1]
    return shown + _CUT


def _named(drawn: str, shown: str, text: str) -> str:
    """What was cut says its whole name to pointers and screen readers."""
    if shown == text:
        return drawn
    return f"<g><title>{escaped(text)}</title>{drawn}</g>"


def _text_at(safe: str, x: float, y: float, anchor: str, extra: str = "") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" '
        f'dy="{_TO_BASELINE}"{extra}>{safe}</text>'
    )
