"""What a visitor types is shown letter for letter, by the browser itself."""

import textwrap
from urllib.parse import quote

from playwright.sync_api import expect

from tests.app.test_markdown import NASTY
from tests.browser.conftest import settle

# Elements that Markdown, HTML or Streamlit's extras would make of the text.
MADE = (
    "a, strong, em, del, code, img, script, h1, h2, ul, ol, blockquote, table, "
    ".katex, [role=img], [data-testid=stIconMaterial]"
)
STRANGE = ["\u0001[MASK]\u0002", "שלום [MASK] עולם", "🙂 <b>[MASK]"]


def test_an_error_shows_nasty_text_as_text(page, server_url):
    # An error shortens what is longer than this.
    for some in textwrap.wrap(" ".join(NASTY), 70, break_long_words=False):
        # A path, so that nobody takes it for the name of a model on the hub.
        text = "/" + some
        page.goto(f"{server_url}/models?model={quote(text, safe='')}")
        page.get_by_role("button", name="Open it").click()
        settle(page)
        alert = page.locator("[data-testid=stAlertContentError] p").first
        alert.wait_for()
        shown = alert.evaluate("p => p.textContent").replace("\u2060", "")
        assert " ".join(text.split()) in shown
        assert alert.locator(MADE).count() == 0


def test_a_strange_text_gets_an_answer(visit):
    home = visit("/")
    box = home.locator(".st-key-text textarea")
    for text in STRANGE:
        answer = home.locator(".whole-model [data-part=answer]")
        before = answer.text_content()
        box.fill(text)
        home.keyboard.press("Control+Enter")
        expect(answer).not_to_have_text(before)
        expect(answer.locator(".row")).to_have_count(5)
        settle(home)
        assert home.get_by_test_id("stException").count() == 0
