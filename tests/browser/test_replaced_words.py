"""Streamlit's own words around the pages, in the reader's language."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOCALES, said_after, settle
from tests.browser.test_frame import DARK

PRESS = "按 Ctrl+Enter", "Press Ctrl+Enter to apply"
# Each kind of box that says how to confirm: its page, and what it says.
BOXES = {
    ("pretraining", ".stTextInput input"): ("按 Enter 键确认", "Press Enter to apply"),
    ("attention", "textarea"): PRESS,
    ("masked_word", "textarea"): PRESS,
}


def test_the_hint_below_a_box_is_chinese_and_the_count_stays(visit, server_url):
    page = visit("/", locale=LOCALES["zh"])
    for (page_name, box), (hint, english) in BOXES.items():
        page.goto(f"{server_url}/{page_name}")
        settle(page)
        page.locator(box).first.press_sequentially("他")
        below = page.get_by_test_id("InputInstructions").locator("span")
        words = below.filter(has_text=english).first
        expect(words).to_have_css("font-size", "0px")
        assert hint in said_after(words)
        for count in below.all()[1:]:  # "12/300"
            expect(count).not_to_have_css("font-size", "0px")
            assert said_after(count) == "none"


@pytest.mark.parametrize(
    ("language", "dark", "printing"), [("en", "none", "none"), ("zh", "深色", "打印")]
)
def test_the_menu_speaks_the_readers_language(visit, language, dark, printing):
    page = visit("/", locale=LOCALES[language])
    page.get_by_test_id("stMainMenu").click()
    theme = page.get_by_test_id("stMainMenuItem-theme-Dark")
    theme.wait_for()
    if language != "en":  # The style sheet may come a moment after the page.
        expect(theme).to_have_css("font-size", "0px")
    assert dark in said_after(theme)
    item = page.get_by_test_id("stMainMenuItem-print")
    assert printing in said_after(item.get_by_test_id("stMainMenuItemLabel"))
    theme.click()
    expect(page.locator(".stApp")).to_have_css("background-color", DARK)


@pytest.mark.parametrize(
    ("language", "titles"),
    [("en", {"Zoom in", "Fullscreen"}), ("zh", {"放大", "全屏"})],
)
def test_the_buttons_of_a_figure_speak_the_readers_language(
    visit, server_url, language, titles
):
    table = "/layers?layers_step=layer_0/neurons&layers_all_tokens=true"
    page = visit(table, locale=LOCALES[language])
    buttons = page.locator(".js-plotly-plot .modebar-btn")
    buttons.first.wait_for(state="attached")
    settle(page)
    # Those of every figure, and no other: what is not translated stays English.
    said = {said_after(button).strip('"') for button in buttons.all()}
    assert titles <= said
    is_chinese = language == "zh"
    if is_chinese:
        assert not [title for title in said if title.isascii()]

    page.goto(f"{server_url}/masked_word")
    figure = page.locator(".js-plotly-plot").first
    figure.locator(".bartext").first.wait_for()
    settle(page)
    figure.hover()
    with page.expect_download():
        figure.locator(".modebar-btn").first.click()
    told = page.locator(".plotly-notifier p").first.inner_text()
    assert any("\u4e00" <= letter <= "\u9fff" for letter in told) == is_chinese
