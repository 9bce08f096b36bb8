"""A chosen head is drawn while the server is silent, and stays what was chosen."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settle
from tests.browser.test_attention_canvas import (
    HEAT_LEFT,
    HEAT_TOP,
    SAVE,
    cell_position,
    click_head,
    drawing,
    selection_line,
    status,
    title,
    weights_of,
)

pytestmark = pytest.mark.browser

# A click in the middle of a cell, and what the views say right after it: no frame,
# and no message, comes between.
CLICK_AND_READ = """(view, [x, y]) => {
  const grid = view.querySelector('canvas.grid')
  const heat = view.querySelector('canvas.heat')
  const { left, top } = grid.getBoundingClientRect()
  const before = heat.toDataURL()
  const at = { clientX: left + x, clientY: top + y, bubbles: true }
  grid.dispatchEvent(new MouseEvent('click', at))
  const titles = [...view.querySelectorAll('h4')].map((title) => title.textContent)
  return { isOther: heat.toDataURL() !== before, titles, layer: view.dataset.layer }
}"""
NOTE_LAYERS = """(view) => {
  window.layers = []
  const note = () => window.layers.push(view.dataset.layer)
  new MutationObserver(note).observe(view, { attributeFilter: ['data-layer'] })
}"""


class Line:
    """Between a page and its server, whose messages can be held back."""

    def __init__(self, page):
        self._is_open, self._kept = True, []
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def _connect(self, browser):
        server = browser.connect_to_server()
        server.on_message(lambda message: self._take(browser, message))

    def _take(self, browser, message):
        if self._is_open:
            browser.send(message)
        else:
            self._kept.append((browser, message))

    def hold(self):
        self._is_open = False

    def num_bytes(self):
        """Of the largest message that was held back."""
        return max(len(message) for _, message in self._kept)

    def has_kept(self, page, count=1):
        """Waits until the server has said something."""
        while len(self._kept) < count:
            page.wait_for_timeout(20)

    def let_through(self):
        self._is_open = True
        for browser, message in self._kept:
            browser.send(message)
        self._kept.clear()


@pytest.fixture
def show(new_page, canvas_url):
    """Opens the page, holds its server back, and gives page, component and line."""

    def open_page(query=""):
        page = new_page(base=canvas_url)
        line = Line(page)
        page.goto(f"{canvas_url}/{query}")
        settle(page)
        view = page.locator(".attention").first
        expect(view).to_have_attribute("data-grid-ms", re.compile(r"\d"))
        line.hold()
        return page, view, line

    return open_page


def test_a_click_changes_all_views_before_anything_else_happens(show):
    page, view, line = show()
    cell = (view.locator("canvas.grid").bounding_box()["width"] - 32) / 12
    found = view.evaluate(CLICK_AND_READ, [30 + 2.5 * cell, 30 + 4.5 * cell])
    assert found["layer"] == "5"
    assert found["isOther"]
    heads = ["Heatmap: layer 5, head 3", "Lines: layer 5, head 3"]
    assert found["titles"][1:] == heads
    expect(view).to_have_attribute("data-switch-ms", re.compile(r"\d"))
    # A short text has its exact numbers at once.
    expect(view).to_have_attribute("aria-busy", "false")
    view.locator("canvas.heat").hover(position=cell_position(view, 1, 4))
    said = f"layer 5, head 3 · weight {weights_of(5, 3)[1, 4]:.4f}"
    expect(status(view)).to_contain_text(f"the → drink · {said}")
    view.get_by_text("As a table").nth(1).click()
    expect(view.locator(".heat-part caption")).to_contain_text("layer 5, head 3")
    expect(selection_line(page)).to_contain_text("run 1")
    ahead = drawing(view), drawing(view, "lines")
    line.let_through()
    expect(selection_line(page)).to_contain_text("layer=4, head=2")
    assert (drawing(view), drawing(view, "lines")) == ahead
    # Arrows draw every head on their way.
    line.hold()
    view.locator("canvas.grid").focus()
    for key, said in (
        ("ArrowDown", "Heatmap: layer 6, head 3"),
        ("ArrowRight", "Heatmap: layer 6, head 4"),
        ("ArrowDown", "Heatmap: layer 7, head 4"),
    ):
        page.keyboard.press(key)
        expect(title(view, said)).to_be_visible()
    line.let_through()
    expect(selection_line(page)).to_contain_text("layer=6, head=3")


def test_a_long_text_is_sketched_without_numbers_until_they_come(show):
    page, view, line = show("?text=middle")
    before = drawing(view)
    view.get_by_text("As a table").nth(1).click()
    caption = view.locator(".heat-part caption")
    click_head(view, 5, 3)
    expect(title(view, "Heatmap: layer 5, head 3")).to_be_visible()
    assert drawing(view) != before
    sketched = int(view.get_attribute("data-lines"))
    expect(view).to_have_attribute("aria-busy", "true")
    heat = view.locator("canvas.heat")
    heat.hover(position={"x": HEAT_LEFT + 13 * 4.5, "y": HEAT_TOP + 13 * 4.5})
    said = "word3 → word3 · layer 5, head 3 · "
    expect(status(view)).to_have_text(f"{said}exact number to follow")
    # The table still names, and holds, the numbers of the head before.
    expect(caption).to_contain_text("layer 1, head 1")
    with page.expect_download():  # a picture waits for the exact numbers, too
        page.evaluate(SAVE, "png")
        expect(view).to_have_attribute("aria-busy", "true")
        line.let_through()
        expect(view).to_have_attribute("aria-busy", "false")
    weights = weights_of(5, 3, 128)
    page.mouse.move(0, 0)  # all lines, not only those of the cell
    expect(status(view)).not_to_contain_text(said)
    assert int(view.get_attribute("data-lines")) == (weights >= 0.05).sum()
    heat.hover(position={"x": HEAT_LEFT + 13 * 4.5, "y": HEAT_TOP + 13 * 4.5})
    expect(status(view)).to_contain_text(f"{said}weight {weights[4, 4]:.4f}")
    expect(caption).to_contain_text("layer 5, head 3")
    # Two cells of a row are held, and no line is drawn where none is.
    held = (np.sort(weights, axis=-1)[:, -2:] >= 0.05).sum()
    assert sketched == pytest.approx(held, abs=5)


def test_what_is_held_is_not_sent_again_nor_an_older_head_brought_back(show):
    page, view, line = show("?text=middle")
    for layer in (5, 6):
        line.hold()
        click_head(view, layer, 3)
        line.has_kept(page)
        page.wait_for_timeout(500)
        # The shown head, the strongest links of its layer, and the script: with all
        # that is held they were twice as much.
        assert line.num_bytes() < 250_000
        line.let_through()
        expect(selection_line(page)).to_contain_text(f"layer={layer - 1}, head=2")
    # A late answer.
    line.hold()
    click_head(view, 7, 3)
    line.has_kept(page)
    page.wait_for_timeout(500)  # until the whole answer lies there
    click_head(view, 9, 7)
    view.evaluate(NOTE_LAYERS)
    line.let_through()
    expect(selection_line(page)).to_contain_text("layer=8, head=6")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(title(view, "Heatmap: layer 9, head 7")).to_be_visible()
    assert set(page.evaluate("window.layers")) <= {"9"}


def test_a_head_chosen_from_what_was_put_together_is_sketched(show):
    _, view, _ = show("?lengths=1")
    click_head(view, 1, 2)
    expect(title(view, "Heatmap: layer 1, head 2")).to_be_visible()
    expect(view.locator(".legend")).to_have_text("01weight (linear)")
    view.locator("canvas.heat").hover(position=cell_position(view, 1, 4))
    expect(status(view)).to_contain_text("exact number to follow")


def test_what_a_browser_has_lost_is_asked_for_again(visit, canvas_url):
    page = visit("/?forged=1", base=canvas_url)
    view = page.locator(".attention").first
    expect(view).to_have_attribute("data-layer", "3")
    expect(view.get_by_label("Scale")).to_have_value("row")
    expect(selection_line(page)).to_contain_text("layer=2, head=1")
    click_head(view, 4, 4)
    expect(selection_line(page)).to_contain_text("layer=3, head=3")
