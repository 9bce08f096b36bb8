"""The layers page in a real browser: the walk by keyboard, by strip and by link."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from tests.browser.conftest import ROOT, open_panel, overflow

pytestmark = pytest.mark.browser

FIRST_ANSWER = 60_000


def texts_of(language: str, page: str) -> dict[str, str]:
    path = ROOT / "assets" / "locales" / language / f"{page}.json"
    return json.loads(path.read_text("utf-8"))


def open_page(visit, query: str = "", **browser) -> Page:
    page = visit(f"/layers{query}", **browser)
    expect(strip(page)).to_be_visible(timeout=FIRST_ANSWER)
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


def test_the_arrow_keys_walk_on_and_back(visit):
    page = open_page(visit)
    title(page, "Embeddings: Word vector")
    press(page, "ArrowRight", "Embeddings: Position vector")
    press(page, "ArrowRight", "Embeddings: Segment vector")
    press(page, "ArrowLeft", "Embeddings: Position vector")
    expect(page).to_have_url(re.compile("layers_step=position_embeddings"))
    expect(here(page)).to_have_text("Position vector")


def test_the_ways_end_at_both_ends_and_count_the_steps(visit):
    page = open_page(visit)
    expect(way(page, "Back")).to_be_disabled()
    count = strip(page).locator(".count")
    total = strip(page).locator(".square").count()
    expect(count).to_have_text(f"Step 1 of {total}")
    way(page, "Next").click()
    title(page, "Embeddings: Position vector")
    expect(count).to_have_text(f"Step 2 of {total}")
    strip(page).locator(".square").last.click()
    expect(way(page, "Next")).to_be_disabled()
    expect(way(page, "Back")).to_be_enabled()


def test_no_step_is_lost_when_the_keys_are_faster_than_the_page(visit):
    page = open_page(visit, "?layers_panel=orders")
    shown = page.locator(".step-picture .sheet")
    expect(shown).to_have_attribute("data-step", "word_embeddings")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    expect(shown).to_have_attribute("data-step", "layer_0/attention_output")
    # Once with its part, and not thrown back by the answers to earlier keys.
    title(page, "Layer 1: Output dense")
    page.wait_for_timeout(700)
    title(page, "Layer 1: Output dense")


def test_a_step_is_drawn_before_the_page_answers(visit):
    # Also the first step of the next layer.
    page = open_page(visit, "?layers_step=layer_1/output_residual&layers_panel=orders")
    shown = page.locator(".step-picture .sheet")
    expect(shown).to_have_attribute("data-step", "layer_1/output_residual")
    was = page.locator("h3").first.inner_text()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    page.context.set_offline(True)
    for step in ("layer_1/output_norm", "layer_2/query"):
        page.keyboard.press("ArrowRight")
        expect(shown).to_have_attribute("data-step", step, timeout=2000)
    assert page.locator("h3").first.inner_text() == was
    page.context.set_offline(False)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_picture_is_saved_as_it_is_drawn(visit, ending, tmp_path):
    page = open_page(visit, "?layers_step=layer_1/attention_probs")
    picture = page.locator(".step-picture")
    expect(picture.locator("svg")).to_be_visible()
    with page.expect_download() as started:
        picture.get_by_role("button", name=ending.upper()).click()
    saved = started.value
    assert saved.suggested_filename == f"layers_layer_1_attention_probs.{ending}"
    content = saved.path().read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG")
        assert int.from_bytes(content[16:20], "big") > 800
        return
    drawn = ElementTree.fromstring(content)
    words = "".join(drawn.itertext())
    assert "Layer 2: Softmax, token 7 [MASK]" in words
    assert "8 because" in words
    images = [one for one in drawn.iter() if one.tag.endswith("image")]
    assert len(images) == 1
    assert b"http" not in content.replace(b"http://www.w3.org/2000/svg", b"")


def test_chinese_letters_are_saved_as_shapes(visit):
    page = open_page(visit, "?layers_step=layer_1/attention_probs", locale="zh-CN")
    picture = page.locator(".step-picture")
    expect(picture.locator("svg")).to_be_visible()
    with page.expect_download() as started:
        picture.get_by_role("button", name="SVG").click()
    drawn = ElementTree.parse(started.value.path())
    texts = [one for one in drawn.iter() if one.tag.endswith("}text")]
    hidden = [one for one in texts if re.search("[\u4e00-\u9fff]", one.text)]
    assert any("第 2 层" in one.text for one in hidden)
    assert {one.get("fill-opacity") for one in hidden} == {"0"}
    ids = {one.get("id") for one in drawn.iter()}
    used = [one.get("href")[1:] for one in drawn.iter() if one.tag.endswith("}use")]
    assert set(used) < ids
    assert len(used) > sum(len(one.text) for one in hidden) / 2


def test_the_arrow_keys_walk_after_a_click_into_the_strip_too(visit):
    page = open_page(visit)
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


def test_a_square_of_the_map_leads_to_its_step(visit):
    page = open_page(visit)
    strip(page).locator("[title='Layer 2: Softmax']").click()
    title(page, "Layer 2: Softmax")
    expect(strip(page).locator(".square.here")).to_have_attribute(
        "title", "Layer 2: Softmax"
    )
    expect(strip(page).locator(".square.past")).to_have_count(5 + 15 + 5)


def test_arrows_in_the_text_box_move_the_cursor_alone(visit):
    page = open_page(visit, "?layers_step=embedding_sum")
    box = page.get_by_role("textbox", name="Your sentence")
    box.click()
    box.press("End")
    for _ in range(3):
        box.press("ArrowLeft")
    box.type("x")
    expect(box).to_have_value(re.compile("was tirxed"))
    title(page, "Embeddings: Sum")


def test_after_a_choice_elsewhere_a_click_into_the_strip_brings_the_walk_back(visit):
    page = open_page(visit, "?layers_step=embedding_sum")
    page.get_by_role("radio", name="3 cat").or_(
        page.get_by_role("button", name="3 cat")
    ).first.click()
    expect(page.get_by_text("at token 3 cat").first).to_be_visible()
    strip(page).locator(".squares").last.click()
    # What was hit may be a square; from wherever that is, one step back.
    before = page.locator("h3").first.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("h3").first).not_to_have_text(before)


@pytest.mark.parametrize(
    ("language", "row", "column"),
    [("English", "Sum", "dimension"), ("中文", "相加", "维")],
)
def test_the_pointer_over_a_strip_is_told_the_number_there(
    visit, language, row, column
):
    query = f"?layers_step=embedding_sum&layers_panel=orders&lang={language}"
    page = open_page(visit, query)
    picture = page.locator(".step-picture")
    cells = picture.locator(".cells")
    expect(cells).to_be_visible()
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    told = picture.locator(".told")
    # Three vectors, and below them their sum.
    shares = []
    for line in range(4):
        below = {"x": box["width"] * 0.4, "y": box["height"] * (line + 0.5) / 4}
        cells.hover(position=below, force=True)
        expect(told).to_be_visible()
        shares.append(told.text_content().replace("−", "-"))
    names = [
        re.fullmatch(r"\u2068(.*)\u2069 · (\S+) (\d+): (.*)", one) for one in shares
    ]
    assert {(name[2], name[3]) for name in names} == {(column, names[0][3])}
    assert names[-1][1] == row
    *parts, total = (float(name[4]) for name in names)
    assert total == pytest.approx(sum(parts), abs=1e-4)
    assert total != 0
    page.mouse.move(0, 0)
    expect(told).to_be_hidden()


def test_all_tokens_are_drawn_below_the_one_that_is_followed(visit):
    page = open_page(visit, "?layers_step=layer_0/neurons&layers_panel=orders")
    page.get_by_text("Show all tokens").click()
    expect(page.get_by_text("tokens 1 to 13, one row each").first).to_be_visible()
    expect(page).to_have_url(re.compile("layers_all_tokens=true"))


def test_a_link_brings_step_token_and_panel_back_in_the_other_language(visit):
    query = "?layers_step=layer_2/attention_probs&layers_token=4&layers_panel=orders"
    page = open_page(visit, f"{query}&lang=中文")
    title(page, "第 3 层：Softmax 概率")
    expect(here(page)).to_have_text("Softmax 概率")
    expect(page.get_by_role("heading", name="后归一化（post-norm）")).to_be_visible()


# What only the numbers of a part can say.
RESULTS = {
    "residual": "Lengths at token",
    "neurons": "The strongest neurons of layer 6",
    "factors": "How strongly each group fires",
    "orders": "From top to bottom",
    "by_hand": "The vector has mean 1.000",
}


@pytest.mark.parametrize(
    ("language", "scheme", "width"), [("en", "dark", 390), ("zh", "light", 1280)]
)
def test_the_whole_page_is_walked_in_both_languages(visit, language, scheme, width):
    words = texts_of(language, "layers")
    steps = texts_of(language, "layer_steps")
    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    page = open_page(visit, locale=locale, color_scheme=scheme, width=width)

    def stands_at(operation: str) -> None:
        step = steps[f"name_{operation}"]
        part = words["part_embeddings"]
        title(page, words["step_of"].format(part=part, step=step))

    stands_at("word_embeddings")
    for operation in ("position_embeddings", "token_type_embeddings", "embedding_sum"):
        page.keyboard.press("ArrowRight")
        stands_at(operation)
    page.keyboard.press("ArrowLeft")
    stands_at("token_type_embeddings")
    for name in ("residual", "similarity", "neurons", "factors", "orders", "by_hand"):
        open_panel(page, words[f"panel_{name}"])
        sign = {
            "residual": words["residual_intro"],
            "similarity": words["similarity_intro"],
            "neurons": words["off_title"],
            "factors": words["factors_intro"],
            "orders": words["order_post"],
            "by_hand": words["by_hand_intro"],
        }[name]
        expect(page.get_by_text(sign[:12]).first).to_be_visible(timeout=FIRST_ANSWER)
        expect(page.locator("[data-testid=stException]")).to_have_count(0)
        if language == "en" and name in RESULTS:
            result = page.get_by_text(RESULTS[name]).first
            expect(result).to_be_visible(timeout=FIRST_ANSWER)
        assert overflow(page) <= 0
    if width <= 640:  # the squares of the strip would be too small for a finger
        return
    part, step = words["part_layer"].format(number=6), steps["name_neurons"]
    strip(page).locator(f"[title='{part}: {step}']").click()
    title(page, words["step_of"].format(part=part, step=step))
    assert overflow(page) <= 0


def test_a_second_text_is_typed_and_kept_in_the_link(visit):
    words = texts_of("zh", "layers")
    query = f"?layers_panel=orders&model={DEFAULT_MODEL}"
    page = open_page(visit, query, locale="zh-CN")
    box = page.get_by_role("textbox", name=words["pair"])
    box.fill("It was old.")
    box.press("Control+Enter")
    expect(page.locator("button", has_text="18 [SEP]").first).to_be_visible()
    expect(page).to_have_url(re.compile("layers_pair=It"))
    expect(page.get_by_text(words["without_pooler"])).to_have_count(0)


def test_the_best_neurons_are_found_and_opened_by_keyboard(visit):
    words = texts_of("en", "layers")
    page = open_page(visit, "?layers_panel=neurons&layers_word=floor")
    heading = words["effects_title"].format(word="floor")
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    choices = page.locator(".st-key-layers_effect_open button", has_text="·")
    expect(choices).to_have_count(10)
    # What is shown anyway, the last layer, stands in no link.
    other = next(c for c in choices.all() if not c.inner_text().startswith("6·"))
    layer, number = other.inner_text().split("·")
    other.focus()
    page.keyboard.press("Enter")
    expect(
        page.get_by_role(
            "heading", name=words["neuron_title"].format(number=number, layer=layer)
        )
    ).to_be_visible()
    expect(page).to_have_url(re.compile(f"layers_neuron_layer={layer}"))
