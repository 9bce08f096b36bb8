"""Colours and the scale of saved pictures of attention, for light paper."""

from __future__ import annotations

import numpy as np

from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.color_scales import SHARES
from bertviz_core.figures.svg import svg_text

# Hues and dashes as on the screen (colors.js), and the maps of its light theme.
HUES = (
    *("#1A64A4", "#B0570A", "#05764F", "#A3186E", "#4A2DB0", "#6B4A12"),
    *("#C1272D", "#0A7785", "#5F6B00", "#8E3FA8", "#2F7D1F", "#4A5568"),
)
DASHES = ("", "7 3", "2 3")
# Of each hue: two that look alike to a colour-blind reader never share their dashes.
DASH_OF_HUE = (0, 0, 0, 1, 1, 2, 0, 2, 2, 1, 1, 0)
DIVERGING = ("#9A4A00", "#DA9550", "#FFFFFF", "#74A6D6", "#1A5591")
_LOG_FLOOR = 1e-4  # one part in ten thousand is the last digit shown
_STEPS = 48  # colours in the strip of a legend


def head_style(head: int) -> tuple[str, str]:
    """Colour, and dashes or "", of a head's lines."""
    turn, hue = divmod(head, len(HUES))
    return HUES[hue], DASHES[(DASH_OF_HUE[hue] + turn) % len(DASHES)]


def on_scale(values: np.ndarray, scale: str, top: float | np.ndarray) -> np.ndarray:
    """Where values stand between 0 and the end of the scale.

    Args:
        values: float, any shape.
        scale: one of `SCALES`.
        top: the value at the end, above 0; of each row where the scale is by row.

    Returns:
        float in [0, 1], or in [-1, 1] for negative values.
    """
    shares = np.clip(np.abs(values.astype(np.float64)) / top, 0, 1)
    if scale == "log":
        shares = 1 - np.log(np.maximum(shares, _LOG_FLOOR)) / np.log(_LOG_FLOOR)
    return np.sign(values) * shares


def color_rgb(place: float, is_difference: bool = False) -> tuple[int, int, int]:
    """Red, green, blue of a place on the scale, see `on_scale`."""
    colors = DIVERGING if is_difference else SHARES
    share = (place + 1) / 2 if is_difference else place
    stops = np.array([[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in colors])
    places = np.linspace(0, 1, len(colors))
    red, green, blue = (
        round(float(np.interp(share, places, stops[:, i]))) for i in range(3)
    )
    return red, green, blue


def color_name(place: float, is_difference: bool = False) -> str:
    """The same as "#RRGGBB"."""
    return "#{:02X}{:02X}{:02X}".format(*color_rgb(place, is_difference))


def svg_legend(view: AttentionView, y: float, unit: str, top: float) -> str:
    """A strip of colours, its ends in numbers, the unit and the scale's name.

    Args:
        view: its words, its scale.
        y: of the strip's middle, in pixels; the legend takes 20 more.
        unit: what a number is.
        top: the value at the end.
    """
    end = view.words["row_top"] if view.scale == "row" else f"{top:.3g}"
    floor = f"≤ {_LOG_FLOOR * top:.3g}" if view.scale == "log" else "0"
    key = "legend_difference" if view.is_difference else "legend_weight"
    name = view.words[key].format(
        scale=view.words[f"scale_{view.scale}"],
        unit=unit,
    )
    left = f"−{end}" if view.is_difference else floor
    return svg_strip((left, end), name, y, view.is_difference)


def svg_strip(
    ends: tuple[str, str], name: str, y: float, is_difference: bool = False
) -> str:
    """A strip of all colours, with what stands at its ends and below it.

    Args:
        ends: of the low end and of the high one, plain text.
        name: what the colours stand for, plain text; a line at most.
        y: of the strip's middle, in pixels; it takes 20 more.
        is_difference: the colours of numbers that may be negative.
    """
    low = -1.0 if is_difference else 0.0
    cells = "".join(
        f'<rect x="{140 + 2 * step}" y="{y - 6:g}" width="2" height="12" '
        f'fill="{color_name(low + (1 - low) * step / (_STEPS - 1), is_difference)}"/>'
        for step in range(_STEPS)
    )
    left, right = ends
    said = svg_text(left, 136, y, "end") + svg_text(right, 242, y)
    return cells + said + svg_text(name, 12, y + 20)
