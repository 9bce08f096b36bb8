"""The attention component in a real browser, on a page of its own."""

from __future__ import annotations

import re
from io import BytesIO

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.figures.attention_export import attention_html
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView, HeadMap, token_kinds
from bertviz_core.figures.component_files import component_script
from tests.attention_words import component_words
from tests.browser.conftest import overflow, settle

pytestmark = pytest.mark.browser

# Of the drawings, in CSS pixels; see GRID_LABEL, HEAT and LINES in the scripts.
GRID_LABEL, HEAT_LEFT, HEAT_TOP, LINES_ROW = 30, 92, 84, 22
NUM_TOKENS, MOST_GRID_MS = 12, 300


def click_head(view, layer, head, num_heads=12):
    grid = view.locator("canvas.grid")
    cell = (grid.bounding_box()["width"] - GRID_LABEL - 2) / num_heads
    at = {
        "x": GRID_LABEL + (head - 0.5) * cell,
        "y": GRID_LABEL + (layer - 0.5) * cell,
    }
    grid.click(position=at)


def cell_position(view, row, column, num_tokens=NUM_TOKENS):
    cell = (view.locator("canvas.heat").bounding_box()["width"] - HEAT_LEFT - 2) / (
        num_tokens
    )
    return {
        "x": HEAT_LEFT + (column + 0.5) * cell,
        "y": HEAT_TOP + (row + 0.5) * cell,
    }


def selection_line(page):
    return page.get_by_text(re.compile(r"^Selection\("))


def look_line(page):
    return page.get_by_text(re.compile(r"^Look\("))


def status(view):
    return view.get_by_role("status")


def test_choosing_a_head_moves_the_other_views_and_the_page(show):
    page, view = show()
    click_head(view, 5, 3)
    expect(view).to_have_attribute("data-layer", "5")
    expect(view.locator("h4", has_text="Heatmap: layer 5, head 3")).to_be_visible()
    expect(view.locator("h4", has_text="Lines: layer 5, head 3")).to_be_visible()
    expect(selection_line(page)).to_contain_text("layer=4, head=2, from_token=None")


def test_hovering_says_the_exact_weight_and_does_not_run_the_page_again(show):
    page, view = show()
    for column in (2, 3, 4):
        view.locator("canvas.heat").hover(position=cell_position(view, 1, column))
    expect(status(view)).to_contain_text("the → drink · layer 1, head 1 · weight 0.")
    text = status(view).inner_text()
    weight = float(re.search(r"weight (0\.\d{4})", text).group(1))
    share = float(re.search(r"([\d.]+) % of its row", text).group(1))
    rank = int(re.search(r"rank (\d+) of 12", text).group(1))
    assert share == pytest.approx(100 * weight, abs=0.06)
    weights = row_of_the_example(1)
    assert weight == pytest.approx(weights[4], abs=5e-5)
    assert rank == 1 + sum(other > weights[4] for other in weights)
    expect(selection_line(page)).to_contain_text("run 1")


def row_of_the_example(row, head=0):
    """The same random weights as the page, layer 1."""
    shape = (12, 12, NUM_TOKENS, NUM_TOKENS)
    scores = np.random.default_rng(7).standard_normal(shape, np.float32) * 2
    scores[:, head] += 4 * np.eye(NUM_TOKENS, k=head - 3)
    exponents = np.exp(scores[0, head, row] - scores[0, head, row].max())
    return exponents / exponents.sum()


def test_the_page_may_choose_and_the_visitor_goes_on_from_there(show):
    page, view = show()
    click_head(view, 2, 2)
    expect(selection_line(page)).to_contain_text("layer=1, head=1")
    page.get_by_role("button", name="Choose").click()
    expect(view).to_have_attribute("data-layer", "7")
    expect(status(view)).to_contain_text("the → every token · layer 7, head 5")
    click_head(view, 3, 1)
    expect(selection_line(page)).to_contain_text("layer=2, head=0, from_token=1")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(view).to_have_attribute("data-layer", "3")


def test_a_click_locks_a_cell_and_a_second_click_or_escape_frees_it(show):
    page, view = show()
    heat = view.locator("canvas.heat")
    heat.click(position=cell_position(view, 2, 5))
    expect(view).to_have_attribute("data-locked", "true")
    expect(selection_line(page)).to_contain_text("from_token=2, to_token=5")
    heat.hover(position=cell_position(view, 7, 7))
    expect(view).to_have_attribute("data-from", "2")
    expect(view).to_have_attribute("data-lines", "1")
    heat.click(position=cell_position(view, 2, 5))
    expect(view).to_have_attribute("data-locked", "false")
    expect(selection_line(page)).to_contain_text("from_token=None")
    heat.click(position=cell_position(view, 3, 1))
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-locked", "false")


