"""The attention component in a real browser, without the app around it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.figures.component_files import component_script
from tests.browser.attention_alone import (
    HEAT_LEFT,
    HEAT_TOP,
    LINES_ROW,
    RECORD_TEXTS,
    weights_of,
)
from tests.browser.conftest import open_table

NUM_TOKENS = 12


def token_position(alone, row, is_looked_at=False):
    """Of a token at one side of the lines."""
    width = alone.canvas("lines").bounding_box()["width"]
    return {"x": width - 40 if is_looked_at else 40, "y": (row + 0.5) * LINES_ROW}


def pressed(view):
    return view.locator(".chip[aria-pressed=true]")


def test_numbers_are_said_and_listed_and_scale_and_language_change_the_picture(alone):
    shown = alone()
    page, view = shown.page, shown.view
    for column in (2, 3, 4):
        shown.canvas("heat").hover(position=shown.cell(1, column))
    weights = weights_of(1, 1)[1]
    share = f"{100 * weights[4]:.1f}% of its row"
    rank = f"rank {1 + sum(other > weights[4] for other in weights)} of 12"
    numbers = f"weight {weights[4]:.4f} · {share} · {rank}"
    expect(shown.status).to_have_text(f"the → drink · layer 1, head 1 · {numbers}")
    shown.canvas("grid").hover(position={"x": 100, "y": 100})
    expect(shown.status).to_contain_text(re.compile(r"Layer \d+, head \d+"))
    assert not shown.messages
    tables_say_what_canvases_show(shown)
    a_locked_token_has_the_numbers_of_its_partners(shown)

    before = shown.drawing()
    expect(view.locator(".legend")).to_have_text("01weight (linear)")
    view.get_by_label("Scale").select_option("log")
    expect(view.locator(".legend")).to_have_text("≤ 0.00011weight (log)")
    assert shown.drawing() != before
    view.get_by_label("Lines from").fill("0.5")
    expect(view).to_have_attribute("data-lines", re.compile(r"^\d$"))
    shown.hears(scale="log", threshold=0.5)
    page.mouse.move(0, 0)
    shown.language = "zh"
    shown.answer()
    expect(view.get_by_role("button", name="显示第 3 个头")).to_be_visible()


def tables_say_what_canvases_show(shown):
    view = shown.view
    open_table(view, 1)
    caption = view.locator(".heat-part caption")
    expect(caption).to_have_text("The 25 largest numbers: layer 1, head 1")
    expect(view.locator(".heat-part tbody tr")).to_have_count(25)
    shown.canvas("heat").click(position={"x": 20, "y": HEAT_TOP + 5})
    expect(caption).to_contain_text("numbers of ◆[CLS]")
    expect(view.locator(".heat-part tbody tr")).to_have_count(NUM_TOKENS)
    open_table(view)
    expect(view.locator(".grid-part tbody tr")).to_have_count(12)


def a_locked_token_has_the_numbers_of_its_partners(shown):
    lines = shown.canvas("lines")
    lines.click(position=token_position(shown, 3))
    lines.hover(position=token_position(shown, 8, is_looked_at=True))
    weights = weights_of(1, 1)[3]
    said = f"##s → are · layer 1, head 1 · weight {weights[8]:.4f}"
    expect(shown.status).to_contain_text(said)
    expect(shown.view).to_have_attribute("data-locked", "true")
    expect(shown.view).to_have_attribute("data-to", "")
    shown.canvas("heat").hover(position=shown.cell(6, 2))
    said = f"##s → cat · layer 1, head 1 · weight {weights[2]:.4f}"
    expect(shown.status).to_contain_text(said)
    shown.page.keyboard.press("Escape")
    expect(shown.view).to_have_attribute("data-locked", "false")


def test_a_click_locks_and_frees_and_goes_on_from_what_the_page_chooses(alone):
    shown = alone()
    page, view = shown.page, shown.view
    heat, lines = shown.canvas("heat"), shown.canvas("lines")
    heat.click(position=shown.cell(2, 5))
    expect(view).to_have_attribute("data-locked", "true")
    shown.hears(from_=2, to=5)
    heat.hover(position=shown.cell(7, 7))
    expect(view).to_have_attribute("data-from", "2")
    expect(view).to_have_attribute("data-lines", "1")
    shown.click_head(9, 12)
    shown.hears(8, 11, from_=2)
    expect(shown.status).to_contain_text("cat → ▢[MASK] · layer 9, head 12")
    heat.click(position=shown.cell(2, 5))
    expect(view).to_have_attribute("data-locked", "false")
    shown.hears(from_=None)
    heat.click(position=shown.cell(3, 1))
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-locked", "false")
    # A token of the lines is a row, or a column, of the heatmap.
    lines.click(position=token_position(shown, 3))
    expect(view).to_have_attribute("data-from", "3")
    expect(view).to_have_attribute("data-to", "")
    lines.click(position=token_position(shown, 8, is_looked_at=True))
    shown.hears(from_=None, to=8)

    shown.click_head(7, 1)
    view.get_by_label("Scale").select_option("row")
    view.get_by_role("button", name="Tokens in rows").click()
    view.get_by_role("button", name="Show head 4").click()
    shown.hears(6, 0, scale="row", lying=True, threshold=0.05, heads=[0, 3])
    shown.answer(layer=6, head=4, heads=())
    # Heads that were added to another one are not this one's; the rest stays.
    expect(shown.title("Lines: layer 7, head 5")).to_be_visible()
    expect(pressed(view)).to_have_text(["5"])
    expect(view.get_by_label("Scale")).to_have_value("row")
    expect(view.get_by_role("button", name="Tokens in columns")).to_be_visible()
    shown.click_head(3, 1)
    shown.hears(2, 0, heads=[])
    expect(view).to_have_attribute("aria-busy", "false")
    expect(view).to_have_attribute("data-layer", "3")


def test_every_canvas_is_reached_by_tab_with_a_visible_ring_and_keys_move_and_lock(
    alone,
):
    shown = alone()
    page, view = shown.page, shown.view
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
        shown.canvas(name).focus()
        for key in pressed.split():
            page.keyboard.press(key if key in ("Enter", "Escape") else f"Arrow{key}")

    keys("grid", "Down Down Right Left Right")
    shown.hears(2, 1)
    keys("heat", "Down Down Right Enter")
    shown.hears(from_=1, to=1)
    keys("heat", "Escape")
    shown.hears(from_=None)
    # From a locked token, the arrow across goes through its partners.
    keys("lines", "Down Down Enter Right Down")
    expect(shown.status).to_contain_text("the → cat · layer 3, head 2 · weight 0.")
    expect(view).to_have_attribute("data-from", "1")
    keys("lines", "Left")
    expect(shown.status).to_contain_text("the → every token")
    keys("lines", "Right Down Enter")
    shown.hears(from_=1, to=2)


def test_heads_are_added_to_the_lines_and_listed_with_them(alone):
    shown = alone()
    view = shown.view
    before = int(view.get_attribute("data-lines"))
    chip = view.get_by_role("button", name="Show head 4")
    chip.click()
    expect(pressed(view)).to_have_text(["1", "4"])
    expect(shown.title("Lines: layer 1, heads 1, 4")).to_be_visible()
    assert int(view.get_attribute("data-lines")) > before
    hues = view.locator(".chip").evaluate_all(
        "chips => chips.map(chip => chip.style.getPropertyValue('--hue'))"
    )
    assert len(set(hues)) == 12
    chip.click()  # taken away again
    expect(pressed(view)).to_have_text(["1"])
    shown.click_head(1, 6)
    expect(shown.title("Lines: layer 1, head 6")).to_be_visible()
    chip.click()
    expect(pressed(view)).to_have_text(["4", "6"])
    shown.click_head(1, 8)
    expect(pressed(view)).to_have_text(["8"])
    shown.hears(0, 7, heads=[])
    # The lines are named and listed with every head that is drawn.
    shown.click_head(1, 1)
    expect(pressed(view)).to_have_text(["1"])
    view.get_by_role("button", name="Show head 11").click()
    width = shown.canvas("lines").bounding_box()["width"]
    # Right beside the names, where lines begin at the height of their token.
    beside = {"x": min(130, 0.3 * width) + 12, "y": 2.5 * LINES_ROW}
    shown.canvas("lines").hover(position=beside)
    expect(view).to_have_attribute("data-peek", re.compile(r"^\d+ \d+$"))
    said = shown.status.inner_text()
    row, column = map(int, view.get_attribute("data-peek").split())
    head = int(re.search(r"head (\d+)", said).group(1))
    assert head in (1, 11)
    weights = weights_of(1, head)[row]
    assert f"weight {weights[column]:.4f}" in said
    assert f"rank {1 + sum(other > weights[column] for other in weights)} of 12" in said
    # The answer to the added head leaves the pointer where it is.
    shown.hears(heads=[0, 10])
    shown.page.wait_for_timeout(100)
    assert shown.status.inner_text() == said
    total = int(view.get_attribute("data-lines"))
    part = view.locator(".lines-part")
    open_table(part)
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


def test_chinese_stands_upright_letter_by_letter(alone):
    on_a_phone = alone("chinese", language="zh", width=390)
    # A column of a character's own width: turned names would not fit side by side.
    on_a_phone.canvas("lines").click(position={"x": 26 * 1.5, "y": 60})
    expect(on_a_phone.status).to_contain_text("猫")
    page, view = on_a_phone.page, on_a_phone.view
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    view.get_by_role("button", name="词元竖排").click()
    expect(view.get_by_role("button", name="词元横排")).to_be_visible()

    words = alone("words")
    words.page.evaluate(RECORD_TEXTS)
    words.canvas("heat").hover(position=words.cell(1, 1))
    expect(words.status).to_contain_text("今天 → 今天")
    written = words.page.evaluate("window.written")
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


def test_one_token_and_one_head_are_enough(alone):
    shown = alone("one", shape=(1, 1))
    expect(shown.view).to_have_attribute("data-lines", "1")
    expect(shown.view.locator(".chip")).to_have_count(0)
    shown.canvas("heat").hover(position={"x": HEAT_LEFT + 9, "y": HEAT_TOP + 9})
    said = "weight 1.0000 · 100.0% of its row · rank 1"
    expect(shown.status).to_contain_text(said)
    shown.canvas("grid").focus()
    shown.page.keyboard.press("ArrowRight")
    expect(shown.view).to_have_attribute("data-head", "1")


def test_lengths_are_named_and_drawn_up_to_the_largest(alone):
    shown = alone(is_length=True)
    view = shown.view
    expect(view.locator(".legend")).to_have_text("08length (linear)")
    expect(shown.title("Heatmap: lengths of layer 1")).to_be_visible()
    expect(shown.title("single weights, 0 to 1")).to_be_visible()
    expect(view.locator(".filters")).to_have_text("Shown with: a filter")
    expect(view.locator(".chip")).to_have_count(0)
    shown.canvas("heat").hover(position=shown.cell(1, 4))
    said = f"lengths of layer 1 · length {8 * weights_of(1, 1)[1, 4]:.4f} · "
    expect(shown.status).to_contain_text(f"the → drink · {said}")
    for name in ("heat", "lines"):
        label = shown.canvas(name).get_attribute("aria-label")
        assert "lengths of layer 1" in label
        assert "head" not in label
    open_table(view, 1)
    expect(view.locator(".heat-part thead")).to_have_text(
        "FromToLengthShare of rowRank in row"
    )
    # A scale with the same steps: a half of the largest is drawn from half of 8 on.
    view.get_by_label("Lines from").fill("0.5")
    expect(view.get_by_text("Lines from 4.000")).to_be_visible()
    shown.hears(threshold=0.5, chosenAt=0)
    # The head in the frame is not what is shown: a click on it is told.
    shown.hold()
    shown.click_head(1, 1)
    while not shown.said["chosenAt"]:
        shown.page.wait_for_timeout(20)
    shown.hears(0, 0)
    # And what is not held exactly is drawn as a sketch until it is answered.
    expect(shown.title("Heatmap: layer 1, head 1")).to_be_visible()
    expect(view.locator(".legend")).to_have_text("01weight (linear)")
    shown.canvas("heat").hover(position=shown.cell(1, 4))
    expect(shown.status).to_contain_text("exact number to follow")
    shown.let_through()
    expect(shown.status).to_contain_text(f"weight {weights_of(1, 1)[1, 4]:.4f}")


def test_a_map_and_differences_have_both_signs_and_a_map_is_chosen_from(alone):
    difference = alone(is_difference=True)
    legend = re.compile(r"−0\..*\+0\..*negative")
    expect(difference.view.locator(".legend")).to_have_text(legend)
    shown = alone(values=np.random.default_rng(3).normal(0, 0.1, (12, 12)))
    told = re.compile("^One number for each head, .*12 layers by 12 heads")
    expect(shown.view.get_by_role("application")).to_have_attribute("aria-label", told)
    said = re.compile(r"Layer 1, head 1: [+−]0\.\d{4}")
    expect(shown.status).to_contain_text(said)
    shown.click_head(3, 7)
    shown.hears(2, 6)
    expect(shown.status).to_contain_text("Layer 3, head 7: ")
    expect(shown.view.locator(".legend")).to_contain_text("may be negative")
    name, path = shown.save("svg", "")
    assert name == "attention.svg"
    texts = re.findall("<text[^>]*>([^<]*)</text>", path.read_text("utf-8"))
    assert "One number for each head" in texts
    assert {"+", "−"} < set(texts)


# How the script chooses; equal weights stand in the order of cells.
STRONGEST = """const data = { numTokens: rows.length, arrays: { matrix: rows.flat() } }
  const focus = { from: null, to: null }
  const { cells, count } = strongestCells(data, focus, 0.1, limit)
  return { count, cells: cells.map(({ from, to }) => from * rows.length + to) }"""
RANKS = """const data = { numTokens: row.length, arrays: { matrix: row } }
  return row.map((_, to) => rankInRow(data, 0, to))"""
SCALED = "return values.map((value) => onScale(value, scale, top))"
# Numbers, the end of the scale, and where they stand on it.
SCALES = [
    ("linear", [0.1, 0.4, 0.05], 1.0, [0.1, 0.4, 0.05]),
    ("linear", [0.1, 0.4, 0.05], 0.2, [0.5, 1, 0.25]),
    # Equal ratios are equal steps down to the floor.
    ("log", [1.0, 0.1, 0.01, 1e-4, 0.0], 1.0, [1, 0.75, 0.5, 0, 0]),
    ("log", [8.0, 0.8, 0.08, 8e-4, 0.0], 8.0, [1, 0.75, 0.5, 0, 0]),
]


def test_the_script_reads_ranks_strongest_cells_scales_and_chinese(new_page):
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
    for scale, values, top, expected in SCALES:
        for sign in (1, -1):  # alike on both sides of zero
            signed = [sign * value for value in values]
            found = run("[values, scale, top]", SCALED, [signed, scale, top])
            np.testing.assert_allclose(found, sign * np.array(expected), atol=1e-12)
