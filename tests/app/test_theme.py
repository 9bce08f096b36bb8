"""Colours can be read, and told apart by people who see colours differently."""

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.core.test_attention_pictures import DEFICIENCIES, TO_XYZ, lab_of

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
THEMES = ["light", "dark"]

# Streamlit shows captions with 60 % of the text's colour.
CAPTION_OPACITY = 0.6

VISION = {"normal": np.eye(3), **DEFICIENCIES}
LUMINANCE = TO_XYZ[1]


def rgb(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def linear(channels):
    return np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )


def contrast(one, other):
    """Source: WCAG 2.2, "contrast ratio"."""
    darker, lighter = sorted(float(LUMINANCE @ linear(c)) for c in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def color_difference(one, other, vision):
    return np.linalg.norm(np.subtract(*lab_of([one, other], VISION[vision])))


def grounds(theme):
    colors = CONFIG["theme"][theme]
    return [rgb(colors["backgroundColor"]), rgb(colors["secondaryBackgroundColor"])]


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_captions_can_be_read(theme):
    colors = CONFIG["theme"][theme]
    for ground in grounds(theme):
        for name in ("textColor", "primaryColor", "linkColor"):
            assert contrast(rgb(colors[name]), ground) >= 4.5
        text = rgb(colors["textColor"])
        faded = CAPTION_OPACITY * text + (1 - CAPTION_OPACITY) * ground
        assert contrast(faded, ground) >= 4.5


def test_no_page_writes_white_on_the_primary_color():
    # Streamlit's primary buttons and multiselect tags do; in the dark theme the
    # primary colour is light, so that it can be read as text.
    for path in (ROOT / "pages").rglob("*.py"):
        code = path.read_text("utf-8")
        assert 'type="primary"' not in code, path
        assert "multiselect(" not in code, path


@pytest.mark.parametrize("theme", THEMES)
def test_chart_colors_stand_out_from_the_page(theme):
    ground = grounds(theme)[0]
    for color in CONFIG["theme"][theme]["chartCategoricalColors"]:
        assert contrast(rgb(color), ground) >= 3


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_chart_colors_are_told_apart(theme, vision):
    colors = CONFIG["theme"][theme]["chartCategoricalColors"]
    # Plotly figures take the list only if it has ten entries, so it begins again.
    assert colors[6:] == colors[:4]
    for one, other in itertools.combinations(colors[:6], 2):
        assert color_difference(one, other, vision) > 23, (one, other)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_a_darker_step_of_the_sequence_means_more_for_everybody(theme, vision):
    steps = CONFIG["theme"][theme]["chartSequentialColors"]
    assert len(steps) == 10
    steps = np.diff(lab_of(steps, VISION[vision])[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()


@pytest.mark.parametrize("theme", THEMES)
def test_both_ends_of_the_diverging_colors_are_told_apart(theme):
    colors = CONFIG["theme"][theme]["chartDivergingColors"]
    assert len(colors) == 10
    for vision in VISION:
        assert color_difference(colors[0], colors[-1], vision) > 23


def test_every_font_list_ends_with_chinese_and_a_generic_family():
    for name in ("font", "headingFont", "codeFont"):
        families = CONFIG["theme"][name]
        assert "CJK SC" in families
        assert families.endswith(("sans-serif", "monospace"))
        assert "http" not in families


def test_nothing_leaves_the_machine_and_no_traceback_is_shown():
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["browser"]["serverAddress"] == "localhost"
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["server"]["enableXsrfProtection"] is True
    assert CONFIG["client"]["showErrorDetails"] == "none"
