"""The attention component in a real browser, on a page of its own."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.figures.component_files import component_script
from tests.browser.conftest import overflow, settle

pytestmark = pytest.mark.browser

# Of the drawings, in CSS pixels; see GRID_LABEL, HEAT and LINES in the scripts.
GRID_LABEL, HEAT_LEFT, HEAT_TOP, LINES_ROW = 30, 92, 84, 22
NUM_TOKENS = 12
# What a button below the pictures tells them.
SAVE = """(kind) => dispatchEvent(new CustomEvent('bert-explorer-save', {
  detail: { key: 'canvas', kind, file: 'saved.svg' },
}))"""


def click_head(view, layer, head, num_heads=12):
    grid = view.locator("canvas.grid")
    cell = (grid.bounding_box()["width"] - GRID_LABEL - 2) / num_heads
    at = {
        "x": GRID_LABEL + (head - 0.5) * cell,
        "y": GRID_LABEL + (layer - 0.5) * cell,
    }
    grid.click(position=at)


def cell_position(view, row, column, num_tokens=NUM_TOKENS):
    width = view.locator("canvas.heat").bounding_box()["width"]
    cell = (width - HEAT_LEFT - 2) / num_tokens
    return {
        "x": HEAT_LEFT + (column + 0.5) * cell,
        "y": HEAT_TOP + (row + 0.5) * cell,
    }


def token_position(view, row, is_looked_at=False):
    """Of a token at one side of the lines."""
    width = view.locator("canvas.lines").bounding_box()["width"]
    return {"x": width - 40 if is_looked_at else 40, "y": (row + 0.5) * LINES_ROW}


def weights_of(layer, head, num_tokens=NUM_TOKENS):
    """The same random weights as the page, `[T, T]`; counted from 1."""
    shape = (12, 12, num_tokens, num_tokens)
    scores = np.random.default_rng(7).standard_normal(shape, np.float32) * 2
    row = scores[layer - 1, head - 1] + 4 * np.eye(num_tokens, k=head - 4)
    exponents = np.exp(row - row.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


def selection_line(page):
    return page.get_by_text(re.compile(r"^Selection\("))


def look_line(page):
    return page.get_by_text(re.compile(r"^Look\("))


def status(view):
    return view.locator(".status")


def title(view, text):
    return view.locator("h4", has_text=text)


def pressed(view):
    return view.locator(".chip[aria-pressed=true]")


def drawing(view, name="heat"):
    return view.locator(f"canvas.{name}").evaluate("canvas => canvas.toDataURL()")


def test_the_exact_weight_is_said_and_scale_and_language_change_the_picture(show):
    page, view = show()
    for column in (2, 3, 4):
        view.locator("canvas.heat").hover(position=cell_position(view, 1, column))
    weights = weights_of(1, 1)[1]
    share = f"{100 * weights[4]:.1f}% of its row"
    rank = f"rank {1 + sum(other > weights[4] for other in weights)} of 12"
    numbers = f"weight {weights[4]:.4f} · {share} · {rank}"
    expect(status(view)).to_have_text(f"the → drink · layer 1, head 1 · {numbers}")
    view.locator("canvas.grid").hover(position={"x": 100, "y": 100})
    expect(status(view)).to_contain_text(re.compile(r"Layer \d+, head \d+"))
    settle(page)
    expect(selection_line(page)).to_contain_text("run 1")
    # A table says what a canvas shows.
    view.get_by_text("As a table").nth(1).click()
    caption = view.locator(".heat-part caption")
    expect(caption).to_have_text("The 25 largest numbers: layer 1, head 1")
    expect(view.locator(".heat-part tbody tr")).to_have_count(25)
    view.locator("canvas.heat").click(position={"x": 20, "y": HEAT_TOP + 5})
    expect(caption).to_contain_text("numbers of ◆[CLS]")
    expect(view.locator(".heat-part tbody tr")).to_have_count(NUM_TOKENS)
    view.get_by_text("As a table").first.click()
    expect(view.locator(".grid-part tbody tr")).to_have_count(12)
    # A locked token has the numbers of its partners.
    lines = view.locator("canvas.lines")
    lines.click(position=token_position(view, 3))
    lines.hover(position=token_position(view, 8, is_looked_at=True))
    weights = weights_of(1, 1)[3]
    said = f"##s → are · layer 1, head 1 · weight {weights[8]:.4f}"
    expect(status(view)).to_contain_text(said)
    expect(view).to_have_attribute("data-locked", "true")
    expect(view).to_have_attribute("data-to", "")
    view.locator("canvas.heat").hover(position=cell_position(view, 6, 2))
    said = f"##s → cat · layer 1, head 1 · weight {weights[2]:.4f}"
    expect(status(view)).to_contain_text(said)
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-locked", "false")

    before = drawing(view)
    expect(view.locator(".legend")).to_have_text("01weight (linear)")
    view.get_by_label("Scale").select_option("log")
    expect(view.locator(".legend")).to_have_text("≤ 0.00011weight (log)")
    assert drawing(view) != before
    view.get_by_label("Lines from").fill("0.5")
    expect(view).to_have_attribute("data-lines", re.compile(r"^\d$"))
    expect(look_line(page)).to_contain_text("scale='log'")
    expect(look_line(page)).to_contain_text("threshold=0.5")
    page.get_by_text("中文").click()
    expect(view.get_by_role("button", name="显示第 3 个头")).to_be_visible()


def test_a_click_locks_and_frees_and_goes_on_from_what_the_page_chooses(show):
    page, view = show()
    heat, lines = view.locator("canvas.heat"), view.locator("canvas.lines")
    heat.click(position=cell_position(view, 2, 5))
    expect(view).to_have_attribute("data-locked", "true")
    expect(selection_line(page)).to_contain_text("from_token=2, to_token=5")
    heat.hover(position=cell_position(view, 7, 7))
    expect(view).to_have_attribute("data-from", "2")
    expect(view).to_have_attribute("data-lines", "1")
    click_head(view, 9, 12)
    expect(selection_line(page)).to_contain_text("layer=8, head=11, from_token=2")
    expect(status(view)).to_contain_text("cat → ▢[MASK] · layer 9, head 12")
    heat.click(position=cell_position(view, 2, 5))
    expect(view).to_have_attribute("data-locked", "false")
    expect(selection_line(page)).to_contain_text("from_token=None")
    heat.click(position=cell_position(view, 3, 1))
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-locked", "false")
    # A token of the lines is a row, or a column, of the heatmap.
    lines.click(position=token_position(view, 3))
    expect(view).to_have_attribute("data-from", "3")
    expect(view).to_have_attribute("data-to", "")
    lines.click(position=token_position(view, 8, is_looked_at=True))
    expect(selection_line(page)).to_contain_text("from_token=None, to_token=8")

    click_head(view, 7, 1)
    view.get_by_label("Scale").select_option("row")
    view.get_by_role("button", name="Tokens in rows").click()
    view.get_by_role("button", name="Show head 4").click()
    expected = "Look(scale='row', is_lying=True, threshold=0.05, heads=(0, 3))"
    expect(look_line(page)).to_have_text(expected)
    page.get_by_role("button", name="Choose").click()
    # Heads that were added to another one are not this one's; the rest stays.
    expect(title(view, "Lines: layer 7, head 5")).to_be_visible()
    expect(pressed(view)).to_have_text(["5"])
    expect(look_line(page)).to_have_text(expected.replace("(0, 3)", "()"))
    expect(view.get_by_label("Scale")).to_have_value("row")
    expect(view.get_by_role("button", name="Tokens in columns")).to_be_visible()
    click_head(view, 3, 1)
    expect(selection_line(page)).to_contain_text("layer=2, head=0")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(view).to_have_attribute("data-layer", "3")


def test_every_canvas_is_reached_by_tab_with_a_visible_ring_and_keys_move_and_lock(
    show,
):
    page, view = show()
    names = []
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
              const inner = document.activeElement.shadowRoot?.activeElement
              if (inner?.tagName !== 'CANVAS') return null
              const { outlineStyle, outlineWidth } = getComputedStyle(inner)
              return [inner.getAttribute('aria-label'), outlineStyle, outlineWidth]
            }"""
        )
        names += [found] if found else []
    # After the last element of the page, Tab begins again.
    assert [name.split(" ")[0] for name, _, _ in names[:3]] == [
        *("Attention", "Heatmap", "Lines")
    ]
    assert {(style, width) for _, style, width in names} == {("solid", "3px")}

    def keys(name, pressed):
        view.locator(f"canvas.{name}").focus()
        for key in pressed.split():
            page.keyboard.press(key if key in ("Enter", "Escape") else f"Arrow{key}")

    keys("grid", "Down Down Right Left Right")
    expect(selection_line(page)).to_contain_text("layer=2, head=1")
    keys("heat", "Down Down Right Enter")
    expect(selection_line(page)).to_contain_text("from_token=1, to_token=1")
    keys("heat", "Escape")
    expect(selection_line(page)).to_contain_text("from_token=None")
    # From a locked token, the arrow across goes through its partners.
    keys("lines", "Down Down Enter Right Down")
    expect(status(view)).to_contain_text("the → cat · layer 3, head 2 · weight 0.")
    expect(view).to_have_attribute("data-from", "1")
    keys("lines", "Left")
    expect(status(view)).to_contain_text("the → every token")
    keys("lines", "Right Down Enter")
    expect(selection_line(page)).to_contain_text("from_token=1, to_token=2")


