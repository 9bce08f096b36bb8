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
# Words of Streamlit's that a screen reader or an empty box says.
ENGLISH = """[aria-label^=Help], [placeholder^="Choose "],
[aria-label$=" icon"]:not([aria-hidden])"""

# Of the choices in a list.
ARE_READ_TO_THEIR_END = """all => all.every(({ firstElementChild: text }) =>
  text.scrollWidth <= text.clientWidth && text.scrollHeight <= text.clientHeight)"""

# Of letters in figures: none has the grey of Streamlit, which is too pale to read, or
# that of plotly on a coloured cell.
ARE_DARK = """all => all.every((one) =>
  !['rgb(128, 132, 149)', 'rgb(68, 68, 68)'].includes(getComputedStyle(one).fill))"""

# Of formulas: nothing sticks out above or below its box, where it would be cut.
ARE_WHOLE = """boxes => boxes.every((box) => {
  const { top, bottom } = box.getBoundingClientRect()
  return [...box.querySelectorAll('.katex-html .mord:not(:has(*))')].every((one) => {
    const of = one.getBoundingClientRect()
    return of.top >= top && of.bottom <= bottom
  })
})"""


def faults(page, rules=None, part="html"):
    """Serious and critical findings: the rule and the elements that break it.

    Args:
        rules: those that are looked at; `None` looks at all.
        part: of the page, by a selector.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    asked = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = page.evaluate("asked => axe.run(...asked)", [part, asked])["violations"]
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


def opens_without_a_fault(page):
    """Each tool of a figure, and how to read the page, which a keyboard reads on."""
    tools = ".st-key-masked_candidates_tools"
    opened = page.locator(f"{tools} + *")
    for tool in page.locator(f"{tools} button").all():
        before = opened.inner_text()
        tool.click()
        expect(opened).not_to_have_text(before, use_inner_text=True)
        settle(page)
        be_tended(page)
        assert faults(page, part=f"{tools}, {tools} + *") == set(), tool.inner_text()
    explained = page.get_by_test_id("stPopoverBody")
    page.locator(".st-key-sentence_file button").click()
    expect(explained).to_be_visible()
    be_tended(page)
    assert faults(page, part=".st-key-sentence_file") == set()
    page.keyboard.press("Escape")
    expect(explained).to_have_count(0)
    page.locator(".st-key-text_example input").click()
    options = page.get_by_role("option")
    expect(options.first).to_be_visible()
    assert options.evaluate_all(ARE_READ_TO_THEIR_END)
    page.keyboard.press("Escape")
    page.locator(".st-key-page_head button").press("Enter")
    expect(explained).to_be_focused()
    assert faults(page, part="[data-testid=stPopoverBody]") == set()
    page.keyboard.press("End")
    page.wait_for_function("part => part.scrollTop > 0", arg=explained.element_handle())
    page.keyboard.press("Escape")
    expect(explained).to_have_count(0)


def shows_the_focus(page):
    """On a switch, and on the buttons of a figure and of a table."""
    switch = "[data-testid=stCheckbox]"
    page.keyboard.press("Tab")  # else the focus is that of a pointer
    framed, tools = ("outline-style", "solid"), "[data-testid=stElementToolbar]"
    for part, shown, (look, value) in (
        (f"{switch} input", f"{switch} label", framed),
        (".modebar-btn", ".modebar-btn", framed),
        (f"{tools} button", tools, ("opacity", "1")),
    ):
        page.locator(part).first.focus()
        expect(page.locator(shown).first).to_have_css(look, value)
    page.get_by_test_id("stMain").evaluate("one => one.scrollTo(0, 0)")


@pytest.mark.parametrize(
    ("language", "theme", "ground", "rules"),
    [("en", "light", WHITE, ["color-contrast"]), ("zh", "dark", DARK, None)],
    ids=["en light", "zh dark"],
)
def test_a_laptop_shows_each_page_and_axe_finds_nothing_serious(
    visit, language, theme, ground, rules
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
        # Of a theme the colours are its own, and all else that of the other.
        assert faults(page, rules) == set(), name
        assert page.locator(".katex-display").evaluate_all(ARE_WHOLE), name
        assert page.locator(".js-plotly-plot text").evaluate_all(ARE_DARK), name
        if name == "embeddings":
            shows_the_focus(page)
        if name == "masked_word":
            opens_without_a_fault(page)
        if language == "zh":
            expect(page.locator(ENGLISH)).to_have_count(0)


def test_a_projector_shows_half_of_each_picture_in_large_type(visit):
    """Or all of one that is not as high; its colours are those of any page."""
    page = visit("/?projector=true", width=1366)
    page.set_viewport_size(LAPTOP)
    expect(page.locator("html")).to_have_css("font-size", "22px")
    for name in ICONS:
        if name != FIRST:
            go_to(page, name)
        if name in PICTURES:
            shows_its_picture(page, name, part=0.5)
        assert page.locator(".katex-display").evaluate_all(ARE_WHOLE), name
