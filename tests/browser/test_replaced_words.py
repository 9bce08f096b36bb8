"""Streamlit's own words around the pages, in the reader's language."""

from playwright.sync_api import expect

from tests.browser.conftest import LOCALES, go_to, said_after, settle
from tests.browser.test_accessibility import DARK

PRESS = "按 Ctrl+Enter", "Press Ctrl+Enter to apply"
# Each kind of box that says how to confirm: its page, and what it says.
BOXES = {
    ("pretraining", ".stTextInput input"): ("按 Enter 键确认", "Press Enter to apply"),
    ("attention", "textarea"): PRESS,
}


def test_the_menu_boxes_and_figures_speak_the_readers_language(visit, server_url):
    page = visit("/", locale=LOCALES["zh"])
    menu = page.get_by_test_id("stMainMenu")
    menu.click()
    theme = page.get_by_test_id("stMainMenuItem-theme-Dark")
    expect(theme).to_have_css("font-size", "0px")
    assert "深色" in said_after(theme)
    item = page.get_by_test_id("stMainMenuItem-print")
    assert "打印" in said_after(item.get_by_test_id("stMainMenuItemLabel"))
    theme.click()
    expect(page.locator(".stApp")).to_have_css("background-color", DARK)

    for (page_name, box), (hint, english) in BOXES.items():
        # What was typed before, and not confirmed, keeps no page from being shown.
        go_to(page, page_name)
        page.locator(box).first.press_sequentially("他")
        below = page.get_by_test_id("InputInstructions").locator("span")
        words = below.filter(has_text=english).first
        expect(words).to_have_css("font-size", "0px")
        assert hint in said_after(words)
        for count in below.all()[1:]:  # "12/300"
            expect(count).not_to_have_css("font-size", "0px")
            assert said_after(count) == "none"

    page.goto(f"{server_url}/layers?layers_step=layer_0/neurons&layers_all_tokens=true")
    figure = page.locator(".js-plotly-plot").first
    buttons = figure.locator(".modebar-btn")
    buttons.first.wait_for(state="attached")
    settle(page)
    # Those of every figure, and no other: what is not translated stays English.
    said = {said_after(button).strip('"') for button in buttons.all()}
    assert {"放大", "全屏"} <= said
    assert not [title for title in said if title.isascii()]
    figure.hover()
    with page.expect_download():
        buttons.first.click()
    told = page.locator(".plotly-notifier p").first.inner_text()
    assert any("\u4e00" <= letter <= "\u9fff" for letter in told)

    page.get_by_text("English", exact=True).click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    settle(page)
    assert said_after(buttons.first).isascii()
    menu.click()
    theme.wait_for()
    assert said_after(theme) == "none"