def test_heads_are_added_to_the_lines_and_listed_with_them(show):
    page, view = show()
    before = int(view.get_attribute("data-lines"))
    chip = view.get_by_role("button", name="Show head 4")
    chip.click()
    expect(pressed(view)).to_have_text(["1", "4"])
    expect(title(view, "Lines: layer 1, heads 1, 4")).to_be_visible()
    assert int(view.get_attribute("data-lines")) > before
    hues = view.locator(".chip").evaluate_all(
        "chips => chips.map(chip => chip.style.getPropertyValue('--hue'))"
    )
    assert len(set(hues)) == 12
    chip.click()  # taken away again
    expect(pressed(view)).to_have_text(["1"])
    click_head(view, 1, 6)
    expect(title(view, "Lines: layer 1, head 6")).to_be_visible()
    chip.click()
    expect(pressed(view)).to_have_text(["4", "6"])
    click_head(view, 1, 8)
    expect(pressed(view)).to_have_text(["8"])
    expect(look_line(page)).to_contain_text("heads=()")
    # The lines are named and listed with every head that is drawn.
    click_head(view, 1, 1)
    expect(pressed(view)).to_have_text(["1"])
    view.get_by_role("button", name="Show head 11").click()
    width = view.locator("canvas.lines").bounding_box()["width"]
    # Right beside the names, where lines begin at the height of their token.
    beside = {"x": min(130, 0.3 * width) + 12, "y": 2.5 * LINES_ROW}
    view.locator("canvas.lines").hover(position=beside)
    expect(view).to_have_attribute("data-peek", re.compile(r"^\d+ \d+$"))
    said = status(view).inner_text()
    row, column = map(int, view.get_attribute("data-peek").split())
    head = int(re.search(r"head (\d+)", said).group(1))
    assert head in (1, 11)
    weights = weights_of(1, head)[row]
    assert f"weight {weights[column]:.4f}" in said
    assert f"rank {1 + sum(other > weights[column] for other in weights)} of 12" in said
    # The page's answer to the added head leaves the pointer where it is.
    expect(look_line(page)).to_contain_text("heads=(0, 10)")
    settle(page)
    assert status(view).inner_text() == said
    total = int(view.get_attribute("data-lines"))
    part = view.locator(".lines-part")
    part.get_by_text("As a table").click()
    expect(part.locator("caption")).to_have_text(
        f"25 of the {total} lines that are drawn, strongest first: layer 1, heads 1, 11"
        f" · Lines drawn: {total} of {total}"
    )
    expect(part.locator("tbody tr")).to_have_count(25)
    part.get_by_role("button", name="More rows").click()
    expect(part.locator("tbody tr")).to_have_count(total)
    expect(part.get_by_role("button", name="More rows")).to_be_hidden()
    assert set(part.locator("tbody th").all_inner_texts()) == {"1", "11"}
    head, *cells = part.locator("tbody tr").first.locator("th, td").all_inner_texts()
    assert float(cells[2]) == pytest.approx(weights_of(1, int(head)).max(), abs=5e-5)


