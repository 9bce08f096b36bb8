"""A chosen head is drawn while the server is silent, and stays what was chosen."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.attention_alone import HEAT_LEFT, HEAT_TOP, weights_of
from tests.browser.conftest import open_table

# A click in the middle of a cell, and what the views say right after it: no frame,
# and no message, comes between.
CLICK_AND_READ = """(view, [x, y]) => {
  const grid = view.querySelector('canvas.grid')
  const heat = view.querySelector('canvas.heat')
  const { left, top } = grid.getBoundingClientRect()
  const before = heat.toDataURL()
  const at = { clientX: left + x, clientY: top + y, bubbles: true }
  grid.dispatchEvent(new MouseEvent('click', at))
  const titles = [...view.querySelectorAll('h2')].map((title) => title.textContent)
  return { isOther: heat.toDataURL() !== before, titles, layer: view.dataset.layer }
}"""
NOTE_LAYERS = """(view) => {
  window.layers = []
  const note = () => window.layers.push(view.dataset.layer)
  new MutationObserver(note).observe(view, { attributeFilter: ['data-layer'] })
}"""


def test_a_click_changes_all_views_before_anything_else_happens(alone):
    shown = alone()
    shown.hold()
    page, view = shown.page, shown.view
    cell = (shown.canvas("grid").bounding_box()["width"] - 32) / 12
    found = view.evaluate(CLICK_AND_READ, [30 + 2.5 * cell, 30 + 4.5 * cell])
    assert found["layer"] == "5"
    assert found["isOther"]
    heads = ["Heatmap: layer 5, head 3", "Lines: layer 5, head 3"]
    assert found["titles"][1:] == heads
    expect(view).to_have_attribute("data-switch-ms", re.compile(r"\d"))
    # A short text has its exact numbers at once.
    expect(view).to_have_attribute("aria-busy", "false")
    shown.canvas("heat").hover(position=shown.cell(1, 4))
    said = f"layer 5, head 3 · weight {weights_of(5, 3)[1, 4]:.4f}"
    expect(shown.status).to_contain_text(f"the → drink · {said}")
    open_table(view, 1)
    expect(view.locator(".heat-part caption")).to_contain_text("layer 5, head 3")
    shown.hears(4, 2)
    ahead = shown.drawing(), shown.drawing("lines")
    shown.let_through()
    assert (shown.drawing(), shown.drawing("lines")) == ahead
    # Arrows draw every head on their way.
    shown.hold()
    shown.canvas("grid").focus()
    for key, said in (
        ("ArrowDown", "Heatmap: layer 6, head 3"),
        ("ArrowRight", "Heatmap: layer 6, head 4"),
        ("ArrowDown", "Heatmap: layer 7, head 4"),
    ):
        page.keyboard.press(key)
        expect(shown.title(said)).to_be_visible()
    shown.hears(6, 3)


def test_a_long_text_is_sketched_without_numbers_until_they_come(alone):
    shown = alone("middle")
    shown.hold()
    page, view = shown.page, shown.view
    before = shown.drawing()
    open_table(view, 1)
    caption = view.locator(".heat-part caption")
    shown.click_head(5, 3)
    expect(shown.title("Heatmap: layer 5, head 3")).to_be_visible()
    assert shown.drawing() != before
    sketched = int(view.get_attribute("data-lines"))
    expect(view).to_have_attribute("aria-busy", "true")
    heat = shown.canvas("heat")
    heat.hover(position={"x": HEAT_LEFT + 13 * 4.5, "y": HEAT_TOP + 13 * 4.5})
    said = "word3 → word3 · layer 5, head 3 · "
    expect(shown.status).to_have_text(f"{said}exact number to follow")
    # The table still names, and holds, the numbers of the head before.
    expect(caption).to_contain_text("layer 1, head 1")
    shown.hears(4, 2)
    with page.expect_download():  # a picture waits for the exact numbers, too
        shown.ask_to_save("png")
        expect(view).to_have_attribute("aria-busy", "true")
        shown.let_through()
        expect(view).to_have_attribute("aria-busy", "false")
    weights = weights_of(5, 3, 128)
    page.mouse.move(0, 0)  # all lines, not only those of the cell
    expect(shown.status).not_to_contain_text(said)
    assert int(view.get_attribute("data-lines")) == (weights >= 0.05).sum()
    heat.hover(position={"x": HEAT_LEFT + 13 * 4.5, "y": HEAT_TOP + 13 * 4.5})
    expect(shown.status).to_contain_text(f"{said}weight {weights[4, 4]:.4f}")
    expect(caption).to_contain_text("layer 5, head 3")
    # Two cells of a row are held, and no line is drawn where none is.
    held = (np.sort(weights, axis=-1)[:, -2:] >= 0.05).sum()
    assert sketched == pytest.approx(held, abs=5)
    what_is_held_is_not_asked_for_again(shown)
    no_late_answer_brings_an_older_head_back(shown)


def what_is_held_is_not_asked_for_again(shown):
    shown.click_head(6, 3)
    shown.hears(5, 2, holds=shown.held.key)
    expect(shown.view).to_have_attribute("aria-busy", "false")
    # The shown head and the strongest links of its layer: with all that is held they
    # were twice as much.
    assert len(shown.payload()) < 250_000 < len(shown.payload(holds=None)) / 1.5


def no_late_answer_brings_an_older_head_back(shown):
    shown.hold()
    shown.click_head(7, 3)
    shown.hears(6, 2)
    shown.click_head(9, 7)
    shown.hears(8, 6)
    shown.view.evaluate(NOTE_LAYERS)
    shown.let_through()
    expect(shown.view).to_have_attribute("aria-busy", "false")
    expect(shown.title("Heatmap: layer 9, head 7")).to_be_visible()
    assert set(shown.page.evaluate("window.layers")) <= {"9"}


def test_what_a_browser_has_lost_is_asked_for_again(alone):
    key = alone().held.key
    shown = alone(told={"layer": 2, "head": 1, "turn": 3, "scale": "row", "holds": key})
    expect(shown.view).to_have_attribute("data-layer", "3")
    expect(shown.view.get_by_label("Scale")).to_have_value("row")
    shown.hears(2, 1, holds=None)
    shown.click_head(4, 4)
    shown.hears(3, 3, holds=key)
