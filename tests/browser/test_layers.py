"""The layers page in a real browser: the walk by keyboard, by strip and by link."""

from __future__ import annotations

import json
import re

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


def here(page: Page):
    return strip(page).locator("[aria-current=step]")


def title(page: Page, text: str):
    return expect(page.locator("h3").first).to_have_text(text)


def press(page: Page, key: str, text: str) -> None:
    page.keyboard.press(key)
    title(page, text)


def test_the_arrow_keys_walk_on_and_back(visit):
    page = open_page(visit)
    title(page, "Way in: Word vector")
    press(page, "ArrowRight", "Way in: Position vector")
    press(page, "ArrowRight", "Way in: Segment vector")
    press(page, "ArrowLeft", "Way in: Position vector")
    expect(page).to_have_url(re.compile("layers_step=position_embeddings"))
    expect(here(page)).to_have_text("Position vector")


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
    title(page, "Way in: Sum")


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
    figure = page.locator(".st-key-layers_numbers_figure .js-plotly-plot")
    cells = figure.locator(".nsewdrag")
    expect(cells).to_be_visible()
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    # Three vectors, and below them their sum.
    below = {"x": box["width"] * 0.4, "y": box["height"] * 3.5 / 4}
    cells.hover(position=below, force=True)
    told = figure.locator(".hoverlayer .hovertext")
    named = f"\u2068{row}\u2069 · {column} "
    expect(told).to_contain_text(named)
    place, value, total = figure.evaluate(
        """plot => {
          const {x, z} = plot._hoverdata[0]
          const parts = plot.calcdata[0][0].z.slice(0, 3)
          return [x, z, parts.reduce((sum, part) => sum + part[x - 1], 0)]
        }"""
    )
    said = told.text_content().strip().replace("−", "-")
    opening = f"{named}{place}"
    assert said.startswith(opening)
    number = float(said.removeprefix(opening))
    assert number == pytest.approx(value, rel=1e-4)
    assert number == pytest.approx(total, abs=1e-4)


def test_all_tokens_are_drawn_below_the_one_that_is_followed(visit):
    page = open_page(visit, "?layers_step=layer_0/neurons&layers_panel=orders")
    page.get_by_text("Show all tokens").click()
    expect(page.get_by_text("tokens 1 to 13, a row each").first).to_be_visible()
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