def test_differences_and_a_map_have_both_signs_and_a_map_is_chosen_from(show):
    page, view = show("?difference=1&map=1", color_scheme="dark")
    expect(view.locator(".legend")).to_have_text(re.compile(r"−0\..*\+0\..*negative"))
    view = page.locator(".attention").nth(1)
    expect(status(view)).to_contain_text(re.compile(r"Layer 1, head 1: [+−]0\.\d{4}"))
    click_head(view, 3, 7)
    expect(selection_line(page).nth(1)).to_contain_text("layer=2, head=6")
    expect(status(view)).to_contain_text("Layer 3, head 7: ")
    expect(view.locator(".legend")).to_contain_text("may be negative")


def test_chinese_is_upright_between_two_rows(show):
    page, view = show("?text=chinese", locale="zh-CN", width=390)
    lines = view.locator("canvas.lines")
    # A column of a character's own width: turned names would not fit side by side.
    lines.click(position={"x": 26 * 1.5, "y": 60})
    expect(status(view)).to_contain_text("猫")
    assert overflow(page) <= 0
    view.get_by_role("button", name="词元竖排").click()
    expect(view.get_by_role("button", name="词元横排")).to_be_visible()


# What is written on each canvas, with the angle of its letters in degrees.
RECORD_TEXTS = """() => {
  window.written = []
  const write = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, b } = this.getTransform()
    const angle = Math.round((Math.atan2(b, a) * 180) / Math.PI)
    window.written.push([this.canvas.className, text, angle, x, y])
    write.call(this, text, x, y)
  }
}"""


