"""One sentence through a visit: pages, the way back, languages, and copied links."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOCALES, settle

SENTENCE = "The cat drank a glass of [MASK]."
LINK = "[data-testid=stSidebar] [data-testid=stPageLink-NavLink]"
TYPED = ".st-key-text textarea"
LAPTOP = {"width": 1366, "height": 768}
# What each page is about, and how much of it a laptop shows at least, in pixels.
PICTURES = {
    "": (".whole-model .paper", 1000),
    "masked_word": (".js-plotly-plot", 300),
    "attention": (".attention-host .grid-part canvas", 200),
    "layers": (".step-picture svg", 60),
    "embeddings": (".js-plotly-plot", 250),
    "activations": (".js-plotly-plot", 400),
}


def go_to(page, name):
    page.locator(f"{LINK}[href$={name}]").click()
    expect(page).to_have_url(re.compile(f"/{name}"))
    settle(page)


def choose_head(page, layer, head):
    for key, number in (("layer", layer), ("head", head)):
        box = page.locator(f".st-key-attention_{key} input")
        box.fill(str(number))
        page.keyboard.press("Enter")
        settle(page)


def test_a_sentence_goes_through_all_pages_and_back_loses_nothing(visit, tmp_path):
    page = visit("/")
    page.locator(TYPED).fill(SENTENCE)
    page.keyboard.press("Control+Enter")
    settle(page)
    page.get_by_role("button", name="File", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the text").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    page.keyboard.press("Escape")
    begun = page.evaluate("history.length")
    go_to(page, "masked_word")
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    go_to(page, "attention")
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    choose_head(page, 3, 2)
    go_to(page, "layers")
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    page.locator(".st-key-token").get_by_role("radio", name="3 cat").click()
    settle(page)
    go_to(page, "embeddings")
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    chosen = page.locator(".st-key-token [aria-checked=true]")
    expect(chosen).to_have_text("3 cat")
    # Four pages are four steps, whatever was typed and chosen on them.
    assert page.evaluate("history.length") == begun + 4
    page.go_back()
    expect(page).to_have_url(re.compile("/layers"))
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    expect(chosen).to_have_text("3 cat")
    page.go_back()
    expect(page).to_have_url(re.compile("/attention"))
    settle(page)
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    expect(page.locator(".st-key-attention_layer input")).to_have_value("3")
    # The model still reads English, and so does the sentence.
    page.get_by_role("radio", name="中文").click()
    expect(page.locator("h1")).to_have_text("注意力")
    settle(page)
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    # Another visitor opens the link, and goes on with it.
    other = visit(page.url.removeprefix(page.url.split("/attention")[0]))
    expect(other.locator("h1")).to_have_text("注意力")
    expect(other.locator(TYPED)).to_have_value(SENTENCE)
    expect(other.locator(".st-key-attention_head input")).to_have_value("2")
    go_to(other, "layers")
    expect(other.locator(TYPED)).to_have_value(SENTENCE)
    expect(other.locator(".st-key-token [aria-checked=true]")).to_have_text("3 cat")
    # A file brings it back where it was typed over.
    other.locator(TYPED).fill("Another one.")
    other.keyboard.press("Control+Enter")
    settle(other)
    other.get_by_role("button", name="文件", exact=True).click()
    other.locator("input[type=file]").set_input_files(file)
    expect(other.locator(TYPED)).to_have_value(SENTENCE)


# A projector shows half as much, or all of a picture that is not as high.
@pytest.mark.parametrize(
    ("language", "query", "part"),
    [("en", "", 1), ("zh", "", 1), ("en", "?projector=true", 0.5)],
)
def test_a_laptop_shows_the_picture_of_each_page_without_scrolling(
    visit, language, query, part
):
    page = visit(f"/{query}", locale=LOCALES[language], width=LAPTOP["width"])
    page.set_viewport_size(LAPTOP)
    for name, (picture, least) in PICTURES.items():
        if name:
            go_to(page, name)
        shown = page.locator(picture).first
        expect(shown).to_be_visible()
        settle(page)
        found = shown.bounding_box()
        title = page.locator("h1").bounding_box()
        header = page.get_by_test_id("stHeader").bounding_box()
        assert title["y"] >= header["height"], name
        seen = min(found["y"] + found["height"], LAPTOP["height"]) - found["y"]
        assert seen >= min(part * least, found["height"] - 1), (name, found)


def test_projector_mode_has_large_type_and_no_side_texts_on_all_pages(visit):
    page = visit("/masked_word")
    caption = page.locator(
        "[data-testid=stMain] [data-testid=stCaptionContainer]"
    ).first
    size = "box => parseFloat(getComputedStyle(box).fontSize)"
    before = page.locator(TYPED).evaluate(size)
    expect(caption).to_be_visible()
    page.locator(".st-key-projector label").click()
    expect(caption).to_be_hidden()
    settle(page)
    assert page.locator(TYPED).evaluate(size) > 1.3 * before
    go_to(page, "attention")
    expect(caption).to_be_hidden()
    other = visit("/layers?projector=true", locale=LOCALES["zh"])
    expect(other.locator(".st-key-page_head button")).to_be_hidden()
