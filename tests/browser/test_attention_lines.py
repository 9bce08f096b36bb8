"""The attention component in a real browser: long texts, and what is saved."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.figures.attention_export import attention_html
from bertviz_core.figures.attention_thumbnails import LINKS_PER_ROW, grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView, HeadMap, token_kinds
from tests.browser.attention_alone import (
    GRID_LABEL,
    LINES_ROW,
    RECORD_TEXTS,
    click_head,
    weights_of,
)
from tests.browser.conftest import open_table
from tests.locale_words import component_words

MOST_LINES = 1500


def save(shown):
    """The width and the height of the picture, in pixels."""
    picture = shown.save("png")[1].read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    return [int.from_bytes(picture[i : i + 4], "big") for i in (16, 20)]


def status(view):
    return view.locator(".status")


def expect_small(view, width):
    """It is said that a picture is smaller than the screen, and how much."""
    on_screen = view.locator(".heat-box .space").bounding_box()["width"] + 2 * 16
    percent = int(100 * width / on_screen)
    assert percent < 100, "nothing to say"
    note = view.locator(".save-note")
    expect(note).to_contain_text(re.compile(f"saved at ({percent}|{percent + 1})% of"))
    expect(note).to_have_role("status")


# A browser that makes no canvas above so many pixels; it gives no picture of one.
LIMIT_CANVAS = """(most) => {
  const make = HTMLCanvasElement.prototype.toBlob
  HTMLCanvasElement.prototype.toBlob = function (take) {
    if (this.width * this.height > most) return setTimeout(() => take(null))
    return make.call(this, take)
  }
}"""


def test_of_128_tokens_lines_are_counted_and_another_head_is_saved_whole(alone):
    shown = alone("middle")
    page, view = shown.page, shown.view
    counted = view.locator(".lines-count")
    own, added = (weights_of(1, head, 128) for head in (1, 11))
    total = int((own >= 0.05).sum())
    expect(counted).to_have_text(f"Lines drawn: {total} of {total}")
    threshold = view.get_by_label("Lines from")
    threshold.fill("0")
    expect(counted).to_have_text(f"Lines drawn: {MOST_LINES} of {128 * 128}")
    shown.canvas("lines").click(position={"x": 40, "y": 3.5 * LINES_ROW})
    expect(counted).to_have_text("Lines drawn: 128 of 128")
    shown.canvas("lines").click(position={"x": 40, "y": 3.5 * LINES_ROW})
    # Of an added head not all was sent: the count is a least.
    threshold.fill("0.02")
    view.get_by_role("button", name="Show head 11").click()
    sent = -np.sort(-added, axis=-1)[:, :LINKS_PER_ROW]
    assert (sent[:, -1] >= 0.02).any(), "nothing was left out"
    total = int((own >= 0.02).sum() + (sent >= 0.02).sum())
    expect(counted).to_have_text(
        f"Lines drawn: {min(total, MOST_LINES)} of at least {total}. Of an added head, "
        "only the 8 strongest of each token are here."
    )
    threshold.fill("0.3")
    total = int((own >= 0.3).sum() + (added >= 0.3).sum())
    expect(counted).to_have_text(f"Lines drawn: {total} of {total}")

    shown.click_head(2, 2)
    expect(view).to_have_attribute("aria-busy", "false")
    expect(shown.title("Heatmap: layer 2,")).to_be_visible()
    # Also what is scrolled out of sight, with twice the pixels.
    width, height = save(shown)
    canvases = [shown.canvas(one).bounding_box() for one in ("grid", "heat", "lines")]
    assert width >= 2 * max(box["width"] for box in canvases)
    assert height >= 2 * 128 * (LINES_ROW + 13)
    expect(view.locator(".save-note")).to_be_hidden()
    page.evaluate(LIMIT_CANVAS, 4_000_000)
    width, height = save(shown)
    assert 500_000 < width * height <= 4_000_000
    expect_small(view, width)
    page.evaluate(LIMIT_CANVAS, 0)
    shown.ask_to_save("png")
    expect(view.locator(".save-note")).to_contain_text("No picture was saved")
    shown.canvas("lines").scroll_into_view_if_needed()
    page.mouse.move(700, 400)
    page.mouse.wheel(0, 3000)
    expect(shown.status).to_be_in_viewport(ratio=1)


COUNT_DRAWINGS = """(view) => {
  window.drawings = 0
  const note = () => (window.drawings += 1)
  new MutationObserver(note).observe(view, { attributeFilter: ['data-grid-ms'] })
}"""


def test_512_tokens_are_usable(alone):
    shown = alone("long")
    page, view = shown.page, shown.view
    box, heat = view.locator(".heat-box"), shown.canvas("heat")
    assert box.evaluate("box => box.scrollHeight") > 5_000
    assert max(heat.evaluate("c => [c.width, c.height]")) < 2_000
    box.evaluate("box => box.scrollTo(box.scrollWidth, box.scrollHeight)")
    size = heat.bounding_box()
    heat.hover(position={"x": size["width"] - 30, "y": size["height"] - 30})
    expect(shown.status).to_contain_text(re.compile(r"word50\d → word50\d"))
    assert view.locator(".box").evaluate_all(
        "boxes => boxes.every(box => box.getBoundingClientRect().width < 1280)"
    )
    open_table(view, 1)
    rows = view.locator(".heat-part tbody tr")
    expect(rows).to_have_count(25)
    # A pointer that stays on a head draws and fills nothing again.
    grid = view.locator("canvas.grid")
    grid.hover(position={"x": GRID_LABEL + 10, "y": GRID_LABEL + 10})
    expect(shown.status).to_have_text("Layer 1, head 1")
    view.evaluate(COUNT_DRAWINGS)
    row = rows.first.element_handle()
    for step in range(8):
        grid.hover(position={"x": GRID_LABEL + 8 + step, "y": GRID_LABEL + 10 + step})
    assert page.evaluate("window.drawings") == 0
    assert row.evaluate("row => row.isConnected")
    grid.hover(position={"x": GRID_LABEL + 70, "y": GRID_LABEL + 10})
    expect(shown.status).not_to_have_text("Layer 1, head 1")
    assert page.evaluate("window.drawings") >= 1
    # A locked token scrolls the other view to it.
    box.evaluate("box => box.scrollTo(0, 0)")
    view.locator(".lines-box").evaluate("box => box.scrollTo(0, 6000)")
    view.locator("canvas.lines").click(position={"x": 40, "y": 100})
    assert box.evaluate("box => box.scrollTop") > 2_000
    expect_small(view, save(shown)[0])


@pytest.fixture
def opened(new_page, tmp_path):
    """Opens a saved file without a network."""

    def open_file(*saved, **more):
        file = tmp_path / "attention.html"
        file.write_bytes(attention_html(*saved, **more))
        page = new_page(base="file:")
        page.context.set_offline(True)
        page.goto(file.as_uri())
        return page, page.locator(".attention")

    return open_file


def saved_view(probs, tokens, **more):
    kinds, segments = token_kinds(tokens), np.zeros(len(tokens), int)
    thumbnails = grid_thumbnails(probs)
    words = more.pop("words", component_words("en"))
    return AttentionView(
        tokens, kinds, segments, thumbnails, probs[0, 0], words, **more
    )


def test_a_saved_file_says_which_heads_it_does_not_hold(opened):
    probs = np.full((2, 3, 4, 4), 0.25, np.float32)
    _, shown = opened(saved_view(probs, ("a", "b", "c", "d")), "Without its heads")
    click_head(shown, 2, 3, num_heads=3)
    expect(status(shown)).to_have_text(
        "This file holds only what was shown when it was saved: layer 1, head 1."
    )
    expect(shown).to_have_attribute("data-layer", "1")
    expect(shown).to_have_attribute("aria-busy", "false")


def test_a_saved_map_is_read_and_chosen_from_without_a_network(opened):
    values = np.array([[0.1, -0.4, 0.02], [0.0, 0.3, -0.01]])
    words = {**component_words("en"), "map_title": "A map"}
    head_map = HeadMap(values, words, None, None)
    page, view = opened(head_map, "A map", description="What it shows")
    expect(page.get_by_text("What it shows")).to_be_visible()
    expect(status(view)).to_contain_text("not on this map")
    expect(view).to_have_attribute("data-layer", "")
    view.locator("canvas.grid").focus()
    page.keyboard.press("ArrowDown")
    expect(status(view)).to_have_text("Layer 1, head 1: +0.1000")
    page.keyboard.press("ArrowRight")
    expect(status(view)).to_have_text("Layer 1, head 2: −0.4000")
    click_head(view, 2, 3, num_heads=3)
    expect(view).to_have_attribute("data-layer", "2")
    expect(status(view)).to_have_text("Layer 2, head 3: −0.0100")
    expect(view).to_have_attribute("aria-busy", "false")
    with page.expect_download():
        view.get_by_role("button", name="Save PNG").click()


def test_a_map_of_measures_writes_its_largest_numbers_and_leaves_gaps(opened):
    values = np.array([[np.nan, 1.25, 3.5, 0.5], [2.0, 0.75, 0.25, 3.0]])
    words = {**component_words("en"), "map_title": "A measure"}
    head_map = HeadMap(values, words, 1, 1, is_difference=False, top=3.5)
    page, view = opened(head_map, "A measure", description="What it measures")
    expect(status(view)).to_have_text("Layer 2, head 2: 0.7500")
    page.evaluate(RECORD_TEXTS)
    click_head(view, 1, 1, num_heads=4)
    expect(status(view)).to_have_text("Layer 1, head 1: –")
    written = {text for _, text, *_ in page.evaluate("window.written")}
    numbers_of_layers_and_heads = {"1", "2", "3", "4"}
    assert written == numbers_of_layers_and_heads | {"0.75", "1.3", "2", "3", "3.5"}
