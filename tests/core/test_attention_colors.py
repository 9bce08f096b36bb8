import itertools
import re

import numpy as np
import pytest

from bertviz_core.figures import attention_colors
from bertviz_core.figures.attention_colors import on_scale
from bertviz_core.figures.component_files import component_script

# CIE 1976 differences; the eye sees one of about 2 between two areas side by side, and
# needs several times as much for thin lines apart from each other.
LEAST_NORMAL, LEAST_DEFICIENT = 18, 10
# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of
# Color Vision Deficiency", severity 1.0, on linear RGB.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# IEC 61966-2-1 (sRGB), linear RGB to XYZ, and its white, D65.
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def list_of(name):
    """A list of the script, as Python values."""
    (written,) = re.findall(
        rf"const {name} = \[(.*?)\]\n", component_script("attention"), re.DOTALL
    )
    return [part.strip(" '\n") for part in written.split(",") if part.strip()]


THEMES = {name: list_of(f"HUES_ON_{name.upper()}") for name in ("light", "dark")}


def lab_of(hues, matrix):
    """CIE L*a*b* `[12, 3]` of "#RRGGBB" as an eye sees them that `matrix` simulates."""
    channels = [[int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5)] for hue in hues]
    coded = np.array(channels)
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(matrix).T, 0, 1)
    ratios = (seen @ TO_XYZ.T) / TO_XYZ.sum(axis=1)
    low = ratios * (29 / 6) ** 2 / 3 + 4 / 29
    x, y, z = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), low).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def differences(hues, matrix):
    """CIE 1976 colour difference of each two heads."""
    lab = lab_of(hues, matrix)
    pairs = itertools.combinations(range(len(hues)), 2)
    return {(a, b): float(np.linalg.norm(lab[a] - lab[b])) for a, b in pairs}


def test_saved_pictures_have_the_hues_and_dashes_of_the_screen():
    assert list(attention_colors.HUES) == THEMES["light"]
    written = list(map(int, list_of("DASH_OF_HUE")))
    assert list(attention_colors.DASH_OF_HUE) == written
    assert len(THEMES["light"]) == len(THEMES["dark"]) == len(written) == 12
    script = component_script("attention")
    (dashes,) = re.findall(r"const DASHES = \[(.*)\]\n", script)
    found = [part.replace(",", "") for part in re.findall(r"\[(.*?)\]", dashes)]
    assert found == list(attention_colors.DASHES)


@pytest.mark.parametrize("theme", THEMES)
def test_two_heads_alike_in_colour_differ_in_their_dashes(theme):
    found = differences(THEMES[theme], np.eye(3))
    assert min(found.values()) >= LEAST_NORMAL, min(found, key=found.get)
    for matrix in DEFICIENCIES.values():
        found = differences(THEMES[theme], matrix)
        alike = [pair for pair, delta in found.items() if delta < LEAST_DEFICIENT]
        assert alike, "nothing to tell apart: dashes would not be needed"
        # So do heads beyond the twelve and those whose hue they share.
        for first, second in [*alike, *((head, head + 12) for head in range(12))]:
            dashes = {attention_colors.head_style(head)[1] for head in (first, second)}
            assert len(dashes) == 2, (first + 1, second + 1)


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
    mirrored = on_scale(-ROW, scale, 0.5)
    np.testing.assert_array_equal(mirrored, -on_scale(ROW, scale, 0.5))
