"""Names below the columns of a map, side by side; else turned, but Chinese upright.

C columns.
"""

import re
from collections.abc import Sequence
from typing import Any

from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.figures.labels import LONGEST_LABEL, label, shortened

_WIDE, _GAP = 2, 2  # letters that a Chinese character takes, and a gap
LINE = 70  # letters that fit side by side below a map; more are turned
_SIGN_HEIGHT = 16  # pixels; of characters one below the other
_LETTER = 7.4  # pixels; of a letter that is turned
_TICK = 18  # pixels; between a map and the names of its columns
_TURNED = 18  # turned names fit side by side on a phone


def name_columns(
    made: dict[str, Any], columns: Sequence[str], line: int = LINE
) -> None:
    """Writes C names into a layout, whose height grows with them.

    The columns are those of the x from 0. `line` letters fit side by side.
    """
    texts, ticks, turned = _column_ticks(columns, line)
    made["height"] += _SIGN_HEIGHT * max(text.count("<br>") for text in texts)
    if turned:  # plotly would lay the title over them
        title = made["xaxis"].pop("title")
        below = _below(texts[0].count("<br>") - 1)
        turned.append({**title, **below, "xref": "paper", "x": 0.5})
    made["annotations"] = turned
    made["xaxis"] |= ticks


def _column_ticks(
    columns: Sequence[str], line: int
) -> tuple[list[str], dict[str, Any], list[dict[str, Any]]]:
    """The names as they are written, and what says so of their axis.

    Behind them the notes that are the turned parts of names that stand upright.
    """
    texts = [label(name) for name in columns]
    width = sum(map(_width, columns))
    if width > line and all(map(str.isdecimal, columns)):
        every = -(-2 * width // line)  # turned, they run together on a phone
        places = list(range(0, len(columns), every))
        return texts, {"tickvals": places, "ticktext": texts[::every]}, []
    notes: list[dict[str, Any]] = []
    how: dict[str, Any] = {"tickangle": -90}
    if width <= line:
        # On a phone they may not fit all the same: plotly takes the first that does.
        how = {"autotickangles": [0, -45, -90]}
    elif any(is_cjk(name) for name in columns):
        stacked = [_stacked(name) for name in columns]
        free, apart = 0, -(-len(columns) // _TURNED)
        # Below the first signs, which on a phone would touch them.
        least = int(apart > 1 and any(letters for _, letters in stacked))
        for place, (signs, letters) in enumerate(stacked):
            if letters and place >= free:
                above = _below(max(len(signs), least))
                notes.append(
                    {"text": label(letters), "textangle": -90, "x": place, **above}
                )
                free = place + apart
        how = {"tickangle": 0}
        heights = [max(len(s), least) + _lines(letters) for s, letters in stacked]
        # Where there is little room plotly leaves names out, but never the first: it
        # keeps room for all, and for the title where letters are turned.
        heights[0] = max(heights) + (2 if notes else 0)
        texts = [
            "<br>".join([*map(label, signs), *["\xa0"] * (height - len(signs))])
            for (signs, _), height in zip(stacked, heights, strict=True)
        ]
    # Of categories plotly writes as many as there is room for.
    aliases = {str(place): text for place, text in enumerate(texts)}
    return texts, {"type": "category", "labelalias": aliases, **how}, notes


def _width(name: str) -> int:
    """Of a label and the gap beside it, in letters."""
    return _GAP + sum(_WIDE if is_cjk(sign) else 1 for sign in name[:LONGEST_LABEL])


def _stacked(name: str) -> tuple[list[str], str]:
    """The signs of a name one below the other, as Chinese is written in columns.

    A number of two digits, as wide as a sign, stays in one piece. The letters that the
    name ends in, such as [MASK] or ##ing, are apart: they are turned.
    """
    name = shortened(name, LONGEST_LABEL)
    found = re.search(r"(?![0-9]{3}$)[!-~]{3,}…?$", name)
    letters = found[0] if found else ""
    return re.findall(
        r"##|(?<![0-9])[0-9]{2}(?![0-9])|\S", name.removesuffix(letters)
    ), letters


def _below(num_signs: int) -> dict[str, Any]:
    """The place of a note below as many signs."""
    place = {"yref": "paper", "y": 0, "yanchor": "top", "showarrow": False}
    return place | {"yshift": -_TICK - _SIGN_HEIGHT * num_signs}


def _lines(letters: str) -> int:
    """Room for turned letters, in lines of signs."""
    return -(-int(_LETTER * len(letters)) // _SIGN_HEIGHT)
