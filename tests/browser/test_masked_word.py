"""The masked-word page in a real browser: clicks, keyboard, address, languages."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle

pytestmark = pytest.mark.browser

# The first answer waits for the model to load.
FIRST_ANSWER = 60_000
DEFAULT = "They were married and had three [MASK]."


def open_page(page: Page, server_url: str, query: str = "") -> None:
    page.goto(f"{server_url}/masked_word{query}")
    wait_for_figures(page, 1)


def wait_for_figures(page: Page, count: int) -> None:
    expect(page.locator(".js-plotly-plot")).to_have_count(count, timeout=FIRST_ANSWER)


def text_box(page: Page):
    return page.locator(".st-key-masked_text textarea")


def word(page: Page, name: str):
    words = page.locator(".st-key-masked_words")
    return words.get_by_role("button", name=name).or_(
        words.get_by_role("checkbox", name=name)
    )


def test_hide_predict_insert_undo(page: Page, server_url: str):
    open_page(page, server_url)
    expect(text_box(page)).to_have_value(DEFAULT)
    word(page, "married").click()
    expect(text_box(page)).to_have_value("They were [MASK] and had three [MASK].")
    expect(page.get_by_text("You hid married")).to_be_visible()
    # A second click puts the very word back, though its button looks different now.
    word(page, "married").click()
    expect(text_box(page)).to_have_value(DEFAULT)

    candidates = page.locator(".st-key-masked_insert")
    candidates.get_by_text("children", exact=True).click()
    expect(text_box(page)).to_have_value("They were married and had three children.")
    wait_for_figures(page, 0)
    page.get_by_role("button", name="Undo").click()
    expect(text_box(page)).to_have_value(DEFAULT)
    wait_for_figures(page, 1)


def test_one_of_two_equal_words_is_hidden(page: Page, server_url: str):
    open_page(page, server_url)
    text_box(page).fill("the cat and the dog saw [MASK]")
    page.get_by_role("button", name="Predict").click()
    expect(word(page, "dog")).to_be_visible()
    word(page, "the").nth(1).click()
    expect(text_box(page)).to_have_value("the cat and [MASK] dog saw [MASK]")


def test_words_are_reached_and_hidden_with_the_keyboard(page: Page, server_url: str):
    open_page(page, server_url)
    word(page, "They").focus()
    page.keyboard.press("Space")
    expect(text_box(page)).to_have_value("[MASK] were married and had three [MASK].")


def test_typed_spellings_are_understood(page: Page, server_url: str):
    open_page(page, server_url)
    text_box(page).fill("She is a ___ good <mask>.")
    text_box(page).press("Control+Enter")
    expect(page.get_by_text("Understood as [MASK]: ___, <mask>")).to_be_visible()
    expect(page.locator(".st-key-masked_mask")).to_be_visible()


def test_temperature_changes_the_picture_and_a_reload_keeps_everything(
    page: Page, server_url: str
):
    open_page(page, server_url)
    word(page, "They").click()
    expect(page).to_have_url(re.compile("masked_hidden=They"))
    settle(page)  # a key that meets a run may be lost
    slider = page.locator(".st-key-masked_temperature").get_by_role("slider")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"masked_temperature=0\.8"))
    top_k = page.locator(".st-key-masked_top_k input")
    top_k.fill("4")
    top_k.press("Enter")
    left = page.get_by_test_id("stMetric").filter(has_text="Words left")
    expect(left.get_by_test_id("stMetricValue")).to_have_text("4")
    expect(page).to_have_url(re.compile("masked_top_k=4"))

    page.reload()
    wait_for_figures(page, 1)
    expect(text_box(page)).to_have_value("[MASK] were married and had three [MASK].")
    expect(top_k).to_have_value("4")
    expect(slider).to_have_value("0.8")
    expect(left.get_by_test_id("stMetricValue")).to_have_text("4")
    word(page, "They").click()
    expect(text_box(page)).to_have_value(DEFAULT)


def test_an_emptied_text_box_loses_no_setting_and_stays_empty_after_a_reload(
    page: Page, server_url: str
):
    open_page(page, server_url, "?masked_top_k=4")
    text_box(page).fill("")
    text_box(page).press("Control+Enter")
    expect(page.get_by_text("There is no text yet")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(text_box(page)).to_have_value(DEFAULT)
    wait_for_figures(page, 1)
    expect(page.locator(".st-key-masked_top_k input")).to_have_value("4")
    text_box(page).fill("")
    text_box(page).press("Control+Enter")
    expect(page.get_by_text("There is no text yet")).to_be_visible()
    page.reload()
    expect(page.get_by_text("There is no text yet")).to_be_visible(timeout=FIRST_ANSWER)
    expect(text_box(page)).to_have_value("")


def test_a_text_too_long_for_the_address_breaks_nothing(page: Page, server_url: str):
    open_page(page, server_url)
    text_box(page).fill("word " * 10_000)
    text_box(page).press("Control+Enter")
    expect(page.get_by_text("The text is too long for this model")).to_be_visible()
    expect(page.get_by_text("too long for a link")).to_be_visible()
    expect(page).not_to_have_url(re.compile("masked_text"))
    text_box(page).fill("A short [MASK].")
    text_box(page).press("Control+Enter")
    wait_for_figures(page, 1)
    expect(page).to_have_url(re.compile("masked_text=A"))


def test_html_and_markdown_are_shown_letter_for_letter(page: Page, server_url: str):
    open_page(page, server_url)
    text = (
        "[MASK] [MASK] <img src=x onerror=alert(1)> **b** :smile: $x$ [l](http://x.y)"
    )
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    text_box(page).fill(text)
    text_box(page).press("Control+Enter")
    place = page.get_by_text("Mask 1 of 2")
    expect(place).to_contain_text("<img src=x onerror=alert")
    main = page.get_by_test_id("stMain")
    expect(main.locator("img[src=x]")).to_have_count(0)
    expect(main.locator("a[href*='x.y']")).to_have_count(0)
    expect(word(page, "smile")).to_be_visible()
    assert not dialogs


def test_the_chinese_page_speaks_chinese_and_switches(page: Page, server_url: str):
    open_page(page, server_url, "?lang=%E4%B8%AD%E6%96%87")
    expect(page.get_by_role("heading", name="猜被遮住的词")).to_be_visible()
    word(page, "足").click()
    expect(text_box(page)).to_have_value("他是一名[MASK]国[MASK]球运动员。")
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_role("heading", name="Masked words")).to_be_visible()
    expect(text_box(page)).to_have_value("他是一名[MASK]国[MASK]球运动员。")


@pytest.mark.parametrize("language", ["English", "中文"])
def test_a_laptop_shows_text_pieces_and_picture_at_once(
    page: Page, server_url: str, language: str
):
    page.set_viewport_size({"width": 1366, "height": 768})
    open_page(page, server_url, f"?lang={language}")
    pieces = page.locator(".stMarkdownBadge").last
    for shown in (text_box(page), pieces, page.locator(".js-plotly-plot")):
        box = shown.bounding_box()
        assert 0 < box["y"] < box["y"] + box["height"] <= 768


def test_the_page_fits_a_phone(page: Page, server_url: str):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server_url)
    overflow = page.get_by_test_id("stMain").evaluate(
        "element => element.scrollWidth - element.clientWidth"
    )
    assert overflow <= 0
    for figure in page.locator(".js-plotly-plot").all():
        box = figure.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
