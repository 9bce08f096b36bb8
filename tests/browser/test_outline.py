"""Chinese letters of a saved picture as shapes, in a real browser: alike to look at."""

from __future__ import annotations

import math
import re
from html import escape
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from bertviz_core.figures.component_files import component_script

SVG, MIDDLE = "{http://www.w3.org/2000/svg}", 'text-anchor="middle"'
CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]")
# Of what it would change to leave all shapes out, see `changes`: text has edges of its
# own, 0.02 to 0.12. Half a pixel aside is 0.5, empty 1.
MOST_CHANGED = 0.2


def svg_text(text: str, x: float, y: float, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" dy="0.35em" {more}>{escape(text)}</text>'


def svg_document(width: int, height: int, title: str, parts: list[str]) -> str:
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">',
            f"<title>{title}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            *parts,
            "</svg>",
        )
    )


def columns(said: str) -> str:
    """Names of columns: Chinese letter by letter, others turned."""
    tokens = ("[CLS]", "今", "天", "天", "##气", "BERT", "很好。", "𠮷", "[SEP]")
    parts = [svg_text(said, 10, 110)]
    for index, token in enumerate(tokens):
        x = 20 + 18 * index
        if CHINESE.search(token):
            places = enumerate(token)
            parts += [svg_text(one, x, 20 + 13 * i, MIDDLE) for i, one in places]
        else:
            turned = f'transform="translate({x} 80) rotate(-90)"'
            parts.append(svg_text(token, 0, 0, turned))
    return svg_document(200, 130, "columns", parts)


def mixed() -> str:
    """Letters of all kinds, as a text of a visitor may have them."""
    lines = (
        "气 fi AV é e\u0301 (12) “引号” ，。",
        "气 سلام אבג नमस्ते",
        "龘鑫 \u3000宽   ＡＢ１ 한국 かな \U00020bb7\U000200a5",
        "<b>气&\"'</b> ❤ ®",
    )
    parts = [svg_text(line, 150, 30 + 25 * i, MIDDLE) for i, line in enumerate(lines)]
    parts.append(
        '<text x="20" y="160" font-weight="600" font-size="20" fill="red" '
        'transform="rotate(-30 20 160)">粗体 Bold</text>'
    )
    return svg_document(300, 200, "all", parts)


PICTURES = {"columns": columns("头：权重"), "mixed": mixed()}


@pytest.fixture
def letters(new_page) -> Page:
    """An empty page with the script of the button that saves."""
    page = new_page(base="about:")
    page.set_content("<body></body>")
    page.add_script_tag(content=component_script("points"))
    return page


def outline(page: Page, svg: str) -> str:
    return page.evaluate("svg => outlined(svg)", svg)


