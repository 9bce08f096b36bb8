"""Streamlit's own words around the pages, in the reader's language."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOCALES, running_server, said_after


def shown_size(locator):
    return locator.evaluate("e => getComputedStyle(e).fontSize")


@pytest.mark.parametrize(
    ("page_name", "box", "hint", "english"),
    [
        ("", ".stTextInput input", "按 Enter 键确认", "Press Enter to apply"),
        ("attention", "textarea", "按 Ctrl+Enter", "Press Ctrl+Enter to apply"),
        ("masked_word", "textarea", "按 Ctrl+Enter", "Press Ctrl+Enter to apply"),
    ],
)
def test_the_hint_below_a_box_is_chinese_and_the_count_stays(
    visit, page_name, box, hint, english
):
    page = visit(f"/{page_name}", locale=LOCALES["zh"])
    typed = page.locator(box).first
    typed.click()
    typed.press_sequentially("他")
    below = page.get_by_test_id("InputInstructions").locator("span")
    words = below.filter(has_text=english).first
    words.wait_for(state="attached")
    assert hint in said_after(words)
    assert shown_size(words) == "0px"
    for index in range(1, below.count()):  # "12/300"
        assert said_after(below.nth(index)) == "none"
        assert shown_size(below.nth(index)) != "0px"


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
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
        " === 'rgb(18, 22, 29)'"
    )


@pytest.mark.parametrize(
    ("language", "titles"),
    [("en", {"Zoom in", "Fullscreen"}), ("zh", {"放大", "全屏"})],
)
def test_the_buttons_of_a_figure_speak_the_readers_language(visit, language, titles):
    table = "/layers?layers_step=layer_0/neurons&layers_all_tokens=true"
    page = visit(table, locale=LOCALES[language])
    buttons = page.locator(".js-plotly-plot .modebar-btn")
    buttons.first.wait_for(state="attached")
    # Those of every figure, and no other: what is not translated stays English.
    said = {said_after(button).strip('"') for button in buttons.all()}
    assert titles <= said
    if language == "zh":
        assert not [title for title in said if title.isascii()]


@pytest.mark.parametrize("language", LOCALES)
def test_the_camera_of_a_figure_speaks_the_readers_language(visit, language):
    page = visit("/masked_word", locale=LOCALES[language])
    figure = page.locator(".js-plotly-plot").first
    figure.locator(".bartext").first.wait_for()
    figure.hover()
    with page.expect_download():
        figure.locator(".modebar-btn").first.click()
    said = page.locator(".plotly-notifier p").first.inner_text()
    is_chinese = any("\u4e00" <= letter <= "\u9fff" for letter in said)
    assert is_chinese == (language == "zh")


def test_no_offer_to_developers_covers_the_page(visit, tmp_path):
    """As `make app` starts it, where somebody has a tool that Streamlit looks for."""
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    as_make_app = {
        "HOME": str(tmp_path / "home"),
        "BROWSER": "true",
        "STREAMLIT_SERVER_HEADLESS": "false",
        "STREAMLIT_SERVER_SHOW_EMAIL_PROMPT": "false",
    }
    with running_server(
        tmp_path / "cache", tmp_path / "log.txt", **as_make_app
    ) as server:
        page = visit("/models", base=server.url)
        offer = page.get_by_test_id("stSkillsNudge")
        expect(offer).to_be_attached()
        expect(offer).to_be_hidden()
        page.context.close()
