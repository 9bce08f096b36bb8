"""Lines of two heads are told apart by all readers: in colour, or by their dashes."""

import itertools
import re

import numpy as np
import pytest

from bertviz_core.figures import attention_colors
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
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


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
    return {pair: float(np.linalg.norm(lab[pair[0]] - lab[pair[1]])) for pair in pairs}


def test_the_measure_of_colours_is_that_of_the_books():
    lab = lab_of(["#FFFFFF", "#000000", "#FF0000"], np.eye(3))
    np.testing.assert_allclose(lab[0], [100, 0, 0], atol=1e-3)
    np.testing.assert_allclose(lab[1], [0, 0, 0], atol=1e-3)
    np.testing.assert_allclose(lab[2], [53.24, 80.09, 67.20], atol=0.02)
    for matrix in DEFICIENCIES.values():  # white stays white
        np.testing.assert_allclose(np.sum(matrix, axis=1), 1, atol=1e-5)


def test_saved_pictures_have_the_hues_and_dashes_of_the_screen():
    assert list(attention_colors.HUES) == THEMES["light"]
    written = list(map(int, list_of("DASH_OF_HUE")))
    assert list(attention_colors.DASH_OF_HUE) == written
    assert len(THEMES["light"]) == len(THEMES["dark"]) == len(written) == 12
    dashes = re.search(
        r"const DASHES = \[(.*)\]\n", component_script("attention")
    ).group(1)
    assert tuple(
        part.replace(",", "") for part in re.findall(r"\[(.*?)\]", dashes)
    ) == (attention_colors.DASHES)


@pytest.mark.parametrize("theme", THEMES)
def test_each_two_heads_differ_in_colour_to_a_normal_eye(theme):
    found = differences(THEMES[theme], np.eye(3))
    assert len(found) == 66
    assert min(found.values()) >= LEAST_NORMAL, min(found, key=found.get)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_two_heads_alike_in_colour_differ_in_their_dashes(theme, deficiency):
    found = differences(THEMES[theme], DEFICIENCIES[deficiency])
    alike = [pair for pair, delta in found.items() if delta < LEAST_DEFICIENT]
    assert alike, "nothing to tell apart: dashes would not be needed"
    for first, second in alike:
        dashes = [attention_colors.head_style(head)[1] for head in (first, second)]
        assert len(set(dashes)) == 2, (first + 1, second + 1)


def test_heads_beyond_the_twelve_differ_from_those_whose_hue_they_share():
    for head in range(12):
        hue, dash = attention_colors.head_style(head)
        again, other = attention_colors.head_style(head + 12)
        assert hue == again
        assert dash != other