def test_a_locked_cell_stays_when_the_head_changes(show):
    page, view = show()
    view.locator("canvas.heat").click(position=cell_position(view, 2, 5))
    click_head(view, 9, 12)
    expect(selection_line(page)).to_contain_text("layer=8, head=11, from_token=2")
    expect(status(view)).to_contain_text("cat → ▢[MASK] · layer 9, head 12")


def test_a_token_of_the_lines_marks_its_row_in_the_heatmap(show):
    page, view = show()
    lines = view.locator("canvas.lines")
    lines.click(position={"x": 40, "y": 3.5 * LINES_ROW})
    expect(view).to_have_attribute("data-from", "3")
    expect(view).to_have_attribute("data-to", "")
    width = lines.bounding_box()["width"]
    lines.click(position={"x": width - 40, "y": 8.5 * LINES_ROW})
    expect(view).to_have_attribute("data-to", "8")
    expect(selection_line(page)).to_contain_text("from_token=None, to_token=8")


def test_arrows_move_and_enter_locks(show):
    page, view = show()
    view.locator("canvas.grid").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    expect(selection_line(page)).to_contain_text("layer=2, head=1")
    page.keyboard.press("Escape")
    view.locator("canvas.heat").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(selection_line(page)).to_contain_text("from_token=1, to_token=1")
    expect(view).to_have_attribute("data-locked", "true")
    page.keyboard.press("Escape")
    expect(selection_line(page)).to_contain_text("from_token=None")


def test_every_canvas_is_reached_by_tab_with_a_name_and_a_visible_ring(show):
    page, _ = show()
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


def test_tables_say_what_the_canvases_show(show):
    _, view = show()
    view.get_by_text("As a table").nth(1).click()
    caption = view.locator(".heat-part caption")
    expect(caption).to_have_text("The 25 largest numbers: layer 1, head 1")
    expect(view.locator(".heat-part tbody tr")).to_have_count(25)
    view.locator("canvas.heat").click(position={"x": 20, "y": HEAT_TOP + 5})
    expect(caption).to_contain_text("numbers of ◆[CLS]")
    expect(view.locator(".heat-part tbody tr")).to_have_count(NUM_TOKENS)
    view.get_by_text("As a table").first.click()
    expect(view.locator(".grid-part tbody tr")).to_have_count(12)


def test_heads_are_added_to_the_lines(show):
    _, view = show()
    before = int(view.get_attribute("data-lines"))
    view.get_by_role("button", name="Show head 11").click()
    pressed = view.locator(".chip[aria-pressed=true]")
    expect(pressed).to_have_text(["1", "11"])
    expect(view.locator("h4", has_text="Lines: layer 1, heads 1, 11")).to_be_visible()
    assert int(view.get_attribute("data-lines")) > before
    hues = view.locator(".chip").evaluate_all(
        "chips => chips.map(chip => chip.style.getPropertyValue('--hue'))"
    )
    assert len(set(hues)) == 12


def test_lines_follow_the_grid_after_heads_were_added(show):
    page, view = show()
    chip = view.get_by_role("button", name="Show head 4")
    pressed = view.locator(".chip[aria-pressed=true]")
    for shown in (["1", "4"], ["1"]):  # added, and taken away again
        chip.click()
        expect(pressed).to_have_text(shown)
    click_head(view, 1, 6)
    expect(view.locator("h4", has_text="Lines: layer 1, head 6")).to_be_visible()
    chip.click()
    expect(pressed).to_have_text(["4", "6"])
    click_head(view, 1, 8)
    expect(view.locator("h4", has_text="Lines: layer 1, head 8")).to_be_visible()
    expect(pressed).to_have_text(["8"])
    expect(look_line(page)).to_contain_text("heads=()")


def test_lines_follow_the_head_that_the_page_chooses(show):
    page, view = show()
    click_head(view, 7, 1)
    expect(view.locator("h4", has_text="Lines: layer 7, head 1")).to_be_visible()
    view.get_by_role("button", name="Show head 4").click()
    expect(look_line(page)).to_contain_text("heads=(0, 3)")
    page.get_by_role("button", name="Choose").click()
    expect(view.locator("h4", has_text="Lines: layer 7, head 5")).to_be_visible()
    expect(view.locator(".chip[aria-pressed=true]")).to_have_text(["5"])


