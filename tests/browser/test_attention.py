"""The attention page in a real browser: pictures and widgets show one state."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_core import Explorer
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.figures.attention_thumbnails import LINKS_PER_ROW
from tests.browser.conftest import overflow
from tests.browser.test_attention_canvas import cell_position, click_head

pytestmark = pytest.mark.browser

FIRST_ANSWER = 60_000
NUM_HEADS = 8  # of the bundled model


def open_page(visit, query: str = "", **browser):
    page = visit(f"/attention{query}", **browser)
    view = page.locator(".attention").first
    expect(view).to_have_attribute(
        "data-grid-ms", re.compile(r"\d"), timeout=FIRST_ANSWER
    )
    return page, view


def chosen(page: Page, name: str):
    return page.locator(f".st-key-attention_{name}").get_by_role("combobox")


def test_a_click_on_a_head_moves_widgets_and_questions(visit):
    page, view = open_page(visit, "?attention_panel=arithmetic")
    click_head(view, 3, 6, NUM_HEADS)
    expect(view).to_have_attribute("data-head", "6")
    expect(page.get_by_text("How head 3·6 arrives at one number")).to_be_visible()
    expect(page).to_have_url(re.compile("attention_layer=3"))
    expect(page).to_have_url(re.compile("attention_head=6"))


def test_a_link_brings_head_panel_and_filters_back_in_the_other_language(visit):
    query = "?attention_layer=2&attention_head=4&attention_panel=switch"
    query += "&attention_hide_special=true&attention_drawn=row_lying_0.1_"
    page, view = open_page(visit, f"{query}&lang=中文")
    expect(page.get_by_role("heading", name="谁看向谁")).to_be_visible()
    expect(view).to_have_attribute("data-layer", "2")
    expect(view).to_have_attribute("data-head", "4")
    expect(page.get_by_text("要关掉的头")).to_be_visible()
    expect(view.locator(".filters")).to_contain_text("已隐藏 [CLS] 和 [SEP]")
    expect(view.get_by_label("刻度")).to_have_value("row")
    view.get_by_label("刻度").select_option("log")
    expect(page).to_have_url(re.compile("attention_drawn=log_lying_0.1_"))


def test_a_widget_moves_the_pictures(visit):
    page, view = open_page(visit)
    page.locator(".st-key-attention_layer").get_by_role("combobox").click()
    page.get_by_role("option", name="4", exact=True).click()
    expect(view).to_have_attribute("data-layer", "4")


def test_a_click_on_a_similar_head_moves_the_pictures(visit):
    page, view = open_page(visit)
    similar = page.locator("[class*=st-key-attention_near_]").first
    wanted = re.search(r"(\d+)·(\d+)", similar.inner_text())
    similar.get_by_role("button").click()
    expect(view).to_have_attribute("data-layer", wanted[1])
    expect(view).to_have_attribute("data-head", wanted[2])
    expect(chosen(page, "head")).to_have_value(wanted[2])
    title = f"Heads that look like {wanted[1]}·{wanted[2]}"
    expect(page.get_by_text(title)).to_be_visible()


def test_a_locked_cell_is_the_pair_that_the_arithmetic_is_about(visit):
    page, view = open_page(
        visit, "?attention_panel=arithmetic&attention_text=a+cat+sat"
    )
    at = cell_position(view, 2, 1, num_tokens=5)
    view.locator("canvas.heat").click(position=at)
    expect(chosen(page, "from")).to_have_value("3 cat")
    expect(chosen(page, "to")).to_have_value("2 a")
    expect(page).to_have_url(re.compile("attention_from=2&attention_to=1"))


def test_the_views_are_saved_as_files_that_ask_nobody(visit, tmp_path):
    page, _ = open_page(visit)
    page.locator(".st-key-attention_downloads").get_by_role("button").first.click()
    box = page.get_by_test_id("stPopoverBody")
    for name, start in (
        ("Heatmap (SVG)", "<svg"),
        ("Lines (SVG)", "<svg"),
        ("All heads (SVG)", "<svg"),
        ("Table (CSV)", "\ufeffshown,layer,head"),
        ("strongest weight of each row (CSV)", "\ufefflayer,head"),
        ("All three views", "<!doctype html>"),
    ):
        with page.expect_download() as download:
            box.get_by_role("button", name=name).click()
        path = tmp_path / "file"
        download.value.save_as(path)
        assert path.read_text("utf-8").startswith(start), name
    assert "default-src 'none'" in path.read_text("utf-8")


def test_the_page_that_was_saved_shows_other_heads_without_a_network(
    visit, new_page, tmp_path
):
    page, _ = open_page(visit, "?attention_text=a+cat+sat")
    page.locator(".st-key-attention_downloads").get_by_role("button").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="All three views").click()
    file = tmp_path / "attention.html"
    download.value.save_as(file)
    alone = new_page(base="file:")
    alone.context.set_offline(True)
    alone.goto(file.as_uri())
    shown = alone.locator(".attention")
    heat = shown.locator("canvas.heat")
    before = heat.evaluate("canvas => canvas.toDataURL()")
    click_head(shown, 4, 7, NUM_HEADS)
    expect(shown.locator("h4", has_text="Heatmap: layer 4, head 7")).to_be_visible()
    assert heat.evaluate("canvas => canvas.toDataURL()") != before
    heat.hover(position=cell_position(shown, 2, 1, num_tokens=5))
    weight = attention_of("a cat sat")[3, 6, 2, 1]
    expect(shown.get_by_role("status").first).to_contain_text(
        f"cat → a · layer 4, head 7 · weight {weight:.4f}"
    )


def attention_of(text: str) -> np.ndarray:
    """All weights of the bundled model on a text, in the process of the tests."""
    found = Explorer.open(DEFAULT_MODEL).trace(text).attention_probs
    assert found is not None
    return found


def test_lines_of_an_added_head_of_a_long_text_are_counted_as_far_as_they_are_known(
    visit,
):
    text = " ".join(["the old cat sat on a mat"] * 8)
    _, view = open_page(visit, f"?attention_text={text.replace(' ', '+')}")
    view.get_by_role("button", name="Show head 4").click()
    expect(view).to_have_attribute("aria-busy", "false")
    view.get_by_label("Lines from").fill("0.01")
    own, added = attention_of(text)[0, [0, 3]]
    assert len(own) > 40, "every head would be held exactly"
    sent = -np.sort(-added, axis=-1)[:, :LINKS_PER_ROW]
    assert (sent[:, -1] >= 0.01).any(), "nothing was left out"
    total = int((own >= 0.01).sum() + (sent >= 0.01).sum())
    drawn = min(total, 1500)
    said = view.locator(".lines-count")
    expect(said).to_contain_text(f"Lines drawn: {drawn} of at least {total}. Of an")
    expect(view).to_have_attribute("data-lines", str(drawn))


def test_a_map_is_saved_as_a_picture_a_table_and_a_page(visit):
    page, _ = open_page(visit, "?attention_panel=maps")
    key = "attention_map_mass"
    page.locator(f".st-key-{key}_downloads").get_by_role("button").first.click()
    for name, ending, start in (
        ("Map (SVG)", "svg", "<svg"),
        ("Table (CSV)", "csv", "\ufefflayer,head,attention to words"),
        ("works offline", "html", "<!doctype html>"),
    ):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"{key}.{ending}"
        assert download.value.path().read_text("utf-8").startswith(start)
    page.keyboard.press("Escape")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save PNG").last.click()
    assert download.value.suggested_filename == f"{key}.png"


def test_a_click_in_the_grid_of_a_difference_moves_all_pictures(visit):
    query = "?attention_panel=compare&attention_text=the+dog+ran"
    page, view = open_page(visit, f"{query}&attention_compared_text=the+cow+ran")
    shown = page.locator(".st-key-attention_difference .attention")
    title = "Heatmap: second minus first · layer {}, head {}"
    expect(shown.locator("h4", has_text=title.format(1, 1))).to_be_visible()
    click_head(shown, 3, 6, NUM_HEADS)
    expect(shown.locator("h4", has_text=title.format(3, 6))).to_be_visible()
    expect(shown).to_have_attribute("aria-busy", "false")
    expect(view).to_have_attribute("data-layer", "3")
    expect(view).to_have_attribute("data-head", "6")
    expect(chosen(page, "layer")).to_have_value("3")
    heat = shown.locator("canvas.heat")
    heat.click(position=cell_position(shown, 2, 1, num_tokens=5))
    said = shown.get_by_role("status").first
    expect(said).to_contain_text(
        re.compile(
            r"dog / cow → the · .* · difference in weight [+−]0\.\d{4} · rank \d"
        )
    )
    shown.get_by_text("As a table").nth(1).click()
    expect(shown.locator(".heat-part thead")).to_have_text(
        "FromToDifference in weightRank in row"
    )
    expect(view).to_have_attribute("data-locked", "false")


def test_the_longest_text_is_usable_and_cut_with_a_sentence(visit):
    page, view = open_page(visit, "?attention_text=" + "+".join(["the cat sat"] * 180))
    click_head(view, 2, 3, NUM_HEADS)
    expect(view).to_have_attribute("data-head", "3", timeout=FIRST_ANSWER)
    expect(page.get_by_text("at most", exact=False).first).to_be_visible()


def test_the_page_fits_a_phone(visit):
    page, _ = open_page(visit, width=390)
    assert overflow(page) <= 0
