"""The masked-word page in a real browser: clicks, keyboard, links, files."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import settle

DEFAULT = "They were married and had three [MASK]."
FIGURE = ".js-plotly-plot"


def wait_for_figures(page: Page, count: int) -> None:
    expect(page.locator(FIGURE)).to_have_count(count)
    settle(page)


def text_box(page: Page):
    return page.locator(".st-key-text textarea")


def shows(page: Page, text: str) -> None:
    expect(text_box(page)).to_have_value(text)
    settle(page)  # a click or a key that meets a run may be lost


def type_text(page: Page, text: str) -> None:
    text_box(page).fill(text)
    text_box(page).press("Control+Enter")


def word(page: Page, name: str):
    words = page.locator(".st-key-masked_words")
    return words.get_by_role("button", name=name).or_(
        words.get_by_role("checkbox", name=name)
    )


def test_words_are_hidden_replaced_and_typed_and_a_reload_keeps_everything(
    visit, new_page, tmp_path
):
    page = visit("/masked_word")
    a_figure_is_saved_as_page_table_and_picture(page, new_page, tmp_path)
    shows(page, DEFAULT)
    words_are_hidden_and_put_back(page)
    a_candidate_is_inserted_and_taken_back(page)
    one_of_two_equal_words_is_hidden_and_an_earlier_text_comes_back(page)
    temperature_changes_the_picture_and_a_reload_keeps_everything(page)
    a_text_is_shown_letter_for_letter(page)
    an_empty_text_stays_and_no_setting_is_lost(page)


def words_are_hidden_and_put_back(page):
    word(page, "married").click()
    shows(page, "They were [MASK] and had three [MASK].")
    expect(page.get_by_text("You hid married")).to_be_visible()
    # A second click puts the very word back, though its button looks different now.
    word(page, "married").click()
    shows(page, DEFAULT)
    word(page, "They").focus()
    page.keyboard.press("Space")
    shows(page, "[MASK] were married and had three [MASK].")
    expect(word(page, "They")).to_be_focused()
    page.get_by_role("button", name="Undo").click()
    shows(page, DEFAULT)


def a_candidate_is_inserted_and_taken_back(page):
    candidates = page.locator(".st-key-masked_insert")
    candidates.get_by_text("children", exact=True).click()
    shows(page, "They were married and had three children.")
    wait_for_figures(page, 0)
    page.get_by_role("button", name="Undo").click()
    shows(page, DEFAULT)
    wait_for_figures(page, 1)


def one_of_two_equal_words_is_hidden_and_an_earlier_text_comes_back(page):
    text_box(page).fill("the cat and the dog saw [MASK]")
    page.get_by_role("button", name="Read", exact=True).click()
    expect(word(page, "dog")).to_be_visible()
    settle(page)
    word(page, "the").nth(1).click()
    shows(page, "the cat and [MASK] dog saw [MASK]")
    page.locator(".st-key-masked_earlier input").click()
    page.get_by_role("option", name=DEFAULT).click()
    shows(page, DEFAULT)
    page.get_by_role("button", name="Undo").click()
    shows(page, "the cat and [MASK] dog saw [MASK]")


def temperature_changes_the_picture_and_a_reload_keeps_everything(page):
    type_text(page, DEFAULT)
    shows(page, DEFAULT)
    word(page, "They").click()
    expect(page).to_have_url(re.compile("hidden=They"))
    settle(page)
    slider = page.locator(".st-key-masked_temperature").get_by_role("slider")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"masked_temperature=0\.8"))
    settle(page)
    top_k = page.locator(".st-key-masked_top_k input")
    top_k.fill("4")
    top_k.press("Enter")
    left = page.get_by_text("Words left 4 (before: 16,384)")
    expect(left).to_be_visible()
    expect(page).to_have_url(re.compile("masked_top_k=4"))

    page.reload()
    wait_for_figures(page, 1)
    shows(page, "[MASK] were married and had three [MASK].")
    expect(top_k).to_have_value("4")
    expect(slider).to_have_value("0.8")
    expect(left).to_be_visible()
    word(page, "They").click()
    shows(page, DEFAULT)


def a_text_is_shown_letter_for_letter(page):
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    type_text(
        page, "[MASK] [MASK] <img src=x onerror=alert(1)> **b** :smile: [l](http://x.y)"
    )
    place = page.get_by_text("Mask 1 of 2")
    expect(place).to_contain_text("<img src=x onerror=alert")
    expect(word(page, "smile")).to_be_visible()
    made = page.get_by_test_id("stMain").locator("img[src=x], a[href*='x.y']")
    expect(made).to_have_count(0)
    assert not dialogs


def an_empty_text_stays_and_no_setting_is_lost(page):
    type_text(page, "word " * 10_000)
    expect(page.get_by_text("Only the beginning is read")).to_be_visible()
    expect(page).to_have_url(re.compile("text=zlib"))
    type_text(page, "")
    expect(page.get_by_text("There is no text yet")).to_be_visible()
    settle(page)
    page.reload()
    expect(page.get_by_text("There is no text yet")).to_be_visible()
    expect(text_box(page)).to_have_value("")
    type_text(page, "A short [MASK].")
    wait_for_figures(page, 1)
    expect(page.locator(".st-key-masked_top_k input")).to_have_value("4")


def all_in_view(page: Page) -> None:
    """A laptop shows text, pieces and picture at once."""
    pieces = page.locator(".stMarkdownBadge").last
    for shown in (text_box(page), pieces, page.locator(FIGURE)):
        box = shown.bounding_box()
        assert 0 < box["y"] < box["y"] + box["height"] <= 768


def open_downloads(page: Page) -> None:
    tools = page.locator(".st-key-masked_candidates_tools")
    tools.get_by_role("radio", name="Download").click()


def a_figure_is_saved_as_page_table_and_picture(page, new_page, tmp_path):
    wait_for_figures(page, 1)
    page.set_viewport_size({"width": 1366, "height": 768})
    all_in_view(page)
    path = tmp_path / "file.html"

    def save(click) -> bytes:
        with page.expect_download() as download:
            click()
        download.value.save_as(path)
        return path.read_bytes()

    def camera() -> None:
        page.locator(FIGURE).first.hover()
        page.locator(f"{FIGURE} [data-title*=Download]").first.click()

    assert save(camera).startswith(b"<svg")
    open_downloads(page)
    table = save(page.get_by_role("button", name="Table (CSV)").first.click)
    header, first, *_ = table.decode("utf-8-sig").splitlines()
    assert header.count(",") == first.count(",") > 0
    save(page.get_by_role("button", name="Figure (HTML").first.click)
    # It opens without a network.
    alone = new_page(base="file:")
    alone.context.set_offline(True)
    alone.goto(path.as_uri())
    alone.locator(f"{FIGURE} svg").first.wait_for()
    expect(alone.locator(".bars path, .point path")).not_to_have_count(0)
    page.get_by_role("radio", name="PNG").first.click()
    settle(page)
    page.keyboard.press("Escape")
    assert save(camera).startswith(b"\x89PNG")