def texts_of(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{SVG}text"))


# How far the pixels of pictures are from those of the first: the sum over pixels and
# colours. All are drawn as images, four times as large: letters as small as on a screen
# are moved to whole pixels by the browser where they are text, and not where they are
# shapes.
DISTANCES = """async (pictures) => {
  const pixels = async (svg) => {
    const image = new Image()
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
    await image.decode()
    const canvas = new OffscreenCanvas(4 * image.width, 4 * image.height)
    const context = canvas.getContext('2d')
    context.drawImage(image, 0, 0, canvas.width, canvas.height)
    return context.getImageData(0, 0, canvas.width, canvas.height).data
  }
  const distance = (one, other) => {
    let sum = 0
    for (let at = 0; at < one.length; at++) sum += Math.abs(one[at] - other[at])
    return sum
  }
  const [first, ...others] = await Promise.all(pictures.map(pixels))
  return others.map((other) => distance(first, other))
}"""


def changes(page: Page, svg: str, drawn: str) -> tuple[float, float]:
    """How far an outlined picture looks from the other, and how far half a pixel aside.

    Both as shares of what it would change to leave all shapes out.
    """
    aside = re.sub(
        r'(<use [^>]* x=")([^"]*)', lambda x: f"{x[1]}{float(x[2]) + 0.5}", drawn
    )
    empty = re.sub("<use [^>]*/>", "", drawn)
    assert drawn != aside
    outlined, moved, erased = page.evaluate(DISTANCES, [svg, drawn, aside, empty])
    return outlined / erased, moved / erased


@pytest.mark.parametrize("kind", PICTURES)
def test_an_outlined_picture_looks_as_the_browser_draws_its_text(letters, kind):
    svg = PICTURES[kind]
    drawn = outline(letters, svg)
    found, moved = changes(letters, svg, drawn)
    assert found <= MOST_CHANGED < moved
    # Texts with a Chinese letter are hidden, and stay.
    before, after = texts_of(svg), texts_of(drawn)
    assert [one.text for one in after] == [one.text for one in before]
    for text in after:
        is_chinese = bool(CHINESE.search(text.text))
        assert text.get("fill-opacity") == ("0" if is_chinese else None), text.text
    assert any(text.get("fill-opacity") == "0" for text in after)


def test_no_part_of_a_letter_is_cut_off(letters):
    for letter in "(fjd|W。，龘𠮷ガ":
        # Beside it a wide space, without which it would stay text.
        svg = svg_document(60, 40, "one", [svg_text(f"\u3000{letter}", 10, 20)])
        found, moved = changes(letters, svg, outline(letters, svg))
        assert found <= MOST_CHANGED < moved, letter


def test_each_letter_is_traced_once_and_has_a_name_of_its_own(letters):
    svg = PICTURES["columns"]
    drawn = ElementTree.fromstring(outline(letters, svg))
    ids = [node.get("id") for node in drawn.iter() if node.get("id")]
    used = [node.get("href")[1:] for node in drawn.iter(f"{SVG}use")]
    written = [
        text.text for text in drawn.iter(f"{SVG}text") if CHINESE.search(text.text)
    ]
    assert len(ids) == len(set(ids)) == len(set("".join(written)) - {" "})
    assert len(used) == len("".join(written).replace(" ", "")) > len(ids)
    assert set(used) == set(ids)
    other = outline(letters, columns("连线"))
    assert not any(name in other for name in ids)
    assert outline(letters, svg) == outline(letters, svg)


def test_a_picture_without_chinese_stays_as_it_is(letters):
    svg = svg_document(90, 30, "heads", [svg_text("cat — “naïve” ①", 5, 15)])
    assert outline(letters, svg) == svg
    titled = svg_document(90, 30, "每个头", [svg_text("cat", 5, 15)])
    assert outline(letters, titled) == titled


def test_a_picture_in_colours_stays_text_at_its_place(letters):
    svg = svg_document(200, 30, "a", [svg_text("天 😀 ❤️ 气", 100, 15, MIDDLE)])
    whole, *kept = texts_of(outline(letters, svg))
    assert [one.text for one in kept] == ["😀", "❤️"]
    assert whole.get("fill-opacity") == "0"
    places = [float(one.get("x")) for one in kept]
    assert 50 < places[0] < places[1] < 150
    assert {one.get("fill-opacity") for one in kept} == {None}


def test_what_a_file_brings_along_does_not_run(letters):
    script = "<script>window.ran = 1</script><image href='data:,' onerror='ran = 1'/>"
    svg = svg_document(90, 30, "a", [script, svg_text("天", 5, 15)])
    assert "<use" in outline(letters, svg)
    letters.wait_for_timeout(200)
    assert letters.evaluate("[window.ran, document.body.childElementCount]") == [
        None,
        0,
    ]


# A ring on a canvas, and the areas within the lines around it.
RING = """([outer, inner]) => {
  const canvas = new OffscreenCanvas(200, 160)
  const context = canvas.getContext('2d')
  context.arc(95.3, 80.7, outer, 0, 7)
  context.arc(95.3, 80.7, inner, 0, 7)
  context.fill('evenodd')
  const { data } = context.getImageData(0, 0, 200, 160)
  const cover = new Uint8Array(200 * 160).map((_, at) => data[4 * at + 3])
  return contoursOf(cover, 200, 160).map((line) => simplified(line, 0.12))
}"""


def area(line: list[list[float]]) -> float:
    x, y = np.transpose(line)
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def test_the_lines_around_a_ring_enclose_its_area(letters):
    lines = letters.evaluate(RING, [70, 30])
    assert len(lines) == 2
    outer, inner = sorted(map(area, lines), key=abs, reverse=True)
    assert outer * inner < 0, "the hole runs the other way"
    assert abs(outer) == pytest.approx(math.pi * 70**2, rel=0.01)
    assert abs(inner) == pytest.approx(math.pi * 30**2, rel=0.01)
    corners = np.concatenate(lines) - (95.3, 80.7)
    away = np.hypot(*corners.T)
    assert np.minimum(abs(away - 70), abs(away - 30)).max() < 0.33
    assert 20 < len(corners) < 200, "of 800 that the pixels give"


@pytest.mark.parametrize(("between", "number"), [(60, 2), (120, 1)])
def test_two_corners_hang_together_where_the_middle_is_covered(
    letters, between, number
):
    cover = np.zeros((4, 4), np.uint8)
    cover[1:3, 1:3] = [[160, between], [between, 160]]
    script = "cover => contoursOf(new Uint8Array(cover), 4, 4)"
    lines = letters.evaluate(script, cover.ravel().tolist())
    assert len(lines) == number
    assert len({area(line) > 0 for line in lines}) == 1


def test_a_letter_that_reaches_over_the_edge_is_an_error(letters):
    cover = np.zeros((4, 4), np.uint8)
    cover[1:3, 1:] = 255
    script = "cover => contoursOf(new Uint8Array(cover), 4, 4)"
    with pytest.raises(PlaywrightError, match="over the edge"):
        letters.evaluate(script, cover.ravel().tolist())


@pytest.mark.parametrize("fault", ["browser", "picture"])
def test_what_cannot_be_outlined_is_saved_as_it_is(letters, fault):
    svg = PICTURES["columns"]
    if fault == "browser":
        letters.evaluate("() => delete Intl.Segmenter")
    else:
        svg = svg.removesuffix("</svg>")
    with letters.expect_download() as saved:
        assert not letters.evaluate("svg => saveOutlined(svg, 'a.svg')", svg)
    assert saved.value.path().read_text("utf-8") == svg
    assert letters.evaluate("document.body.childElementCount") == 0
