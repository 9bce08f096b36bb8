"""Where a weight stands on the scale of a saved picture."""

import colorsys
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.figures.attention_colors import DIVERGING, on_scale

ROOT = Path(__file__).parents[2]
# Where hues are called so, as shares of the circle of colours.
BROWN, BLUE, VIOLET = (0.03, 0.12), (0.54, 0.67), (0.72, 0.9)
HUES = {
    "brown": BROWN,
    "blue": BLUE,
    "violet": VIOLET,
    "棕色": BROWN,
    "蓝色": BLUE,
    "紫色": VIOLET,
}
ROW = np.array([[0.1, 0.4, 0.05, 0.25, 0.2]])


def test_the_linear_scale_shows_probabilities_as_they_are_up_to_its_end():
    np.testing.assert_array_equal(on_scale(ROW, "linear", 1.0), ROW)
    np.testing.assert_allclose(
        on_scale(ROW, "linear", 0.2), [[0.5, 1, 0.25, 1, 1]], atol=1e-12
    )


def test_the_log_scale_shows_equal_ratios_as_equal_steps_down_to_its_floor():
    row = np.array([[1.0, 0.1, 0.01, 1e-4, 0.0]])
    expected = [[1, 0.75, 0.5, 0, 0]]
    np.testing.assert_allclose(on_scale(row, "log", 1.0), expected, atol=1e-12)
    np.testing.assert_allclose(on_scale(8 * row, "log", 8.0), expected, atol=1e-12)


def test_the_scale_by_row_ends_at_the_largest_of_each_row():
    rows = np.array([[0.1, 0.2], [0.3, 0.0]])
    tops = rows.max(axis=1, keepdims=True)
    np.testing.assert_allclose(on_scale(rows, "row", tops), [[0.5, 1], [1, 0]])


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_negative_number_stands_as_far_on_the_other_side(scale):
    np.testing.assert_array_equal(
        on_scale(-ROW, scale, 0.5), -on_scale(ROW, scale, 0.5)
    )


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", r"(\w+) where the second looks more, (\w+) where it looks less"),
        ("zh", r"(\w色)表示第二个看得更多，(\w色)表示看得更少"),
    ],
)
def test_the_words_for_the_colours_of_a_difference_are_theirs(language, said):
    path = ROOT / "assets" / "locales" / language / "attention.json"
    intro = json.loads(path.read_text("utf-8"))["compare_intro"]
    more, less = re.search(said, intro).groups()
    ends = [(DIVERGING[0], DIVERGING[-1])]
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    for kind in ("light", "dark"):
        colors = theme["theme"][kind]["chartDivergingColors"]
        ends.append((colors[0], colors[-1]))
    for low, high in ends:
        assert is_called(low, less), (low, less)
        assert is_called(high, more), (high, more)


def is_called(color, word):
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    first, last = HUES[word]
    return first < colorsys.rgb_to_hsv(*channels)[0] < last
