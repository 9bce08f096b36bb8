"""Numbers as people write them in a cell."""

import math
import re
from collections.abc import Sequence

import numpy as np

# No "inf", no "1_000" and no "nan", all of which Python's `float` takes.
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?", re.ASCII)
# Beyond these a number is written with an exponent.
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e15
# 1,500 is fifteen hundred to one reader and one and a half to the other.
_AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
# With a point it is read, as Python does, but a German writes 1500 like that.
_LIKE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
# Point, comma, apostrophes and the spaces that are printed between groups of digits.
_GROUPED = re.compile(
    r"[+-]?[1-9]\d{0,2}([.,'\u2019 \u00a0\u202f])\d{3}(\1\d{3})*([.,]\d+)?", re.ASCII
)


def is_number(cell: str) -> bool:
    """Whether the cell is one finite number, with a decimal point or comma."""
    return parse_number(cell) is not None


def parse_number(cell: str) -> float | None:
    """The number in a cell.

    Returns:
        `None` where there is none, where it is infinite, or where its comma may
        stand for thousands as well as for a decimal point.
    """
    stripped = cell.strip()
    if len(stripped) > 60 or not _NUMBER.fullmatch(stripped):
        return None
    if _AMBIGUOUS.fullmatch(stripped):
        return None
    value = float(stripped.replace(",", "."))
    return value if math.isfinite(value) else None


def is_grouped(cell: str) -> bool:
    """Whether a cell is no number for its mark alone, which may stand for thousands.

    Such are "1,000", "1.500.000", "2 500" and "1,234.50".
    """
    return bool(_GROUPED.fullmatch(cell.strip())) and parse_number(cell) is None


def may_be_thousands(cells: Sequence[str]) -> list[int]:
    """Where decimals may be thousands: all of them have three digits after a point.

    One number with another count of digits, or with a 0 before the point, shows that
    decimals are meant. Indices of all cells with a mark; none where there is no doubt.
    """
    marked = [i for i, cell in enumerate(cells) if "." in cell or "," in cell]
    if all(_LIKE_THOUSANDS.fullmatch(cells[i].strip()) for i in marked):
        return marked
    return []


def number_text(value: float) -> str:
    """The shortest text that reads back as the same float32: "1234567", "0.1".

    Labels and answers are float32: more digits than that are noise, and fewer would
    be another number.
    """
    short = np.float32(value)
    if short == 0 or _LEAST_PLAIN <= abs(short) < _MOST_PLAIN:
        return np.format_float_positional(short, trim="-")
    return np.format_float_scientific(short, trim="-")
