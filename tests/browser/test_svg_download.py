"""The button that saves a picture as SVG, in a real browser: once for each click."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import Page, expect

from bertviz_core.figures.component_files import component_script
from tests.browser.conftest import settle
from tests.browser.test_attention import NUM_HEADS, chosen, open_page
from tests.browser.test_attention_canvas import click_head

SVG = "{http://www.w3.org/2000/svg}"
CHINESE = re.compile("[\u2e80-\u9fff\uff01-\uff60]")
TEXT = "今天天气很好。"
FIRST_HEAD = "attention_layer=1&attention_head=1"
BUTTON, FILE = "热图（SVG）", "注意力_热图.svg"


def click_download(page: Page) -> None:
    """Opens the downloads below the picture, or closes them."""
    page.locator(".st-key-attention_tools").get_by_role("radio", name="下载").click()


def save(page: Page) -> Path:
    """The heatmap as it is saved; waits until the button says so."""
    with page.expect_download() as download:
        page.get_by_role("button", name=BUTTON).click()
    assert download.value.suggested_filename == FILE
    told = page.locator(".st-key-attention_save_heatmap_svg").get_by_role("status")
    expect(told).to_have_text(f"已保存为 {FILE}")
    return download.value.path()


def texts_of(path: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(path).iter(f"{SVG}text"))


# How many pixels of a picture are dark.
INK = """async (svg) => {
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const { width, height } = image
  const context = new OffscreenCanvas(width, height).getContext('2d')
  context.drawImage(image, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  return data.filter((one, at) => at % 4 === 0 && one < 128).length
}"""


def open_chinese(visit):
    query = f"?{FIRST_HEAD}&text={TEXT}&model=bert-mini-zh"
    return open_page(visit, query, locale="zh-CN")


def test_a_picture_is_saved_by_each_click_and_needs_no_font(visit, new_page):
    page, view = open_chinese(visit)
    saved: list[str] = []
    page.on("download", lambda download: saved.append(download.suggested_filename))
    click_download(page)
    first = save(page)
    chinese = [text for text in texts_of(first) if CHINESE.search(text.text)]
    assert set(TEXT) <= {text.text for text in chinese}
    assert {text.get("fill-opacity") for text in chinese} == {"0"}
    first = first.read_text("utf-8")
    alone = new_page(base="about:")
    alone.context.set_offline(True)
    bare = re.sub("<text.*?</text>", "", first)
    empty = re.sub("<use[^>]*>", "", bare)
    # Of six letters, each at its row and its column.
    assert alone.evaluate(INK, bare) - alone.evaluate(INK, empty) > 12 * 15

    # Closing, choosing a head and opening run the page again.
    click_download(page)
    expect(page.get_by_role("button", name=BUTTON)).not_to_be_visible()
    click_head(view, 2, 1, NUM_HEADS)
    expect(chosen(page, "layer")).to_have_value("2")
    settle(page)
    click_download(page)
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    page.wait_for_timeout(2000)
    assert len(saved) == 1
    second = save(page).read_text("utf-8")
    assert ["第 2 层" in one for one in (first, second)] == [False, True]
    assert save(page).read_text("utf-8") == second
    assert len(saved) == 3


# The component without a page around it: what it asks for, and what it is given.
ALONE = """() => {
  document.body.innerHTML = '<div class="svg-save"></div>'
  const words = { making: '…', saved: '{name}', saved_as_text: '?', failed: 'no' }
  window.asked = []
  window.give = (made) => {
    const data = { words: { label: 'Save', ...words }, file: 'a.svg', made }
    showSave(document.body, data, (number) => asked.push(number))
  }
  give()
}"""


def test_what_was_not_asked_for_or_comes_again_is_not_saved(new_page):
    page = new_page(base="about:")
    page.add_script_tag(content=component_script("svg_save"))
    page.evaluate(ALONE)
    saved: list[str] = []
    page.on("download", lambda download: saved.append(download.suggested_filename))
    button, told = page.get_by_role("button"), page.get_by_role("status")
    give = "made => give({ ...made, number: made.number ?? asked.at(-1) })"
    page.evaluate(give, {"number": 1, "svg": "<svg/>"})
    button.dblclick()
    assert page.evaluate("asked.length") == 1, "it waits for the first"
    page.evaluate(give, {"number": 1, "svg": "<svg/>"})
    expect(button).to_have_attribute("aria-busy", "true")
    assert not saved
    with page.expect_download():
        page.evaluate(give, {"svg": "<svg/>"})
    expect(told).to_have_text("a.svg")
    page.evaluate(give, {"svg": "<svg/>"})
    page.wait_for_timeout(500)
    assert len(saved) == 1
    button.click()
    page.evaluate(give, {"svg": None})
    expect(told).to_have_text("no")
    expect(button).to_have_attribute("aria-busy", "false")
    assert len(saved) == 1


def test_an_answer_that_never_came_can_be_asked_for_again(new_page):
    page = new_page(base="about:")
    page.clock.install()
    page.add_script_tag(content=component_script("svg_save"))
    page.evaluate(ALONE)
    button = page.get_by_role("button")
    button.click()
    page.clock.fast_forward(59_000)
    expect(button).to_have_attribute("aria-disabled", "true")
    page.clock.fast_forward(2_000)
    expect(page.get_by_role("status")).to_have_text("no")
    button.click()
    assert page.evaluate("asked.length") == 2
    assert page.evaluate("asked[1] > asked[0]")
    page.context.close()  # its clock would stand still for others
