"""The frame in a real browser: deep links, language, reload, themes, phones."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import overflow, running_server, settle

SENTENCE = "The cat drank a glass of [MASK]."
CHINESE = "我每天早上[MASK]牛奶。"
DEFAULT = "They were married and had three [MASK]."
NUM_GUESSES = 5


def first_guess(page):
    guesses = page.get_by_test_id("stProgress")
    # The script has ended a moment before all of its bars are drawn.
    guesses.nth(NUM_GUESSES - 1).wait_for()
    return guesses.first.inner_text()


def type_sentence(page, sentence, language="en"):
    before = first_guess(page)
    page.locator(f".st-key-home_text_{language} input").fill(sentence)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.querySelector('[data-testid=stProgress]')?.innerText"
        " !== before",
        arg=before,
    )
    settle(page)


def test_a_cold_server_answers_a_deep_link_first(tmp_path, visit):
    with running_server(tmp_path / "cache", tmp_path / "log.txt") as server:
        page = visit("/models?lang=中文", base=server.url)
        assert page.locator("h1").inner_text() == "模型"
        # The navigation is there: app.py ran, not the page alone.
        assert page.get_by_role("link", name="开始").first.is_visible()
        page.context.close()


def test_the_home_page_predicts_without_any_input(home):
    assert first_guess(home).startswith("children")
    assert home.title() == "Start · BERT Explorer"


def test_a_typed_sentence_is_predicted(home):
    type_sentence(home, SENTENCE)
    assert "%" in first_guess(home)
    assert not first_guess(home).startswith("children")


def test_a_reload_keeps_language_and_sentence(home):
    home.get_by_role("radio", name="中文").click()
    home.get_by_role("heading", name="试一试").wait_for()
    type_sentence(home, CHINESE, "zh")
    guess = first_guess(home)
    assert "lang=" in home.url
    home.reload()
    settle(home)
    home.get_by_role("heading", name="试一试").wait_for()
    expect(home.locator(".st-key-home_text_zh input")).to_have_value(CHINESE)
    assert first_guess(home) == guess


def test_the_browsers_language_is_the_first_choice(visit):
    page = visit("/", locale="zh-CN")
    assert page.get_by_role("heading", name="试一试").is_visible()
    assert "lang=" not in page.url


def test_the_language_goes_along_to_the_next_page(home):
    home.get_by_role("radio", name="中文").click()
    home.get_by_role("heading", name="试一试").wait_for()
    home.get_by_role("link", name="模型").first.click()
    home.get_by_role("heading", name="模型", exact=True).wait_for()


# The last that each page shows without a click.
LAST_ON = {
    "/": f"[data-testid=stProgress] >> nth={NUM_GUESSES - 1}",
    "/pretraining": "[data-testid=stCode]",
    "/models": "[data-testid=stFileUploader]",
}


@pytest.mark.parametrize("address", LAST_ON)
def test_no_page_scrolls_sideways_on_a_phone(visit, address):
    page = visit(address, width=390)
    page.locator(LAST_ON[address]).first.wait_for()
    settle(page)
    assert overflow(page) <= 0


@pytest.mark.parametrize(
    ("scheme", "background"),
    [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 22, 29)")],
)
def test_the_theme_follows_the_system(visit, scheme, background):
    page = visit("/", color_scheme=scheme)
    shown = page.get_by_test_id("stApp").evaluate(
        "app => getComputedStyle(app).backgroundColor"
    )
    assert shown == background


def test_every_control_of_the_home_page_is_reached_by_keyboard(home):
    focused = set()
    for _ in range(40):
        home.keyboard.press("Tab")
        focused.add(
            home.evaluate(
                "(document.activeElement.getAttribute('aria-label') || '') + '|' +"
                "document.activeElement.innerText"
            )
        )
    reached = "\n".join(focused)
    for name in ("Masked words", "Models", "English", "[MASK]", "Another example"):
        assert name in reached


def test_the_sentence_goes_along_to_the_masked_word_page(home):
    # The last is the default of both text boxes, which no address holds.
    for sentence in (SENTENCE, "A cat is a small [MASK].", DEFAULT):
        type_sentence(home, sentence)
        home.get_by_role("link", name="Go on with this sentence").click()
        home.get_by_role("heading", name="Masked words", exact=True).wait_for()
        box = home.locator(".st-key-masked_text textarea")
        box.wait_for()
        settle(home)
        expect(box).to_have_value(sentence)
        assert "open_text" not in home.url
        home.get_by_role("link", name="Start").first.click()
        home.get_by_role("heading", name="Try it").wait_for()
        settle(home)
