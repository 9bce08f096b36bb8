"""The attention component in a real browser: what is counted, redrawn and saved."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.figures.attention_lines_svg import lines_svg
from bertviz_core.figures.attention_svg import heatmap_svg
from bertviz_core.figures.attention_thumbnails import LINKS_PER_ROW, grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView, Measure, token_kinds
from bertviz_core.figures.component_files import component_script
from tests.attention_words import component_words
from tests.browser.test_attention_ahead import weights_of
from tests.browser.test_attention_canvas import (
    GRID_LABEL,
    LINES_ROW,
)

pytestmark = pytest.mark.browser

MOST_LINES = 1500


def counted(view):
    return view.locator(".lines-count")


def test_it_is_said_how_many_of_how_many_lines_are_drawn(show):
    _, view = show("?text=middle")
    weights = weights_of(1, 1, 128)
    total = int((weights >= 0.05).sum())
    expect(counted(view)).to_have_text(f"Lines drawn: {total} of {total}")
    view.get_by_label("Lines from").fill("0")
    expect(counted(view)).to_have_text(f"Lines drawn: {MOST_LINES} of {128 * 128}")
    view.get_by_text("As a table").nth(2).click()
    expect(view.locator(".lines-part caption")).to_have_text(
        f"25 of the {MOST_LINES} lines that are drawn, strongest first: layer 1, head 1"
        f" · Lines drawn: {MOST_LINES} of {128 * 128}"
    )
    view.locator("canvas.lines").click(position={"x": 40, "y": 3.5 * LINES_ROW})
    expect(counted(view)).to_have_text("Lines drawn: 128 of 128")


def test_of_an_added_head_the_count_is_a_least_where_not_all_was_sent(show):
    _, view = show("?text=middle")
    view.get_by_label("Lines from").fill("0.02")
    view.get_by_role("button", name="Show head 11").click()
    own, added = (weights_of(1, head, 128) for head in (1, 11))
    sent = -np.sort(-added, axis=-1)[:, :LINKS_PER_ROW]
    assert (sent[:, -1] >= 0.02).any(), "nothing was left out"
    total = int((own >= 0.02).sum() + (sent >= 0.02).sum())
    expect(counted(view)).to_have_text(
        f"Lines drawn: {min(total, MOST_LINES)} of at least {total}. Of an added head, "
        "only the 8 strongest of each token are here."
    )
    view.get_by_label("Lines from").fill("0.3")
    total = int((own >= 0.3).sum() + (added >= 0.3).sum())
    expect(counted(view)).to_have_text(f"Lines drawn: {total} of {total}")


# How the script chooses, and a plain sort; equal weights stand in the order of cells.
CHOOSE = """([rows, limit]) => { %s
  const data = { numTokens: rows.length, arrays: { matrix: rows.flat() } }
  const focus = { from: null, to: null }
  const { cells, count } = strongestCells(data, focus, 0.1, limit)
  return { count, cells: cells.map(({ from, to }) => from * rows.length + to) }
}"""


@pytest.mark.parametrize("limit", [1, 7, 40, 1000])
def test_the_strongest_cells_are_those_of_a_sort(show, limit):
    page, _ = show()
    random = np.random.default_rng(4)
    for rows in (
        random.normal(0, 0.3, (20, 20)),
        random.integers(-3, 4, (20, 20)) / 10,  # many alike
        np.full((20, 20), 0.25),
        np.arange(400).reshape(20, 20) / 400,
    ):
        found = page.evaluate(
            CHOOSE % component_script("attention"), [rows.tolist(), limit]
        )
        flat = np.abs(rows.ravel())
        order = np.argsort(-flat, kind="stable")
        wanted = [int(place) for place in order if flat[place] >= 0.1]
        assert found["count"] == len(wanted)
        assert found["cells"] == wanted[:limit]


COUNT_DRAWINGS = """(view) => {
  window.drawings = 0
  const note = () => (window.drawings += 1)
  new MutationObserver(note).observe(view, { attributeFilter: ['data-grid-ms'] })
}"""


def test_a_pointer_that_stays_on_a_head_draws_and_fills_nothing_again(show):
    page, view = show("?text=long")
    view.get_by_text("As a table").nth(1).click()
    expect(view.locator(".heat-part tbody tr")).to_have_count(25)
    grid = view.locator("canvas.grid")
    grid.hover(position={"x": GRID_LABEL + 10, "y": GRID_LABEL + 10})
    expect(view.get_by_role("status").first).to_have_text("Layer 1, head 1")
    view.evaluate(COUNT_DRAWINGS)
    row = view.locator(".heat-part tbody tr").first.element_handle()
    for step in range(8):
        grid.hover(position={"x": GRID_LABEL + 8 + step, "y": GRID_LABEL + 10 + step})
    assert page.evaluate("window.drawings") == 0
    assert row.evaluate("row => row.isConnected")
    grid.hover(position={"x": GRID_LABEL + 70, "y": GRID_LABEL + 10})
    expect(view.get_by_role("status").first).not_to_have_text("Layer 1, head 1")
    assert page.evaluate("window.drawings") >= 1


# A browser that makes no canvas above so many pixels; it gives no picture of one.
LIMIT_CANVAS = """(most) => {
  const make = HTMLCanvasElement.prototype.toBlob
  HTMLCanvasElement.prototype.toBlob = function (take) {
    if (this.width * this.height > most) return setTimeout(() => take(null))
    return make.call(this, take)
  }
}"""


def test_a_picture_that_the_browser_refuses_is_saved_smaller(show):
    page, view = show("?text=middle")
    page.evaluate(LIMIT_CANVAS, 4_000_000)
    with page.expect_download() as saved:
        view.get_by_role("button", name="Save PNG").click()
    picture = saved.value.path().read_bytes()
    width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))
    assert 500_000 < width * height <= 4_000_000
    on_screen = view.locator(".heat-box .space").bounding_box()["width"] + 2 * 16
    percent = int(100 * width / on_screen)
    note = view.locator(".save-note")
    expect(note).to_contain_text(re.compile(f"saved at ({percent}|{percent + 1}) % of"))


def test_a_picture_that_cannot_be_made_is_said_to_fail(show):
    page, view = show()
    page.evaluate(LIMIT_CANVAS, 0)
    view.get_by_role("button", name="Save PNG").click()
    note = view.locator(".save-note")
    expect(note).to_contain_text("No picture was saved")
    expect(note).to_have_role("status")


# Pixels by which any text of the pictures sticks out of the paper.
STICKS_OUT = """() => [...document.querySelectorAll('svg')].map((paper) => {
  const sheet = paper.getBoundingClientRect()
  const outside = [...paper.querySelectorAll('text')].map((text) => {
    const box = text.getBoundingClientRect()
    return Math.max(sheet.left - box.left, sheet.top - box.top,
      box.right - sheet.right, box.bottom - sheet.bottom)
  })
  return Math.max(...outside)
})"""


@pytest.mark.parametrize("is_lying", [False, True])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_letter_of_a_saved_picture_leaves_the_paper(new_page, is_lying, language):
    tokens = ("counterrevolutionaries", "MWMWMWMWMWMW", "中华人民共和国万岁", "x" * 90)
    probs = np.full((1, 1, 4, 4), 0.25, np.float32)
    words = component_words(language)
    filters = tuple(
        text.format(least=0.05, share=0.1, mass=0.9)
        for key, text in words.items()
        if key.startswith("filter_")
    )
    measure = Measure(words["shown_head"], words["unit_weight"], filters)
    view = AttentionView(
        *(tokens, token_kinds(tokens), np.zeros(4, int), grid_thumbnails(probs)),
        *(probs[0, 0], words),
        measure=measure,
        is_lying=is_lying,
        from_token=0,
        to_token=3,
    )
    page = new_page(base="about:")
    page.set_content(f"{heatmap_svg(view)}<br>{lines_svg(view)}")
    assert max(page.evaluate(STICKS_OUT)) <= 0