def test_scale_and_threshold_change_the_picture_and_the_legend(show):
    page, view = show()
    before = view.locator("canvas.heat").evaluate("canvas => canvas.toDataURL()")
    expect(view.locator(".legend")).to_have_text("01weight (linear)")
    view.get_by_label("Scale").select_option("log")
    expect(view.locator(".legend")).to_have_text("≤ 0.00011weight (log)")
    assert (
        view.locator("canvas.heat").evaluate("canvas => canvas.toDataURL()") != before
    )
    view.get_by_label("Lines from").fill("0.5")
    expect(view).to_have_attribute("data-lines", re.compile(r"^\d$"))
    expect(look_line(page)).to_contain_text("scale='log'")
    expect(look_line(page)).to_contain_text("threshold=0.5")


def test_differences_have_a_legend_with_both_signs(show):
    _, view = show("?difference=1", color_scheme="dark")
    expect(view.locator(".legend")).to_contain_text("−0.")
    expect(view.locator(".legend")).to_contain_text("+0.")
    expect(view.locator(".legend")).to_contain_text("may be negative")


def test_chinese_is_upright_between_two_rows(show):
    page, view = show("?text=chinese", locale="zh-CN", width=390)
    expect(view.get_by_role("button", name="词元竖排")).to_be_visible()
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
    expect(status(view)).to_contain_text("weight 1.0000 · 100.0 % of its row · rank 1")
    view.locator("canvas.grid").focus()
    page.keyboard.press("ArrowRight")
    expect(view).to_have_attribute("data-head", "1")


def test_512_tokens_are_usable(show):
    _, view = show("?text=long")
    assert float(view.get_attribute("data-grid-ms")) <= MOST_GRID_MS
    # Reading, keeping and drawing all three views; tests share a machine with others.
    expect(view).to_have_attribute("data-arrival-ms", re.compile(r"\d"))
    assert float(view.get_attribute("data-arrival-ms")) <= 10 * MOST_GRID_MS
    box = view.locator(".heat-box")
    assert box.evaluate("box => box.scrollHeight") > 5_000
    canvas = view.locator("canvas.heat").evaluate("c => [c.width, c.height]")
    assert max(canvas) < 2_000
    box.evaluate("box => box.scrollTo(box.scrollWidth, box.scrollHeight)")
    size = view.locator("canvas.heat").bounding_box()
    corner = {"x": size["width"] - 30, "y": size["height"] - 30}
    view.locator("canvas.heat").hover(position=corner)
    expect(status(view)).to_contain_text(re.compile(r"word50\d → word50\d"))
    assert view.locator(".box").evaluate_all(
        "boxes => boxes.every(box => box.getBoundingClientRect().width < 1280)"
    )
    view.get_by_text("As a table").nth(1).click()
    expect(view.locator(".heat-part tbody tr")).to_have_count(25)


def test_the_picture_is_saved_with_twice_the_pixels(show):
    page, view = show()
    with page.expect_download() as saved:
        view.get_by_role("button", name="Save PNG").click()
    picture = BytesIO(saved.value.path().read_bytes()).getvalue()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))
    boxes = [
        view.locator(f"canvas.{name}").bounding_box()
        for name in ("grid", "heat", "lines")
    ]
    assert width >= 2 * max(box["width"] for box in boxes)
    # The legend, three titles and the threshold have lines of their own.
    assert height >= 2 * (sum(box["height"] for box in boxes) + 5 * 20)


def test_the_picture_holds_what_is_scrolled_out_of_sight(show):
    page, view = show("?text=middle")
    with page.expect_download() as saved:
        view.get_by_role("button", name="Save PNG").click()
    picture = saved.value.path().read_bytes()
    height = int.from_bytes(picture[20:24], "big")
    assert height >= 2 * 128 * (LINES_ROW + 13)
    expect(view.locator(".save-note")).to_be_hidden()


def test_a_picture_that_is_smaller_than_the_screen_is_said_to_be(show):
    page, view = show("?text=long")
    with page.expect_download() as saved:
        view.get_by_role("button", name="Save PNG").click()
    picture = saved.value.path().read_bytes()
    width = int.from_bytes(picture[16:20], "big")
    on_screen = view.locator(".heat-box .space").bounding_box()["width"] + 2 * 16
    percent = int(100 * width / on_screen)
    assert percent < 100, "nothing to say"
    note = view.locator(".save-note")
    expect(note).to_contain_text(re.compile(f"saved at ({percent}|{percent + 1}) % of"))
    expect(note).to_have_role("status")


