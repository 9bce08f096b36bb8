"""A walk through every page: its picture, its theme, and what axe finds."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from pages.shared.navigation import FIRST, ICONS
from tests.browser.conftest import LOCALES, be_tended, go_to, settle

AXE = Axe()
LAPTOP = {"width": 1366, "height": 768}
WHITE, DARK = "rgb(255, 255, 255)", "rgb(18, 22, 29)"
# What each page is about, and how much of it a laptop shows at least, in pixels.
PICTURES = {
    FIRST: (".whole-model .paper", 900),
    "masked_word": (".js-plotly-plot", 300),
    "attention": (".attention-host .grid-part canvas", 200),
    "layers": (".step-picture svg", 60),
    "embeddings": (".js-plotly-plot", 250),
    "activations": (".js-plotly-plot", 400),
}


def faults(page):
    """Serious and critical findings: the rule and the elements that break it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return {
        (one["id"], node["html"][:200])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    }


def shows_its_picture(page, name, part=1):
    """Without scrolling, and the title with it."""
    picture, least = PICTURES[name]
    shown = page.locator(picture).first
    expect(shown).to_be_visible()
    settle(page)
    found = shown.bounding_box()
    header = page.get_by_test_id("stHeader").bounding_box()
    assert page.locator("h1").bounding_box()["y"] >= header["height"], name
    seen = min(found["y"] + found["height"], LAPTOP["height"]) - found["y"]
    assert seen >= min(part * least, found["height"] - 1), (name, found)


@pytest.mark.parametrize(
    ("language", "theme", "ground"),
    [("en", "light", WHITE), ("zh", "dark", DARK)],
    ids=["en light", "zh dark"],
)
def test_a_laptop_shows_each_page_and_axe_finds_nothing_serious(
    visit, language, theme, ground
):
    page = visit("/", locale=LOCALES[language], color_scheme=theme, width=1366)
    page.set_viewport_size(LAPTOP)
    for name in ICONS:
        if name != FIRST:
            go_to(page, name)
        for fault in ("stException", "stAlertContentError"):
            expect(page.get_by_test_id(fault)).to_have_count(0)
        if name in PICTURES:
            shows_its_picture(page, name)
        # The theme is that of the system.
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
        be_tended(page)
        assert faults(page) == set(), name


def test_a_projector_shows_half_of_each_picture_in_large_type(visit):
    """Or all of one that is not as high; its colours are those of any page."""
    page = visit("/?projector=true", width=1366)
    page.set_viewport_size(LAPTOP)
    expect(page.locator("html")).to_have_css("font-size", "22px")
    for name in PICTURES:
        if name != FIRST:
            go_to(page, name)
        shows_its_picture(page, name, part=0.5)
