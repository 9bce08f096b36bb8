"""One sentence through a visit: pages, the way back, languages, and copied links."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import go_to, settle

SENTENCE = "The cat drank a glass of [MASK]."
TYPED = ".st-key-text textarea"
# As where a new page says its choices before it has its place.
SAID_EARLY = """() => {
  const push = history.pushState
  history.pushState = (state, title, url) => {
    push(state, title, location.pathname + new URL(url, location.href).search)
    push(state, title, url)
  }
}"""


def choose_head(page, layer, head):
    for key, number in (("layer", layer), ("head", head)):
        box = page.locator(f".st-key-attention_{key} input")
        box.fill(str(number))
        # Enter would take the first of all, if the list is not shortened yet.
        page.get_by_role("option", name=str(number), exact=True).click()
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
    page.get_by_role("slider", name="Temperature").press("End")
    expect(page).to_have_url(re.compile("masked_temperature="))
    page.evaluate(SAID_EARLY)
    go_to(page, "attention")
    expect(page.locator(TYPED)).to_have_value(SENTENCE)
    page.go_back()
    expect(page).to_have_url(re.compile("masked_word.*masked_temperature="))
    settle(page)
    page.go_forward()
    expect(page).to_have_url(re.compile("/attention"))
    settle(page)
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