def test_what_the_visitor_changes_stays_when_the_page_answers(show):
    page, view = show()
    view.get_by_label("Scale").select_option("row")
    view.get_by_role("button", name="Tokens in rows").click()
    view.get_by_role("button", name="Show head 4").click()
    expected = "Look(scale='row', is_lying=True, threshold=0.05, heads=(0, 3))"
    expect(look_line(page)).to_have_text(expected)
    page.get_by_role("button", name="Choose").click()
    expect(view).to_have_attribute("data-layer", "7")
    # Heads of the other layer are not those that were added.
    expect(look_line(page)).to_have_text(expected.replace("(0, 3)", "()"))
    expect(view.get_by_label("Scale")).to_have_value("row")
    expect(view.get_by_role("button", name="Tokens in columns")).to_be_visible()


def test_lengths_are_named_and_drawn_up_to_the_largest(show):
    _, view = show("?lengths=1")
    expect(view.locator(".legend")).to_have_text("08length (linear)")
    expect(view.locator("h4", has_text="Heatmap: lengths of layer 1")).to_be_visible()
    expect(view.locator("h4", has_text="single weights, 0 to 1")).to_be_visible()
    expect(view.locator(".filters")).to_have_text("Shown with: a filter")
    expect(view.locator(".chip")).to_have_count(0)
    view.locator("canvas.heat").hover(position=cell_position(view, 1, 4))
    weight = 8 * row_of_the_example(1)[4]
    said = f"the → drink · lengths of layer 1 · length {weight:.4f} · "
    expect(status(view)).to_contain_text(said)
    for name in ("heat", "lines"):
        label = view.locator(f"canvas.{name}").get_attribute("aria-label")
        assert "lengths of layer 1" in label
        assert "head" not in label
    view.get_by_text("As a table").nth(1).click()
    expect(view.locator(".heat-part thead")).to_have_text(
        "FromToLengthShare of row" + ("Rank in row")
    )
    # A scale with the same steps: a half of the largest is drawn from half of 8 on.
    view.get_by_label("Lines from").fill("0.5")
    expect(view.get_by_text("Lines from 4.000")).to_be_visible()


def test_a_click_on_the_framed_head_is_told_where_it_is_not_what_is_shown(show):
    page, view = show("?lengths=1")
    click_head(view, 1, 1)
    expect(selection_line(page)).to_contain_text("run 2")


def test_a_line_under_the_pointer_is_named_with_its_numbers(show):
    page, view = show()
    view.get_by_role("button", name="Show head 11").click()
    width = view.locator("canvas.lines").bounding_box()["width"]
    # Right beside the names, where lines begin at the height of their token.
    view.locator("canvas.lines").hover(
        position={"x": width * 0.3 + 12, "y": 2.5 * LINES_ROW}
    )
    expect(view).to_have_attribute("data-peek", re.compile(r"^\d+ \d+$"))
    said = status(view).inner_text()
    row, column = map(int, view.get_attribute("data-peek").split())
    head = int(re.search(r"head (\d+)", said).group(1))
    assert head in (1, 11)
    weights = row_of_the_example(row, head - 1)
    assert f"weight {weights[column]:.4f}" in said
    assert f"rank {1 + sum(other > weights[column] for other in weights)} of 12" in said
    lines = int(view.get_attribute("data-lines"))
    assert lines > 1  # the others stay
    # The page's answer to the added head leaves the pointer where it is.
    expect(look_line(page)).to_contain_text("heads=(0, 10)")
    settle(page)
    assert status(view).inner_text() == said


def test_a_locked_token_has_the_numbers_of_its_partners(show):
    _, view = show()
    lines = view.locator("canvas.lines")
    lines.click(position={"x": 40, "y": 3.5 * LINES_ROW})
    width = lines.bounding_box()["width"]
    lines.hover(position={"x": width - 40, "y": 8.5 * LINES_ROW})
    weight = row_of_the_example(3)[8]
    said = f"##s → are · layer 1, head 1 · weight {weight:.4f}"
    expect(status(view)).to_contain_text(said)
    expect(view).to_have_attribute("data-locked", "true")
    expect(view).to_have_attribute("data-to", "")
    view.locator("canvas.heat").hover(position=cell_position(view, 6, 2))
    said = f"##s → cat · layer 1, head 1 · weight {row_of_the_example(3)[2]:.4f}"
    expect(status(view)).to_contain_text(said)


