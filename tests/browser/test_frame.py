"""The frame in a real browser: language, the way back, keyboard, phones."""

import contextlib
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOCALES, box, go_to, overflow, settle

SIDEBAR = "[data-testid=stSidebar]"
LINK = "[data-testid=stPageLink-NavLink]"


def heading(page, name):
    return page.get_by_role("heading", name=name, exact=True)


def test_the_language_is_the_browsers_then_the_chosen_one_everywhere(visit):
    page = visit("/", locale=LOCALES["zh"])
    root, menu = page.locator("html"), page.get_by_test_id("stMainMenuButton")
    title = page.get_by_role("heading", name="可以探索什么")
    expect(title).to_be_visible()
    assert "lang=" not in page.url
    expect(root).to_have_attribute("lang", "zh")
    expect(menu).to_have_attribute("aria-label", "主菜单")
    page.get_by_role("radio", name="English").click()
    expect(root).to_have_attribute("lang", "en")
    expect(menu).to_have_attribute("aria-label", "Main menu")
    page.get_by_role("link", name="Models").first.click()
    heading(page, "Models").wait_for()


# As where the page has said its model before the frame began, and says it once more.
SAID_EARLY = """() => {
  const said = location.href
  History.prototype.replaceState.call(history, null, '', '/')
  History.prototype.pushState.call(history, null, '', said)
  const sayAgain = () => history.pushState(null, '', said)
  addEventListener('popstate', sayAgain, { once: true })
}"""


@pytest.mark.parametrize("before", ["() => {}", SAID_EARLY], ids=["later", "early"])
def test_the_first_page_is_one_step_of_the_way_back(visit, before):
    """Though it writes its model into the address once it is open."""
    page = visit("/", locale=LOCALES["zh"])
    expect(page).to_have_url(re.compile(r"/\?model=bert-mini-zh$"))
    # What tends the history tells the language, too.
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    page.evaluate(before)
    page.evaluate("history.back()")
    expect(page).to_have_url("about:blank")


def test_the_keyboard_reaches_all_and_nothing_covers_the_menu(visit):
    page = visit("/")
    link = page.locator(f"{SIDEBAR} {LINK}").nth(1)
    assert link.evaluate("link => getComputedStyle(link).outlineStyle") == "none"
    reached, outline = "", ""
    for _ in range(40):
        page.keyboard.press("Tab")
        reached += page.evaluate(
            "'\\n' + document.activeElement.getAttribute('aria-label') + '|' +"
            "document.activeElement.innerText"
        )
        if link.evaluate("link => link === document.activeElement"):
            outline = link.evaluate("link => getComputedStyle(link).outlineStyle")
    for name in ("Masked words", "Models", "English", "Your text", "Read"):
        assert name in reached
    assert outline == "solid"
    link.focus()  # away from a question mark that explains itself
    link.hover()
    page.wait_for_timeout(1000)  # in which a tooltip would come
    expect(page.get_by_test_id("stTooltipContent")).to_have_count(0)
    # A click on a page leaves the menu of a wide screen.
    page.locator(SIDEBAR).get_by_role("link", name="Models").click()
    heading(page, "Models").wait_for()
    settle(page)
    expect(page.locator(SIDEBAR)).to_be_in_viewport()


def test_how_to_read_a_page_stands_open_on_the_first_visit_of_a_browser(
    browser, server_url
):
    with contextlib.closing(browser.new_context(locale=LOCALES["en"])) as context:
        page = context.new_page()
        told = page.locator(".st-key-first_visit")
        for name, is_first in (
            *(("models", True), ("models", False)),
            ("pretraining", True),
        ):
            page.goto(f"{server_url}/{name}")
            settle(page)
            # The frame's script notes the visit, and may come after the page's words.
            page.wait_for_function(
                "name => localStorage.getItem(`visited /${name}`) !== null", arg=name
            )
            expect(told).to_be_visible(visible=is_first)
        menu = page.locator(SIDEBAR)
        for name, is_first in (("Layers", True), ("Models", False), ("Layers", False)):
            menu.get_by_role("link", name=name).click()
            heading(page, name).wait_for()
            settle(page)
            expect(told).to_be_visible(visible=is_first)
        # A click brings the same back.
        page.locator(".st-key-page_head button").click()
        expect(page.get_by_test_id("stPopoverBody")).to_contain_text("What you see")


def no_hint_lies_on_what_is_typed(page, typed):
    typed.press_sequentially("a")
    hint = page.get_by_test_id("InputInstructions").first
    hint.wait_for()
    assert box(hint)[1] >= box(typed)[3]
    # Nor is it cut off: it is what is found where it stands.
    assert hint.evaluate(
        "hint => { const { x, y, width, height } = hint.getBoundingClientRect();"
        " return document.elementsFromPoint(x + width / 2, y + height / 2)"
        ".some((one) => hint.contains(one)) }"
    )


def test_a_phone_shows_all_and_does_not_scroll_sideways(visit):
    page = visit("/", width=390)
    assert overflow(page) <= 0
    typed = page.locator(".st-key-text textarea")
    assert typed.evaluate("input => input.scrollWidth - input.clientWidth") <= 0
    no_hint_lies_on_what_is_typed(page, typed)
    # A menu that is folded away has no stop of the Tab key.
    for _ in range(3):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "!document.activeElement.closest('[data-testid=stSidebar]')"
        )
    # A tap on a page puts the menu away.
    page.get_by_test_id("stExpandSidebarButton").click()
    page.locator(SIDEBAR).get_by_role("link", name="Models").click()
    heading(page, "Models").wait_for()
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    expect(page.locator(SIDEBAR)).not_to_be_in_viewport()
    name = page.get_by_test_id("stFileUploaderDropzone").locator("button p")
    # What a style sheet writes is no name to every screen reader.
    assert name.evaluate("name => name.checkVisibility()")
    settle(page)
    assert overflow(page) <= 0

    page.get_by_test_id("stExpandSidebarButton").click()
    go_to(page, "pretraining")
    code = page.locator("pre").first
    # What scrolls sideways is reached by keyboard.
    expect(code).to_have_attribute("tabindex", "0")
    assert code.evaluate("code => code.scrollWidth > code.clientWidth")
    assert overflow(page) <= 0
    page.get_by_test_id("stExpandSidebarButton").click()
    go_to(page, "attention")
    no_hint_lies_on_what_is_typed(page, page.locator("textarea").first)
