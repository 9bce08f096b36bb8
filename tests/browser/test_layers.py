"""The layers page in a real browser: the walk by keyboard, by strip and by link."""

from __future__ import annotations

import re
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from tests.browser.conftest import box, open_panel, overflow, settle
from tests.locale_words import words_of

LEAST_TARGET = 24  # pixels; WCAG 2.2, 2.5.8
TEXT = f"text={quote('The cat sat on the [MASK] because it was tired.')}"


def open_page(visit, query: str = "", **browser) -> Page:
    page = visit(f"/layers{query}", **browser)
    expect(strip(page)).to_be_visible()
    return page


def strip(page: Page):
    return page.locator(".walk-strip")


def way(page: Page, name: str):
    return strip(page).get_by_role("button", name=name, exact=True)


def here(page: Page):
    return strip(page).locator("[aria-current=step]")


def title(page: Page, text: str):
    return expect(page.locator("h3").first).to_have_text(text)


def press(page: Page, key: str, text: str) -> None:
    page.keyboard.press(key)
    title(page, text)


def test_keys_clicks_and_squares_walk_to_each_step(visit):
    page = open_page(visit, "?layers_panel=orders")
    title(page, "Embeddings: Word vector")
    expect(way(page, "Back")).to_be_disabled()
    count = strip(page).locator(".count")
    total = strip(page).locator(".square").count()
    expect(count).to_have_text(f"Step 1 of {total}")
    way(page, "Next").click()
    title(page, "Embeddings: Position vector")
    expect(count).to_have_text(f"Step 2 of {total}")
    press(page, "ArrowRight", "Embeddings: Segment vector")
    press(page, "ArrowLeft", "Embeddings: Position vector")
    expect(page).to_have_url(re.compile("layers_step=position_embeddings"))
    expect(here(page)).to_have_text("Position vector")
    settle(page)
    # The keys walk on after a click into the strip, too.
    strip(page).get_by_role("button", name="Layer 3").click()
    title(page, "Layer 3: Query Q")
    press(page, "ArrowRight", "Layer 3: Key K")
    strip(page).get_by_role("button", name="Context").click()
    title(page, "Layer 3: Context")
    press(page, "ArrowRight", "Layer 3: Output dense")
    # The same operation in another layer.
    strip(page).get_by_role("button", name="Layer 5").click()
    title(page, "Layer 5: Output dense")
    expect(here(page)).to_have_text("Output dense")
    strip(page).locator("[title='Layer 2: Softmax']").click()
    title(page, "Layer 2: Softmax")
    place = strip(page).locator(".square.here")
    expect(place).to_have_attribute("title", "Layer 2: Softmax")
    expect(strip(page).locator(".square.past")).to_have_count(5 + 15 + 5)
    strip(page).locator(".square").last.click()
    expect(way(page, "Next")).to_be_disabled()
    expect(way(page, "Back")).to_be_enabled()
    strip(page).locator(".square").first.click()
    title(page, "Embeddings: Word vector")
    settle(page)
    no_step_is_lost_when_keys_are_fast_and_none_waits_for_the_page(page)


def no_step_is_lost_when_keys_are_fast_and_none_waits_for_the_page(page):
    shown = page.locator(".step-picture .sheet")
    expect(shown).to_have_attribute("data-step", "word_embeddings")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    expect(shown).to_have_attribute("data-step", "layer_0/attention_output")
    # Once with its part, and not thrown back by the answers to earlier keys.
    title(page, "Layer 1: Output dense")
    page.wait_for_timeout(700)
    title(page, "Layer 1: Output dense")
    strip(page).locator("[title='Layer 2: Residual 2']").last.click()
    expect(shown).to_have_attribute("data-step", "layer_1/output_residual")
    title(page, "Layer 2: Residual 2")
    settle(page)
    # Drawn before the page answers: also the first step of the next layer.
    page.context.set_offline(True)
    for step in ("layer_1/output_norm", "layer_2/query"):
        page.keyboard.press("ArrowRight")
        expect(shown).to_have_attribute("data-step", step)
    title(page, "Layer 2: Residual 2")


def saved(page: Page, ending: str):
    with page.expect_download() as started:
        page.get_by_role("button", name=f"图（{ending.upper()}）").click()
    return started.value


def test_the_picture_is_saved_as_it_is_drawn_with_chinese_letters_as_shapes(visit):
    query = f"?layers_step=layer_1/attention_probs&model={DEFAULT_MODEL}&{TEXT}"
    page = open_page(visit, query, locale="zh-CN")
    expect(page.locator(".step-picture svg")).to_be_visible()
    tools = page.locator(".st-key-layers_numbers_tools")
    tools.get_by_role("radio", name="下载").click()
    png, svg = saved(page, "png"), saved(page, "svg")
    name = "layers_layer_1_attention_probs"
    assert png.suggested_filename == f"{name}.png"
    assert svg.suggested_filename == f"{name}.svg"
    content = png.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") > 800
    content = svg.path().read_bytes()
    drawn = ElementTree.fromstring(content)
    said = "".join(drawn.itertext())
    assert "8 because" in said
    assert "第 2 层" in said
    assert len([one for one in drawn.iter() if one.tag.endswith("image")]) == 1
    assert b"http" not in content.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"<use" in content


