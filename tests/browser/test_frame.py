"""The frame in a real browser: deep links, language, reload, themes, phones."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOCALES, overflow, running_server, settle

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
        home.get_by_role("link", name="Continue with this sentence").click()
        home.get_by_role("heading", name="Masked words", exact=True).wait_for()
        box = home.locator(".st-key-masked_text textarea")
        box.wait_for()
        settle(home)
        expect(box).to_have_value(sentence)
        assert "open_text" not in home.url
        home.get_by_role("link", name="Start").first.click()
        home.get_by_role("heading", name="Try it").wait_for()
        settle(home)


# What a reader sees of a text and what lies behind it, from the page's colours alone.
CONTRAST = """element => {
  const parsed = (color) => {
    const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number)
    return [color.startsWith('color(') ? [r * 255, g * 255, b * 255] : [r, g, b], a]
  }
  const over = ([above, a], below) =>
    above.map((part, i) => a * part + (1 - a) * below[i])
  const light = (color) => {
    const parts = color.map((part) => part / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
  }
  const around = []
  for (let one = element; one; one = one.parentElement) {
    around.unshift(getComputedStyle(one))
  }
  const lay = (below, style) => over(parsed(style.backgroundColor), below)
  const paper = around.reduce(lay, [255, 255, 255])
  const [ink, alpha] = parsed(getComputedStyle(element).color)
  const seen = around.reduce((product, style) => product * style.opacity, alpha)
  const [a, b] = [light(over([ink, seen], paper)), light(paper)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}"""
LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
LEAST_TARGET = 24  # pixels; WCAG 2.2, 2.5.8
SIDEBAR = "[data-testid=stSidebar]"
LINK = "[data-testid=stPageLink-NavLink]"


def box(locator):
    """Left, top, right and bottom of what is shown."""
    found = locator.bounding_box()
    left, top = found["x"], found["y"]
    return left, top, left + found["width"], top + found["height"]


def test_a_tap_on_a_page_puts_the_menu_of_a_phone_away(visit):
    page = visit("/", width=390)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.locator(SIDEBAR).get_by_role("link", name="Models").click()
    page.get_by_role("heading", name="Models", exact=True).wait_for()
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    expect(page.locator(SIDEBAR)).not_to_be_in_viewport()


def test_a_click_on_a_page_leaves_the_menu_of_a_wide_screen(home):
    home.locator(SIDEBAR).get_by_role("link", name="Models").click()
    home.get_by_role("heading", name="Models", exact=True).wait_for()
    settle(home)
    expect(home.locator(SIDEBAR)).to_be_in_viewport()


def test_a_phone_shows_the_whole_sentence(visit):
    page = visit("/", width=390)
    typed = page.locator(".st-key-home_text_en input")
    assert typed.evaluate("input => input.scrollWidth - input.clientWidth") <= 0


def test_the_page_and_its_names_follow_the_language(visit):
    page = visit("/", locale=LOCALES["zh"])
    root, menu = page.locator("html"), page.get_by_test_id("stMainMenuButton")
    expect(root).to_have_attribute("lang", "zh")
    expect(menu).to_have_attribute("aria-label", "主菜单")
    page.get_by_role("radio", name="English").click()
    expect(root).to_have_attribute("lang", "en")
    expect(menu).to_have_attribute("aria-label", "Main menu")


@pytest.mark.parametrize("address", ["/fine_tune", "/models"])
def test_the_button_for_a_file_has_a_name(visit, address):
    page = visit(address)
    name = page.get_by_test_id("stFileUploaderDropzone").locator("button p")
    # What a style sheet writes is no name to every screen reader.
    assert name.evaluate("name => name.checkVisibility()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("address", "text"),
    [("/", "button[data-selected=true] p"), ("/layers", "[data-testid=stMain] code")],
)
def test_small_texts_stand_out_from_the_page(visit, address, text, scheme):
    page = visit(address, color_scheme=scheme)
    assert page.locator(text).first.evaluate(CONTRAST) >= LEAST_CONTRAST


def test_the_focus_is_seen_and_nothing_covers_the_menu(home):
    link = home.locator(f"{SIDEBAR} {LINK}").nth(1)
    before = link.evaluate("link => getComputedStyle(link).outlineStyle")
    while not link.evaluate("link => link === document.activeElement"):
        home.keyboard.press("Tab")
    assert before == "none"
    assert link.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"
    link.hover()
    home.wait_for_timeout(1000)  # in which a tooltip would come
    expect(home.get_by_test_id("stTooltipContent")).to_have_count(0)


def test_a_finger_hits_each_button_of_the_walk(visit):
    page = visit("/layers", width=390)
    page.locator(".walk-strip .name").first.wait_for()
    for button in page.locator(".walk-strip button").filter(visible=True).all():
        left, top, right, bottom = box(button)
        assert min(right - left, bottom - top) >= LEAST_TARGET


@pytest.mark.parametrize(
    ("address", "typed"),
    [("/", ".st-key-home_text_en input"), ("/attention", "textarea")],
)
def test_no_hint_lies_on_what_is_typed(visit, address, typed):
    page = visit(address, width=390)
    page.locator(typed).first.press_sequentially("a")
    hint = page.get_by_test_id("InputInstructions").first
    assert box(hint)[1] >= box(page.locator(typed).first)[3]
    # Nor is it cut off: it is what is found where it stands.
    assert hint.evaluate(
        "hint => { const { x, y, width, height } = hint.getBoundingClientRect();"
        " return document.elementsFromPoint(x + width / 2, y + height / 2)"
        ".some((one) => hint.contains(one)) }"
    )


def test_the_buttons_of_a_figure_stand_above_its_numbers(visit):
    figure = visit("/masked_word", width=390).locator(".js-plotly-plot").first
    figure.locator(".bartext").first.wait_for()
    figure.hover()
    lowest = max(box(button)[3] for button in figure.locator(".modebar-btn").all())
    assert lowest <= box(figure.locator(".bartext").first)[1]


def test_small_shares_have_an_axis_that_tells_them_apart(visit):
    page = visit("/masked_word?masked_text=ka zu ni [MASK] po")
    figure = page.locator(".js-plotly-plot").first
    figure.locator(".xtick").first.wait_for()
    ticks = figure.locator(".xtick").all_text_contents()
    assert len(set(ticks)) == len(ticks) > 1


@pytest.mark.parametrize("step", ["attention_output", "neurons", "output_residual"])
def test_the_scale_of_a_step_is_whole_on_a_phone(visit, step):
    page = visit(f"/layers?layers_step=layer_0/{step}", width=390)
    picture = page.locator(".step-picture svg")
    edge = box(picture)[2]
    assert all(box(text)[2] <= edge for text in picture.locator("text").all())


def test_what_scrolls_sideways_is_reached_by_keyboard(visit):
    page = visit("/pretraining", width=390)
    code = page.locator("pre").first
    assert code.evaluate("code => code.scrollWidth > code.clientWidth")
    expect(code).to_have_attribute("tabindex", "0")