def test_words_of_several_chinese_characters_stand_upright_letter_by_letter(show):
    page, view = show("?text=words")
    page.evaluate(RECORD_TEXTS)
    view.locator("canvas.heat").hover(position=cell_position(view, 1, 1, 5))
    expect(status(view)).to_contain_text("今天 → 今天")
    written = page.evaluate("window.written")
    in_lines = [rest for canvas, *rest in written if canvas == "lines"]
    assert {(text, angle) for text, angle, *_ in in_lines} == {
        *(("今", 0), ("天", 0), ("气", 0), ("好", 0)),
        *(("◆[CLS]", -90), ("◆[SEP]", -90)),
    }
    below = {(x, y) for text, _, x, y in in_lines if text == "今"}
    assert len(below) == 2  # at both sides
    letters = {(x, y) for text, _, x, y in in_lines if text == "天"}
    for x, y in below:
        assert any(x == other and 0 < lower - y < 20 for other, lower in letters)
    # In the heatmap, rows have their names from left to right.
    in_heat = {(text, angle) for canvas, text, angle, *_ in written if canvas == "heat"}
    assert {("今天", 0), ("今", 0), ("天", 0), ("◆[CLS]", -90)} <= in_heat
    assert ("今天", -90) not in in_heat


def test_one_token_and_one_head_are_enough(show):
    page, view = show("?text=one&size=one_head")
    expect(view).to_have_attribute("data-lines", "1")
    expect(view.locator(".chip")).to_have_count(0)
    view.locator("canvas.heat").hover(position={"x": HEAT_LEFT + 9, "y": HEAT_TOP + 9})
    expect(status(view)).to_contain_text("weight 1.0000 · 100.0% of its row · rank 1")
    view.locator("canvas.grid").focus()
    page.keyboard.press("ArrowRight")
    expect(view).to_have_attribute("data-head", "1")


