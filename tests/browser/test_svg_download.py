"""The button that saves a picture as SVG, in a real browser: once for each click."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_attention import open_page

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
CHINESE = re.compile("[\u2e80-\u9fff\uff01-\uff60]")
TEXT = "今天天气很好。"
# Of the language of the page: the button, what it says, the name of the file.
HEATMAP = {
    "en": ("Heatmap (SVG)", "Saved as {}", "attention_heatmap.svg"),
    "zh": ("热图（SVG）", "已保存为 {}", "注意力_热图.svg"),
}


def open_downloads(page: Page) -> None:
    page.locator(".st-key-attention_downloads").get_by_role("button").first.click()


def save(page: Page, language: str = "zh") -> Path:
    """The heatmap as it is saved; waits until the button says so."""
    button, said, name = HEATMAP[language]
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename == name
    told = page.locator(".st-key-attention_save_heatmap_svg").get_by_role("status")
    expect(told).to_have_text(said.format(name))
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


@pytest.mark.parametrize("language", HEATMAP)
def test_a_saved_picture_shows_chinese_without_a_font_for_it(visit, new_page, language):
    locale = {"en": "en-US", "zh": "zh-CN"}[language]
    page, _ = open_page(
        visit, f"?attention_text={TEXT}&model=bert-mini-zh", locale=locale
    )
    open_downloads(page)
    saved = save(page, language)
    chinese = [text for text in texts_of(saved) if CHINESE.search(text.text)]
    assert set(TEXT) <= {text.text for text in chinese}
    assert {text.get("fill-opacity") for text in chinese} == {"0"}
    alone = new_page(base="about:")
    alone.context.set_offline(True)
    bare = re.sub("<text.*?</text>", "", saved.read_text("utf-8"))
    empty = re.sub("<use[^>]*>", "", bare)
    # Of six letters, each at its row and its column.
    assert alone.evaluate(INK, bare) - alone.evaluate(INK, empty) > 12 * 15


def test_a_picture_is_saved_again_by_a_click_and_by_nothing_else(visit):
    page, _ = open_page(
        visit, f"?attention_text={TEXT}&model=bert-mini-zh", locale="zh-CN"
    )
    saved: list[str] = []
    page.on("download", lambda download: saved.append(download.suggested_filename))
    open_downloads(page)
    first = save(page).read_text("utf-8")
    # Closing, choosing a head and opening run the page again.
    page.keyboard.press("Escape")
    page.locator(".st-key-attention_layer").get_by_role("combobox").click()
    page.get_by_role("option", name="2", exact=True).click()
    expect(page.locator(".attention").first).to_have_attribute("data-layer", "2")
    open_downloads(page)
    button = page.get_by_role("button", name=HEATMAP["zh"][0])
    expect(button).to_be_visible()
    page.wait_for_timeout(2000)
    assert len(saved) == 1
    second = save(page).read_text("utf-8")
    assert ["第 2 层" in one for one in (first, second)] == [False, True]
    third = save(page).read_text("utf-8")
    assert third == second
    assert len(saved) == 3


def test_the_button_waits_by_keyboard_and_says_what_is_lacking(visit):
    page, _ = open_page(
        visit, f"?attention_text={TEXT}&model=bert-mini-zh", locale="zh-CN"
    )
    page.evaluate("() => delete Intl.Segmenter")
    open_downloads(page)
    box = page.locator(".st-key-attention_save_lines_svg")
    button = box.get_by_role("button", name="连线（SVG）")
    button.evaluate(
        """button => {
          window.states = []
          const note = () => window.states.push(button.getAttribute('aria-busy'))
          new MutationObserver(note).observe(button, { attributeFilter: ['aria-busy'] })
        }"""
    )
    button.focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    expect(box.get_by_role("status")).to_contain_text("打开文件的电脑上要有中文字体")
    assert page.evaluate("window.states") == ["true", "false"]
    expect(button).to_be_focused()
    texts = texts_of(download.value.path())
    assert {text.get("fill-opacity") for text in texts} == {None}
