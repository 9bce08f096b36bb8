"""The map of points in a real browser: hands, keys, and what is read out."""

from __future__ import annotations

import re
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import settle
from tests.browser.test_embeddings import SENTENCES, VOCABULARY, found_word, open_map

# What a canvas shows once what was just asked for is drawn.
NEXT_FRAME = """async (canvas) => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame)
  return canvas.toDataURL()
}"""


def drawn(page: Page, canvas: Locator) -> str:
    """What is on a canvas, once it has come to rest."""
    now = canvas.evaluate(NEXT_FRAME)
    for _ in range(50):
        page.wait_for_timeout(150)
        before, now = now, canvas.evaluate(NEXT_FRAME)
        if now == before:
            return now
    raise AssertionError("The map does not come to rest.")


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
        canvas.evaluate(NEXT_FRAME)
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


def test_hands_and_keys_turn_and_near_a_map_in_space_and_choose_nothing(visit):
    page, points = open_map(visit, f"{SENTENCES}&embeddings_points_axes=3")
    canvas = points.locator("canvas")

    def seen() -> str:
        page.mouse.move(0, 0)  # no ring around what the pointer is at
        return drawn(page, canvas)

    # Below the map as well: what is still loading may change its width.
    page.get_by_text("How far to trust the map of each layer").wait_for()
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
    views = {before}
    for key in ("ArrowRight", "ArrowDown", "+"):
        canvas.press(key)
        views.add(seen())
    assert len(views) == 4


def test_groups_have_looks_and_numbers_are_read_out_as_they_are(visit):
    """Neither 13 positions nor 16,384 ids fall on one of 256 shades each."""
    line = "the lamp stands by the window and gives light at night"
    lines = "\n".join(f"group {name} | {line}" for name in range(8))
    query = f"{SENTENCES}&embeddings_points_reading=token&embeddings_topics="
    page, points = open_map(visit, query + quote(lines))
    looks = points.locator(".category span").evaluate_all(
        "(signs) => signs.map((sign) => sign.textContent + sign.style.color)"
    )
    assert len(looks) == len(set(looks)) == 8
    points.get_by_role("combobox", name="Colour by").select_option("position")
    points.get_by_text("The points in numbers").click()
    told = points.locator("td:nth-child(2)")
    # [CLS] and [SEP], the first and the last, are no points.
    expect(told.nth(10)).to_have_text("position 12")
    positions = [f"position {number}" for number in range(2, 13)]
    assert told.all_text_contents()[:11] == positions

    settle(page)
    page.goto(page.url.split("?")[0] + f"?{VOCABULARY}")
    expect(points).to_have_attribute("data-draw-ms", re.compile(r"\d"))
    points.get_by_role("combobox", name="Colour by").select_option(
        "id in the vocabulary"
    )
    found_word(points, "window")
    expect(page).to_have_url(re.compile("embeddings_map_selected="))
    number = re.search(r"embeddings_map_selected=(\d+)", page.url)[1]
    status = points.get_by_role("status")
    expect(status).to_have_text(f"window · id in the vocabulary {number}")
    last = int(points.get_attribute("data-shown")) - 1
    assert last > 10_000
    expect(points.locator(".legend > span").last).to_have_text(str(last))
