"""The picture of the whole model in a real browser: hands, keys, numbers, files."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.checkpoints.library import open_model
from bertviz_core.experiments.whole_model import whole_model
from bertviz_core.explorer import Explorer
from tests.browser.conftest import settle

TEXTS = {
    "bert-mini-en": "They were married and had three [MASK].",
    "bert-mini-zh": "他是一名[MASK]国足球运动员。",
}


@pytest.fixture
def open_whole(visit):
    """Opens the start page and waits for the picture and what it is told besides."""

    def opened(query="", **browser):
        page = visit(f"/{query}", **browser)
        view = page.locator(".whole-model")
        expect(view.locator(".proof")).not_to_be_empty()
        return page, view

    return opened


@pytest.mark.parametrize("model", TEXTS)
def test_what_is_drawn_is_what_the_model_says(open_whole, model):
    explorer = Explorer(open_model(model))
    picture = whole_model(explorer, explorer.trace(TEXTS[model]))
    _, view = open_whole(f"?model={model}")
    dots = view.locator("[data-part=nodes] circle").evaluate_all(
        "dots => dots.map(d => [+d.dataset.level, +d.dataset.token, +d.dataset.share])"
    )
    drawn = np.zeros_like(picture.reached)
    for level, token, share in dots:
        drawn[level, token] = share
    np.testing.assert_allclose(drawn, picture.reached, atol=1e-6)
    words = view.locator("[data-guess]").all_text_contents()
    for level, said in enumerate(words):
        word, prob = picture.guesses[level], picture.guess_probs[level]
        assert said.startswith(word[picture.focus][0])
        shown = float(said.removesuffix(" %").split()[-1]) / 100
        assert shown == pytest.approx(prob[picture.focus, 0], abs=6e-3)


def test_keys_walk_over_pieces_and_layers_open_and_go_back(open_whole):
    page, view = open_whole()
    expect(view).to_have_attribute("data-focus", "7")
    view.locator(".paper").focus()
    page.keyboard.press("ArrowLeft")
    expect(view).to_have_attribute("data-focus", "6")
    expect(page).to_have_url(re.compile(r"token=7"))
    for _ in ("embeddings", "layer.0", "layer.1"):
        page.keyboard.press("ArrowUp")
    expect(view.get_by_role("status").last).to_contain_text("Layer 2")
    page.keyboard.press("Enter")
    expect(view).to_have_attribute("data-open", "layer.1")
    panel = view.get_by_role("region")
    heads = panel.locator(".head")
    expect(heads).to_have_count(8)
    heads.nth(2).get_by_role("button").first.click()
    expect(view).to_have_attribute("data-open", "layer.1.head.2")
    # Its softmax, of all pieces at once.
    expect(panel.locator("tr")).to_have_count(11)
    expect(page.get_by_role("link", name="Attention").last).to_be_visible()
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-open", "layer.1")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("Delete")
    expect(view).to_have_attribute("data-off", "layer.1")
    expect(view.locator("text.row").first).to_contain_text("→")
    view.get_by_role("button", name="Switch everything on").click()
    expect(view.locator("text.row").first).not_to_contain_text("→")


def test_each_part_opens_in_place_from_a_link(open_whole):
    for name, said in (
        ("embeddings", "normalized"),
        ("layer.3", "What attention adds"),
        ("layer.3.mlp", "Words that it makes likelier"),
        ("layer.3.head.0", "Softmax"),
        ("mlm.logits", "Temperature"),
    ):
        _, view = open_whole(f"?whole_open={name}")
        expect(view.get_by_role("region")).to_contain_text(said)


def test_a_word_is_hidden_put_back_and_typed_over(open_whole):
    page, view = open_whole()
    married = view.locator("[data-part=foot] text", has_text="married")
    married.click()
    expect(view).to_have_attribute("data-focus", "3")
    married.click()
    box = page.locator(".st-key-text textarea")
    expect(box).to_have_value("They were [MASK] and had three [MASK].")
    view.locator("[data-part=foot] text", has_text="three").click()
    expect(view).to_have_attribute("data-focus", "6")
    word = view.get_by_role("textbox")
    word.fill("ten")
    word.press("Enter")
    expect(box).to_have_value("They were [MASK] and had ten [MASK].")
    # Another text is followed from its first mask.
    expect(view).to_have_attribute("data-focus", "3")
    view.get_by_role("button", name="Put the word back").click()
    expect(box).to_have_value("They were married and had ten [MASK].")


def test_a_curve_under_the_pointer_says_its_numbers_and_a_click_cuts_it(open_whole):
    page, view = open_whole()
    settle(page)
    curve = view.locator("[data-name='layer.5.edge.7.3']")
    x, y = curve.evaluate(
        """path => { const at = path.getPointAtLength(path.getTotalLength() / 2)
          const box = path.ownerSVGElement.getBoundingClientRect()
          return [at.x + box.left, at.y + box.top] }"""
    )
    page.mouse.move(x, y)
    said = view.get_by_role("status").last
    expect(said).to_contain_text("Layer 6")
    expect(said).to_contain_text("comes from married")
    page.mouse.click(x, y)
    expect(view).to_have_attribute("data-off", "layer.5.edge.7.3")
    expect(view.locator("text.row").first).to_contain_text("→")


def test_eight_stations_play_pause_and_step(open_whole):
    _, view = open_whole()
    view.get_by_role("button", name="Play").click()
    expect(view).to_have_attribute("data-station", "1")
    view.get_by_role("button", name="Pause").click()
    for number in range(2, 9):
        view.get_by_role("button", name="Next station").click()
        expect(view).to_have_attribute("data-station", str(number))
        expect(view.locator(".said")).to_contain_text(f"{number} / 8")


def test_the_picture_is_saved_as_svg_with_its_words(open_whole):
    page, view = open_whole()
    with page.expect_download() as saved:
        view.get_by_role("button", name="SVG").click()
    text = saved.value.path().read_text("utf-8")
    assert "children" in text
    assert text.count("<path") > 50


def test_the_table_has_every_share(open_whole):
    _, view = open_whole()
    view.get_by_text("As a table").click()
    expect(view.locator("details tr")).to_have_count(2 + 10)


def test_a_phone_scrolls_the_rails_sideways(open_whole):
    _, view = open_whole(width=390)
    scroll = view.locator(".scroll")
    assert scroll.evaluate("box => box.scrollWidth > box.clientWidth")


def test_the_saved_file_stays_alive_without_a_network(open_whole, new_page, tmp_path):
    page, _ = open_whole()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Figure (HTML, works offline)").click()
    saved.value.save_as(tmp_path / "whole.html")
    alone = new_page(base="file:")
    alone.context.set_offline(True)
    alone.goto((tmp_path / "whole.html").as_uri())
    view = alone.locator(".whole-model")
    expect(view).to_have_attribute("data-focus", "7")
    view.locator("[data-part=foot] text", has_text="married").click()
    expect(view).to_have_attribute("data-focus", "3")
    expect(view.locator("text.row").first).to_contain_text("married")
