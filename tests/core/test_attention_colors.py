"""Where a weight stands on the scale of a saved picture."""

import numpy as np
import pytest

from bertviz_core.figures.attention_colors import on_scale

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
