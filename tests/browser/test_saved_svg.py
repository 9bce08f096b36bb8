"""Pictures that are drawn on a canvas, saved as SVG, in a real browser."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.figures.component_files import component_script
from bertviz_core.figures.point_map import Colour, FirstChoice, PointMap, point_payload
from tests.browser.attention_alone import Alone
from tests.locale_words import words_of

SVG = "{http://www.w3.org/2000/svg}"

# The canvas of a view, and the same part of its saved picture, at the size of the
# screen: the mean distance of colours, and that of the canvas to an empty one.
DISTANCES = """async ([svg, name, top]) => {
  const roots = [...document.querySelectorAll('*')].map((one) => one.shadowRoot)
  const shown = roots.map((root) => root?.querySelector(`canvas.${name}`)).find(Boolean)
  const { width, height } = shown
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const context = new OffscreenCanvas(width, height).getContext('2d')
  context.drawImage(image, -16, -top)
  const [drawn, saved] = [shown.getContext('2d'), context]
    .map((one) => one.getImageData(0, 0, width, height).data)
  const mean = (distance) => drawn.reduce(
    (sum, one, at) => sum + distance(one, at) / drawn.length, 0)
  return [mean((one, at) => Math.abs(one - saved[at])), mean((one) => 255 - one)]
}"""


def saved_as(shown: Alone, kind: str) -> str:
    name, path = shown.save(kind)
    assert name == "saved.svg"
    return path.read_text("utf-8")


def texts_of(svg: str) -> list[str]:
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("pair", {}),
        ("words", {}),
        ("pair", {"is_difference": True}),
        ("pair", {"is_length": True}),
    ],
    ids=["pair", "words", "difference", "lengths"],
)
def test_a_saved_view_looks_as_it_does_on_the_screen(alone, text, how):
    shown = alone(text, **how)
    filters = 20 * ("is_length" in how)
    # Below the legend and the title; above lines stand what is drawn and how much.
    tops = {"grid": 66 + filters, "heat": 66 + filters, "lines": 106 + filters}
    for name, kind in zip(tops, ("grid_svg", "heatmap_svg", "lines_svg"), strict=True):
        svg = saved_as(shown, kind)
        apart, all_of_it = shown.page.evaluate(DISTANCES, [svg, name, tops[name]])
        # Letters and slanting lines have edges of their own.
        assert apart < 0.35 * all_of_it, (name, apart, all_of_it)
        assert apart < 4, (name, apart)


def test_names_what_is_locked_and_each_head_are_in_the_files(alone):
    shown = alone()
    drawn = ElementTree.fromstring(saved_as(shown, "grid_svg"))
    images = [one.get("href") for one in drawn.iter(f"{SVG}image")]
    assert len(images) == len(set(images)) == 12 * 12
    shown.canvas("heat").click(position=shown.cell(9, 2))
    expect(shown.status).to_contain_text("<b> → cat")
    shown.page.mouse.move(0, 0)
    texts = texts_of(saved_as(shown, "heatmap_svg"))
    assert texts.count("<b>") == 2
    assert any("<b> → cat" in text for text in texts), texts
    assert "Heatmap: layer 1, head 1" in texts
    lines = saved_as(shown, "lines_svg")
    assert "Lines drawn: 1 of 1" in texts_of(lines), texts_of(lines)
    paths = ElementTree.fromstring(lines).iter(f"{SVG}path")
    assert sum("C" in path.get("d") for path in paths) == 1


# Of a page with the component's script alone.
def test_control_characters_and_markup_do_not_break_a_file(new_page):
    page = new_page(base="about:")
    page.add_script_tag(content=component_script("points"))
    svg = page.evaluate(
        """(text) => {
          const look = { background: 'white', font: 'serif' }
          const context = svgContext(90, 30, look, text)
          context.fillText(text, 5, 15)
          return context.finish()
        }""",
        '<b>"&\x01</b>猫\ud800',
    )
    assert texts_of(svg) == ['<b>"&</b>猫']


# Shows a map and pulls it down until its chosen point is below the edge.
PULLED_DOWN = """(bytes) => {
  showPoints(document.body, Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0)))
  turn(apps.get(document.body), 0, 300)
}"""


def test_below_a_saved_map_nothing_is_drawn_into_what_is_said_of_it(new_page):
    page = new_page(base="about:")
    page.set_content("<body></body>")
    page.add_script_tag(content=component_script("points"))
    places = np.array([[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]])
    points = PointMap(
        ("low", "high", "other"),
        places,
        (Colour("height", places[0, :, 1]),),
        words_of("point_map"),
        first=FirstChoice(selected=0),
    )
    page.evaluate(PULLED_DOWN, base64.b64encode(point_payload(points)).decode())
    with page.expect_download() as download:
        page.evaluate("saveSvg(apps.get(document.body))")
    drawing = ElementTree.parse(download.value.path()).getroot()
    (shown,) = drawing.iterfind(f"{SVG}svg")
    (ring,) = (one for one in drawing.iter(f"{SVG}path") if one.get("fill") == "none")
    assert ring in list(shown)
    said = [float(text.get("y")) for text in drawing.iterfind(f"{SVG}text")]
    assert float(shown.get("height")) < min(said)
