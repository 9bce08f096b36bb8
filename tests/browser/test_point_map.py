"""The map of points in a real browser: hands, keys, and what is read out."""

from __future__ import annotations

import re
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import be_tended, settle
from tests.browser.test_embeddings import SENTENCES, open_map, saved

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


def test_points_of_sentences_are_pointed_at_turned_coloured_and_saved(visit):
    page, points = open_map(visit, SENTENCES)
    a_point_under_the_pointer_says_its_sentence_and_a_click_keeps_it(page, points)
    the_layer_moves_the_points_and_they_are_saved(page, points)
    page.get_by_text("in space (3)").click()
    settle(page)
    hands_and_keys_turn_and_near_a_map_in_space_and_choose_nothing(page, points)
    sentences_that_are_typed_have_none_chosen(page, points)


def a_point_under_the_pointer_says_its_sentence_and_a_click_keeps_it(page, points):
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


def the_layer_moves_the_points_and_they_are_saved(page, points):
    note = points.get_by_role("note")
    expect(note).to_contain_text("Trustworthiness")
    settle(page)
    first = note.inner_text()
    points.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(points).to_have_attribute("data-state", "1")
    expect(points.get_by_text("layer 1", exact=True)).to_be_visible()
    expect(note).not_to_have_text(first)
    expect(page).to_have_url(re.compile("embeddings_points_state=1"))
    settle(page)
    assert saved(page, "Download", "Figure (SVG)").read_bytes().startswith(b"<svg")
    png = saved(page, "", "Figure (PNG)")
    assert png.read_bytes().startswith(b"\x89PNG")


def sentences_that_are_typed_have_none_chosen(page, points):
    points.get_by_role("searchbox").fill("the")
    points.locator(".found button").first.click()
    expect(page).to_have_url(re.compile("embeddings_points_selected="))
    expect(points).not_to_have_attribute("data-marked", "0")
    settle(page)
    box = page.get_by_role("textbox").first
    box.fill("a | the lamp\nb | two lamps\na | the house\nb | his house")
    box.press("Control+Enter")
    expect(points).to_have_attribute("data-shown", "4")
    expect(points).to_have_attribute("data-selected", "")
    expect(points.get_by_role("searchbox")).to_have_value("the")
    expect(page).not_to_have_url(re.compile("embeddings_points_selected="))
    # On a phone there is no room for such names, on either side of most points.
    words = "cat", "The house", "he is", "was red and", "they sit"
    box.fill("".join(f"a | {word} {'灯' * 24}\n" for word in words))
    box.press("Control+Enter")
    expect(points).to_have_attribute("data-shown", "5")
    page.set_viewport_size({"width": 390, "height": 900})
    be_tended(page)
    svg = saved(page, "Download", "Figure (SVG)").read_text("utf-8")
    assert min(map(float, re.findall('<text x="([^"]+)"', svg))) >= 0


def hands_and_keys_turn_and_near_a_map_in_space_and_choose_nothing(page, points):
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
    """13 positions do not fall on one of 256 shades each."""
    line = "the lamp stands by the window and gives light at night"
    lines = "\n".join(f"group {name} | {line}" for name in range(8))
    query = f"{SENTENCES}&embeddings_points_reading=token&embeddings_topics="
    _, points = open_map(visit, query + quote(lines))
    looks = points.locator(".category span").evaluate_all(
        "(signs) => signs.map((sign) => sign.textContent + sign.style.color)"
    )
    assert len(looks) == len(set(looks)) == 8
    points.get_by_role("combobox", name="Colour by").select_option("position")
    # [CLS] and [SEP], the first and the last, are no points.
    points.get_by_role("searchbox").fill("night")
    points.locator(".found button").first.click()
    expect(points.get_by_role("status")).to_have_text(re.compile(r"position 12$"))
