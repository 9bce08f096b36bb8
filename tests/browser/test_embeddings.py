"""The embeddings page in a real browser: maps, points that move, links, files."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import open_panel, overflow, settle
from tests.locale_words import words_of

pytestmark = pytest.mark.browser

SETTLED = re.compile(r"\d")
MOST_BYTES = 1_000_000


def open_map(visit, query: str, **browser) -> tuple[Page, Locator]:
    page = visit(f"/embeddings?{query}", **browser)
    points = page.locator(".point-map")
    expect(points).to_have_attribute("data-draw-ms", SETTLED)
    return page, points


VOCABULARY = "embeddings_panel=map&embeddings_map_method=pca"
SENTENCES = "embeddings_panel=sentences"


def found_word(points: Locator, name: str) -> None:
    points.get_by_role("searchbox").fill(name)
    expect(points).to_have_attribute("data-matches", SETTLED)
    points.get_by_role("button", name=name, exact=True).click()
    expect(points).to_have_attribute("data-selected", name)


def test_a_word_is_found_marked_kept_in_the_link_and_let_go(new_page, server_url):
    page = new_page()
    received = []
    page.on(
        "websocket",
        lambda socket: socket.on(
            "framereceived", lambda frame: received.append(len(frame))
        ),
    )
    page.goto(f"{server_url}/embeddings?{VOCABULARY}")
    points = page.locator(".point-map")
    expect(points).to_have_attribute("data-draw-ms", SETTLED)
    everything = int(points.get_attribute("data-shown"))
    # The vocabulary travels once, and in less than a megabyte.
    settle(page)
    before = sum(received)
    assert before < MOST_BYTES
    points.get_by_role("searchbox").fill("ing")
    expect(page).to_have_url(re.compile("embeddings_map_search=ing"))
    settle(page)
    assert sum(received) - before < MOST_BYTES / 20
    found_word(points, "river")
    title = page.get_by_role("heading", name="Nearest to river in the full space")
    expect(title).to_be_visible()
    expect(page).to_have_url(re.compile("embeddings_map_selected="))
    settle(page)
    page.reload()
    expect(points).to_have_attribute("data-draw-ms", SETTLED)
    expect(points).to_have_attribute("data-selected", "river")
    expect(title).to_be_visible()
    # The nearest are marked, and shown alone.
    expect(points).to_have_attribute("data-marked", "10")
    alone = points.get_by_role("checkbox", name=re.compile("only the chosen point"))
    alone.check()
    expect(points).to_have_attribute("data-shown", "11")
    expect(page).to_have_url(re.compile("embeddings_map_near=true"))
    # It stays chosen in space, and the others come back, however fast the clicks.
    canvas = points.locator("canvas")
    flat = canvas.get_attribute("aria-label")
    alone.uncheck()
    page.get_by_text("in space (3)").click()
    expect(canvas).not_to_have_attribute("aria-label", flat)
    expect(points).to_have_attribute("data-shown", str(everything))
    expect(page).not_to_have_url(re.compile("embeddings_map_near"))
    expect(points).to_have_attribute("data-selected", "river")
    expect(points.get_by_role("searchbox")).to_have_value("river")
    expect(points).to_have_attribute("data-marked", "10")
    expect(title).to_be_visible()
    settle(page)
    canvas.press("Escape")
    expect(title).to_be_hidden()
    expect(points).to_have_attribute("data-selected", "")
    expect(points).to_have_attribute("data-marked", "0")

    # Only what was found is shown, and a kind can be hidden.
    found = int(points.get_attribute("data-matches"))
    only_found = points.get_by_role("checkbox", name="only what was found")
    only_found.check()
    expect(points).to_have_attribute("data-shown", str(found))
    only_found.uncheck()
    points.get_by_role("searchbox").fill("")
    kind = points.get_by_role("button", name=re.compile("## tokens"))
    count = int(re.search(r"\((\d+)\)", kind.inner_text())[1])
    kind.click()
    expect(points).to_have_attribute("data-shown", str(everything - count))
    expect(kind).to_have_attribute("aria-pressed", "false")
    kind.click()
    expect(points).to_have_attribute("data-shown", str(everything))
    numbers_are_read_out_as_they_are(page, points)


def numbers_are_read_out_as_they_are(page, points):
    """16,384 ids do not fall on one of 256 shades each."""
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


def test_points_far_away_leave_the_others_their_room(visit):
    """A few words of the Chinese t-SNE lie far outside of all others."""
    query = "embeddings_panel=map&embeddings_map_method=tsne&embeddings_map_axes=3"
    _, points = open_map(visit, f"{query}&lang=English&model=bert-mini-zh")
    status = points.locator(".status")
    expect(status).to_contain_text("far-away points may be out of view")
    few = status.inner_text().split()[0]
    assert 0 < int(few) < 20
    assert int(points.get_attribute("data-shown")) == 8192
    points.get_by_role("button", name="Whole map").click()
    expect(status).not_to_contain_text("far-away")
    # From there one comes as near as before.
    for _ in range(5):
        points.get_by_role("button", name="Zoom in").click()
    expect(status).to_contain_text(f"{few} far-away points may be out of view")


def saved(page, tool: str, button: str, name: str = "") -> Path:
    """The file of a button below the map; `tool` opens these, "" once they are open."""
    if tool:
        tools = page.locator(".st-key-embeddings_points_tools")
        tools.get_by_role("radio", name=tool).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename.startswith(name)
    return download.value.path()


def test_a_saved_picture_says_what_it_shows(visit):
    page, _ = open_map(
        visit,
        f"{SENTENCES}&lang=中文&embeddings_points_state=2&embeddings_topics="
        + quote("<b> | one lamp\n红 | two lamps\n<b> | a house\n红 | his house"),
    )
    file = saved(page, "下载", "图（SVG）", "embeddings_points_2.svg")
    drawing = ElementTree.parse(file)
    pieces = list(drawing.iterfind(".//{http://www.w3.org/2000/svg}text"))
    said = "".join(piece.text for piece in pieces)
    assert drawing.find(".//{http://www.w3.org/2000/svg}use") is not None
    for part in ("第 1 轴", "可信度", "自己的句子", "<b> (2)", "红 (2)", "PCA"):
        assert part in said
    height = float(drawing.getroot().get("viewBox").split()[3])
    lowest = max(float(piece.get("y")) for piece in pieces)
    assert lowest < height


# What each part shows at its end, by the names of its texts; two end with their map.
LAST_OF = {
    "input": "shares_title",
    "positions": "apart_title",
    "words": "compared",
    "map": None,
    "sentences": "quality_title",
    "senses": None,
    "geometry": "outliers_title",
}


def test_every_part_is_there_on_a_phone(visit):
    words = words_of("embeddings")
    page = visit("/embeddings", width=390, color_scheme="dark")
    fingers = page.context.new_cdp_session(page)
    fingers.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    hint = words_of("point_map")["nothing_touch"].rsplit("}", 1)[1].strip()
    for panel, last in LAST_OF.items():
        open_panel(page, words[f"panel_{panel}"])
        settle(page)
        if last is not None:
            said = max(re.split(r"\{[^}]*\}", words[last]), key=len)
            page.get_by_text(said).first.wait_for()
        points = page.locator(".point-map")
        if panel in ("map", "sentences", "senses"):
            drawn = ("data-draw-ms", SETTLED)
            expect(points).to_have_attribute(*drawn)
        if panel == "map":
            expect(points.get_by_role("status")).to_contain_text(hint)
        if panel == "senses":
            # The last layer, where the meanings lie apart.
            expect(points).to_have_attribute("data-state", re.compile("[2-9]"))
        assert overflow(page) <= 0, panel
        assert page.get_by_test_id("stException").count() == 0
