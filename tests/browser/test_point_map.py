"""The map of points in a real browser: hands, keys, and what is read out."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import settle
from tests.browser.test_embeddings import SENTENCES, VOCABULARY, open_map

pytestmark = pytest.mark.browser


def drawn(page: Page, canvas: Locator) -> str:
    """What is on a canvas, once it has come to rest."""
    now = canvas.evaluate("(canvas) => canvas.toDataURL()")
    for _ in range(50):
        page.wait_for_timeout(150)
        before, now = now, canvas.evaluate("(canvas) => canvas.toDataURL()")
        if now == before:
            return now
    raise AssertionError("The map does not come to rest.")


def test_the_keyboard_turns_and_nears_a_map_in_space(visit):
    page, points = open_map(visit, f"{SENTENCES}&embeddings_points_axes=3")
    canvas = points.locator("canvas")
    # Below the map as well: what is still loading may change its width.
    page.get_by_text("What the maps are worth, layer by layer").wait_for()
    before = drawn(page, canvas)
    seen = {before}
    for key in ("ArrowRight", "ArrowDown", "+"):
        canvas.press(key)
        seen.add(drawn(page, canvas))
    assert len(seen) == 4
    points.get_by_role("button", name="Whole map").click()
    assert drawn(page, canvas) == before


def point_at_one(page: Page, points: Locator) -> tuple[float, float, str]:
    """Moves the pointer until it finds a point: where that is, and what is said."""
    canvas, status = points.locator("canvas"), points.get_by_role("status")
    # Below the map as well: what is still loading may change its place.
    settle(page)
    drawn(page, canvas)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for step in range(60):
        x = box["x"] + box["width"] * (0.3 + 0.4 * (step % 10) / 10)
        y = box["y"] + box["height"] * (0.2 + 0.6 * (step // 10) / 6)
        page.mouse.move(x, y)
        page.wait_for_timeout(40)
        if "·" in (said := status.inner_text()):
            return x, y, said
    raise AssertionError("There is no point in the middle of the map.")


def test_a_point_under_the_pointer_says_its_sentence_and_a_click_keeps_it(visit):
    page, points = open_map(visit, SENTENCES)
    x, y, said = point_at_one(page, points)
    sentence = said.split(" · ")[0]
    assert sentence.endswith(".")
    expect(points).to_have_attribute("data-selected", "")
    page.mouse.click(x, y)
    expect(points).to_have_attribute("data-selected", sentence)
    expect(page).to_have_url(re.compile("embeddings_points_selected="))
    page.mouse.move(0, 0)
    expect(points.get_by_role("status")).to_have_text(said)
    expect(points).not_to_have_attribute("data-marked", "0")
    # Once more lets go of it.
    page.mouse.click(x, y)
    expect(points).to_have_attribute("data-selected", "")


def test_hands_turn_and_near_a_map_in_space_and_choose_nothing_by_it(visit):
    page, points = open_map(visit, f"{SENTENCES}&embeddings_points_axes=3")
    canvas = points.locator("canvas")

    def seen() -> str:
        page.mouse.move(0, 0)  # no ring around what the pointer is at
        return drawn(page, canvas)

    point_at_one(page, points)
    page.mouse.wheel(0, -120)  # which scrolls the page until the map is clicked
    before = seen()
    x, y, _ = point_at_one(page, points)
    assert seen() == before
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 30, steps=6)
    page.mouse.up()
    turned = seen()
    assert turned != before
    expect(points).to_have_attribute("data-selected", "")
    page.mouse.move(x, y)
    page.mouse.wheel(0, -120)
    assert seen() != turned
    points.get_by_role("button", name="Whole map").click()
    assert seen() == before


def test_numbers_are_read_out_as_they_are(visit):
    """Neither 13 positions nor 16,384 ids fall on one of 256 shades each."""
    line = "the lamp stands by the window and gives light at night"
    query = f"{SENTENCES}&embeddings_points_reading=token&embeddings_topics="
    _, points = open_map(visit, query + quote(line))
    points.get_by_role("combobox", name="Colour by").select_option("position")
    points.get_by_text("The points in numbers").click()
    told = points.locator("td:nth-child(2)")
    # [CLS] and [SEP], the first and the last, are no points.
    expect(told).to_have_text([f"position {number}" for number in range(2, 13)])
    page, points = open_map(visit, VOCABULARY)
    points.get_by_role("combobox", name="Colour by").select_option(
        "id in the vocabulary"
    )
    points.get_by_role("searchbox").fill("window")
    points.get_by_role("button", name="window", exact=True).click()
    expect(page).to_have_url(re.compile("embeddings_map_selected="))
    number = re.search(r"embeddings_map_selected=(\d+)", page.url)[1]
    status = points.get_by_role("status")
    expect(status).to_have_text(f"window · id in the vocabulary {number}")
    last = int(points.get_attribute("data-shown")) - 1
    assert last > 10_000
    expect(points.locator(".legend > span").last).to_have_text(str(last))