def test_lengths_are_named_and_drawn_up_to_the_largest(show):
    page, view = show("?lengths=1")
    expect(view.locator(".legend")).to_have_text("08length (linear)")
    expect(title(view, "Heatmap: lengths of layer 1")).to_be_visible()
    expect(title(view, "single weights, 0 to 1")).to_be_visible()
    expect(view.locator(".filters")).to_have_text("Shown with: a filter")
    expect(view.locator(".chip")).to_have_count(0)
    view.locator("canvas.heat").hover(position=cell_position(view, 1, 4))
    said = f"lengths of layer 1 · length {8 * weights_of(1, 1)[1, 4]:.4f} · "
    expect(status(view)).to_contain_text(f"the → drink · {said}")
    for name in ("heat", "lines"):
        label = view.locator(f"canvas.{name}").get_attribute("aria-label")
        assert "lengths of layer 1" in label
        assert "head" not in label
    view.get_by_text("As a table").nth(1).click()
    expect(view.locator(".heat-part thead")).to_have_text(
        "FromToLengthShare of rowRank in row"
    )
    # A scale with the same steps: a half of the largest is drawn from half of 8 on.
    view.get_by_label("Lines from").fill("0.5")
    expect(view.get_by_text("Lines from 4.000")).to_be_visible()
    expect(selection_line(page)).to_contain_text("run 2")
    # The head in the frame is not what is shown: a click on it is told.
    click_head(view, 1, 1)
    expect(selection_line(page)).to_contain_text("run 3")


# How the script chooses; equal weights stand in the order of cells.
STRONGEST = """const data = { numTokens: rows.length, arrays: { matrix: rows.flat() } }
  const focus = { from: null, to: null }
  const { cells, count } = strongestCells(data, focus, 0.1, limit)
  return { count, cells: cells.map(({ from, to }) => from * rows.length + to) }"""
RANKS = """const data = { numTokens: row.length, arrays: { matrix: row } }
  return row.map((_, to) => rankInRow(data, 0, to))"""


def test_the_script_reads_ranks_strongest_cells_and_chinese(new_page):
    page, script = new_page(base="about:"), component_script("attention")

    def run(names, body, value):
        return page.evaluate(f"({names}) => {{ {script}; {body} }}", value)

    for text, is_wide in (("，", True), ("！", True), ("𠮷", True), ("a", False)):
        assert run("text", "return CJK.test(text)", text) is is_wide, text
    # Equal weights share the better rank, and differences count by size.
    assert run("row", RANKS, [0.2, 0.5, 0.2, 0.1]) == [2, 1, 2, 4]
    assert run("row", RANKS, [0.25, -0.5, 0.0, -0.25]) == [2, 1, 4, 2]
    random = np.random.default_rng(4)
    for rows in (
        random.normal(0, 0.3, (20, 20)),
        random.integers(-3, 4, (20, 20)) / 10,  # many alike
        np.full((20, 20), 0.25),
        np.arange(400).reshape(20, 20) / 400,
    ):
        flat = np.abs(rows.ravel())
        order = np.argsort(-flat, kind="stable")
        wanted = [int(place) for place in order if flat[place] >= 0.1]
        for limit in (1, 7, 40, 1000):
            found = run("[rows, limit]", STRONGEST, [rows.tolist(), limit])
            assert found == {"count": len(wanted), "cells": wanted[:limit]}