def test_keys_go_from_a_locked_token_through_its_partners(show):
    page, view = show()
    view.locator("canvas.lines").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(status(view)).to_contain_text("the → cat · layer 1, head 1 · weight 0.")
    expect(view).to_have_attribute("data-from", "1")
    page.keyboard.press("ArrowLeft")
    expect(status(view)).to_contain_text("the → every token")
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(selection_line(page)).to_contain_text("from_token=1, to_token=2")


def test_the_lines_have_a_table_with_every_head_that_is_drawn(show):
    _, view = show()
    view.get_by_role("button", name="Show head 11").click()
    part = view.locator(".lines-part")
    part.get_by_text("As a table").click()
    total = int(view.get_attribute("data-lines"))
    expect(part.locator("caption")).to_have_text(
        f"25 of the {total} lines that are drawn, strongest first: layer 1, heads 1, 11"
        f" · Lines drawn: {total} of {total}"
    )
    expect(part.locator("tbody tr")).to_have_count(25)
    part.get_by_role("button", name="More rows").click()
    expect(part.locator("tbody tr")).to_have_count(total)
    expect(part.get_by_role("button", name="More rows")).to_be_hidden()
    heads = part.locator("tbody th").all_inner_texts()
    assert set(heads) == {"1", "11"}
    head, *cells = part.locator("tbody tr").first.locator("th, td").all_inner_texts()
    weights = [row_of_the_example(row, int(head) - 1) for row in range(NUM_TOKENS)]
    assert float(cells[2]) == pytest.approx(max(map(max, weights)), abs=5e-5)


def test_the_status_stays_in_sight_beside_the_lines(show):
    page, view = show("?text=middle")
    view.locator("canvas.lines").scroll_into_view_if_needed()
    page.mouse.move(700, 400)
    page.mouse.wheel(0, 3000)
    settle(page)
    expect(status(view)).to_be_in_viewport(ratio=1)


def test_the_names_of_the_heads_follow_the_language(show):
    page, view = show()
    expect(view.get_by_role("button", name="Show head 3")).to_be_visible()
    page.get_by_text("中文").click()
    expect(view.get_by_role("button", name="显示第 3 个头")).to_be_visible()


def test_fullwidth_signs_count_as_chinese(show):
    page, _ = show()
    script = component_script("attention")
    for text, is_wide in (("，", True), ("！", True), ("𠮷", True), ("a", False)):
        found = page.evaluate(f"(text) => {{ {script}; return CJK.test(text) }}", text)
        assert found is is_wide, text


def test_equal_weights_share_the_better_rank_and_differences_count_by_size(show):
    page, _ = show()
    script = component_script("attention")
    for row, ranks in (
        ([0.2, 0.5, 0.2, 0.1], [2, 1, 2, 4]),
        ([0.25, -0.5, 0.0, -0.25], [2, 1, 4, 2]),
    ):
        found = page.evaluate(
            f"""(row) => {{ {script}
              const data = {{ numTokens: row.length, arrays: {{ matrix: row }} }}
              return row.map((_, to) => rankInRow(data, 0, to))
            }}""",
            row,
        )
        assert found == ranks


