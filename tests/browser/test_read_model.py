"""The model read like a book, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import open_panel, overflow, settle
from tests.locale_words import words_of


def test_from_the_start_to_line_and_number_of_a_step_in_three_clicks(visit, tmp_path):
    page = visit("/")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Read the model").click()
    step = page.locator("summary").filter(has_text="Query Q").first
    step.click()
    expect(page.get_by_text("bertviz_core/model/attention.py, line")).to_be_visible()
    opened = page.get_by_test_id("stExpander").filter(has_text="Query Q").first
    expect(opened.locator(".js-plotly-plot")).to_be_visible()
    expect(page).to_have_url(re.compile("read_layer_open=query"))
    settle(page)
    page.reload()
    expect(page.get_by_text("bertviz_core/model/attention.py, line")).to_be_visible()
    opened.get_by_role("link", name="This step on the page Layers").click()
    expect(page.locator("h3").first).to_have_text("Layer 1: Query Q")
    settle(page)
    page.go_back()
    expect(page.locator("h1")).to_have_text("Read the model")
    settle(page)
    open_panel(page, words_of("read_model")["panel_wrong"])
    page.get_by_text("中文", exact=True).click()
    page.set_viewport_size({"width": 390, "height": 900})
    expect(page.get_by_text("隐藏状态的变化")).to_be_visible()
    settle(page)
    assert overflow(page) <= 0
    the_sheet_prints_on_two_pages_without_a_network(page, tmp_path)


def the_sheet_prints_on_two_pages_without_a_network(page, tmp_path):
    words = words_of("read_model", "zh")
    open_panel(page, words["panel_sheet"])
    with page.expect_download() as waiting:
        page.get_by_role("button", name=words["sheet_save"]).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == "BERT公式.html"
    assert words["sheet_note"] in path.read_text("utf-8")
    page.goto(path.as_uri())
    expect(page.locator("math")).to_have_count(29)
    assert len(re.findall(rb"/Type /Page\b", page.pdf(prefer_css_page_size=True))) == 2