def test_arrows_walk_wherever_no_box_needs_them(visit):
    page = open_page(visit, f"?layers_step=embedding_sum&layers_panel=orders&{TEXT}")
    the_pointer_over_a_strip_is_told_the_number_there(page)
    typed = page.get_by_role("textbox", name="Your text")
    typed.click()
    typed.press("End")
    for _ in range(3):
        typed.press("ArrowLeft")
    typed.press("x")
    expect(typed).to_have_value(re.compile("was tirxed"))
    title(page, "Embeddings: Sum")
    typed.press("Backspace")
    page.get_by_role("radio", name="3 cat").or_(
        page.get_by_role("button", name="3 cat")
    ).first.click()
    expect(page.get_by_text("at token 3 cat").first).to_be_visible()
    settle(page)
    # After a choice elsewhere a click into the strip brings the walk back.
    strip(page).locator(".squares").last.click()
    # What was hit may be a square; from wherever that is, one step back.
    settle(page)
    before = page.locator("h3").first.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("h3").first).not_to_have_text(before)
    strip(page).locator("[title='Layer 1: Activation']").click()
    title(page, "Layer 1: Activation")
    settle(page)
    page.get_by_text("Show all tokens").click()
    expect(page.get_by_text("tokens 1 to 13, one row each").first).to_be_visible()
    expect(page).to_have_url(re.compile("layers_all_tokens=true"))


def the_pointer_over_a_strip_is_told_the_number_there(page):
    picture = page.locator(".step-picture")
    cells, told = picture.locator(".cells"), picture.locator(".told")
    expect(cells).to_be_visible()
    settle(page)
    cells.scroll_into_view_if_needed()
    area = cells.bounding_box()
    # Three vectors, and below them their sum.
    shares = []
    for line in range(4):
        below = {"x": area["width"] * 0.4, "y": area["height"] * (line + 0.5) / 4}
        cells.hover(position=below, force=True)
        expect(told).to_be_visible()
        shares.append(told.text_content().replace("−", "-"))
    names = [
        re.fullmatch(r"\u2068(.*)\u2069 · dimension (\d+): (.*)", one) for one in shares
    ]
    assert {name[2] for name in names} == {names[0][2]}
    assert names[-1][1] == "Sum"
    *parts, total = (float(name[3]) for name in names)
    assert total == pytest.approx(sum(parts), abs=1e-4)
    assert total != 0
    page.mouse.move(0, 0)
    expect(told).to_be_hidden()


# What only the numbers of a part can say.
RESULTS = {
    "residual": "Lengths at token",
    "neurons": "The strongest neurons of layer 6",
    "factors": "How strongly each group fires",
    "orders": "From top to bottom",
    "by_hand": "of the vector 1.000",
}
SIGNS = {
    "residual": "residual_intro",
    "similarity": "similarity_intro",
    "neurons": "off_title",
    "factors": "factors_intro",
    "orders": "order_post",
    "by_hand": "by_hand_intro",
}


def test_every_panel_fits_a_phone(visit):
    words = words_of("layers")
    page = open_page(visit, "?layers_step=layer_2/attention_probs", width=390)
    part = words["part_layer"].format(number=3)
    step = words_of("layer_steps")["name_attention_probs"]
    title(page, words["step_of"].format(part=part, step=step))
    the_steps_of_the_walk_fit_a_finger_and_a_phone(page)
    strip(page).get_by_role("button", name=step, exact=True).click()
    title(page, words["step_of"].format(part=part, step=step))
    for name, sign in SIGNS.items():
        settle(page)
        open_panel(page, words[f"panel_{name}"])
        # How to read the page, which is folded away, may say the same.
        said = page.get_by_text(words[sign][:12]).filter(visible=True).first
        expect(said).to_be_visible()
        if name in RESULTS:
            result = page.get_by_text(RESULTS[name]).first
            expect(result).to_be_visible()
        settle(page)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert overflow(page) <= 0


def the_steps_of_the_walk_fit_a_finger_and_a_phone(page):
    strip(page).locator(".name").first.wait_for()
    for button in strip(page).locator("button").filter(visible=True).all():
        left, top, right, bottom = box(button)
        assert min(right - left, bottom - top) >= LEAST_TARGET
    shown = page.locator(".step-picture .sheet")
    picture = page.locator(".step-picture svg")
    for step in ("attention_output", "neurons", "output_residual"):
        while shown.get_attribute("data-step") != f"layer_2/{step}":
            settle(page)
            before = shown.get_attribute("data-step")
            page.keyboard.press("ArrowRight")
            expect(shown).not_to_have_attribute("data-step", before)
        edge = box(picture)[2]
        texts = picture.locator("text").all()
        assert texts, step
        # Of a pixel, so much may be rounded.
        assert max(box(text)[2] for text in texts) <= edge + 0.5, step