def test_another_head_of_128_tokens_is_there_soon(show):
    _, view = show("?text=middle")
    times = []
    for head in range(2, 13):
        click_head(view, head, head)
        expect(view).to_have_attribute("aria-busy", "false")
        expect(view.locator("h4", has_text=f"Heatmap: layer {head},")).to_be_visible()
        times.append(float(view.get_attribute("data-switch-ms")))
    # 100 ms on a quiet machine; tests share theirs with others.
    assert sorted(times)[len(times) // 2] <= 400, times


def test_locking_a_token_scrolls_the_other_view_to_it(show):
    _, view = show("?text=long")
    box = view.locator(".lines-box")
    box.evaluate("box => box.scrollTo(0, 6000)")
    view.locator("canvas.lines").click(position={"x": 40, "y": 100})
    assert view.locator(".heat-box").evaluate("box => box.scrollTop") > 2_000


def test_a_map_of_heads_is_chosen_from_and_read(show):
    page, _ = show("?map=1")
    view = page.locator(".attention").nth(1)
    expect(status(view)).to_contain_text(re.compile(r"Layer 1, head 1: [+−]0\.\d{4}"))
    click_head(view, 3, 7)
    expect(selection_line(page).nth(1)).to_contain_text("layer=2, head=6")
    expect(status(view)).to_contain_text("Layer 3, head 7: ")
    expect(view.locator(".legend")).to_contain_text("may be negative")


def test_a_saved_file_works_without_a_network(new_page, tmp_path):
    probs = np.random.default_rng(2).random((2, 3, 4, 4), np.float32)
    probs /= probs.sum(-1, keepdims=True)
    tokens = ("[CLS]", "<b>", "</script>", "猫")
    words = component_words("en")
    view = AttentionView(
        *(tokens, token_kinds(tokens), np.zeros(4, int), grid_thumbnails(probs)),
        *(probs[0, 0], words),
    )
    file = tmp_path / "attention.html"
    file.write_bytes(attention_html(view, "A <title>", attention_probs=probs))
    page = new_page(base="file:")
    page.context.set_offline(True)
    page.goto(file.as_uri())
    shown = page.locator(".attention")
    expect(page.locator("h1")).to_have_text("A <title>")
    shown.locator("canvas.heat").hover(
        position={"x": HEAT_LEFT + 45, "y": HEAT_TOP + 5}
    )
    expected = f"◆[CLS] → <b> · layer 1, head 1 · weight {probs[0, 0, 0, 1]:.4f}"
    expect(status(shown)).to_contain_text(expected)
    click_head(shown, 2, 3, num_heads=3)
    expect(shown.locator("h4", has_text="layer 2, head 3").first).to_be_visible()
    expect(shown).to_have_attribute("aria-busy", "false")
    shown.locator("canvas.heat").hover(
        position={"x": HEAT_LEFT + 45, "y": HEAT_TOP + 35}
    )
    expect(status(shown)).to_contain_text(f"weight {probs[1, 2, 1, 1]:.4f}")


def test_a_saved_file_says_which_heads_it_does_not_hold(new_page, tmp_path):
    probs = np.full((2, 3, 4, 4), 0.25, np.float32)
    words = component_words("en")
    tokens = ("a", "b", "c", "d")
    view = AttentionView(
        *(tokens, token_kinds(tokens), np.zeros(4, int), grid_thumbnails(probs)),
        *(probs[0, 0], words),
    )
    file = tmp_path / "attention.html"
    file.write_bytes(attention_html(view, "Without its heads"))
    page = new_page(base="file:")
    page.goto(file.as_uri())
    shown = page.locator(".attention")
    click_head(shown, 2, 3, num_heads=3)
    expect(status(shown)).to_have_text(
        "This file holds only what was shown when it was saved: layer 1, head 1."
    )
    expect(shown).to_have_attribute("data-layer", "1")
    expect(shown).to_have_attribute("aria-busy", "false")


def test_a_saved_map_is_read_and_chosen_from_without_a_network(new_page, tmp_path):
    values = np.array([[0.1, -0.4, 0.02], [0.0, 0.3, -0.01]])
    shown = HeadMap(values, component_words("en"), None, None)
    file = tmp_path / "map.html"
    file.write_bytes(attention_html(shown, "A map", description="What it shows"))
    page = new_page(base="file:")
    page.context.set_offline(True)
    page.goto(file.as_uri())
    view = page.locator(".attention")
    expect(page.get_by_text("What it shows")).to_be_visible()
    expect(status(view)).to_contain_text("not on this map")
    expect(view).to_have_attribute("data-layer", "")
    view.locator("canvas.grid").focus()
    page.keyboard.press("ArrowDown")
    expect(status(view)).to_have_text("Layer 1, head 1: +0.1000")
    page.keyboard.press("ArrowRight")
    expect(status(view)).to_have_text("Layer 1, head 2: −0.4000")
    click_head(view, 2, 3, num_heads=3)
    expect(view).to_have_attribute("data-layer", "2")
    expect(status(view)).to_have_text("Layer 2, head 3: −0.0100")
    expect(view).to_have_attribute("aria-busy", "false")
    with page.expect_download() as saved:
        view.get_by_role("button", name="Save PNG").click()
    assert saved.value.suggested_filename == "attention.png"


def test_hovering_the_grid_names_a_head_and_does_not_run_the_page_again(show):
    page, view = show()
    view.locator("canvas.grid").hover(position={"x": 100, "y": 100})
    expect(status(view)).to_contain_text(re.compile(r"Layer \d+, head \d+"))
    settle(page)
    expect(selection_line(page)).to_contain_text("run 1")
