"""The picture of the whole model in a real browser: hands, keys, numbers, files."""

import base64
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.analysis.aggregation import follow_down
from bertviz_core.experiments.whole_model import (
    WholeModel,
    open_head,
    remove_tokens,
    whole_model,
)
from bertviz_core.figures.component_files import component_script, component_style
from bertviz_core.figures.whole_model import whole_model_payload
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from tests.browser.conftest import be_tended, box, open_table, settle
from tests.browser.test_accessibility import LAPTOP, faults
from tests.core.bundled import open_bundled
from tests.locale_words import words_of

TEXTS = {
    "bert-mini-en": "They were married and had three [MASK].",
    "bert-mini-zh": "他是一名[MASK]国足球运动员。",
}
STRANGE = ["\u0001[MASK]\u0002", "שלום [MASK] עולם", "🙂 <b>[MASK]"]
TYPED = ".st-key-text textarea"


@pytest.fixture
def open_whole(visit):
    """Opens the start page and waits for the picture and what it is told besides."""

    def opened(query="", **browser):
        page = visit(f"/{query}", **browser)
        view = page.locator(".whole-model")
        expect(view.locator(".proof")).not_to_be_empty()
        return page, view

    return opened


def it_draws_what_the_model_says(view, model):
    explorer = open_bundled(model)
    picture = whole_model(explorer, explorer.trace(TEXTS[model]))
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
        shown = float(said.removesuffix("%").split()[-1]) / 100
        assert shown == pytest.approx(prob[picture.focus, 0], abs=6e-3)


def test_keys_walk_parts_open_and_all_that_is_drawn_has_its_number(
    open_whole, new_page, tmp_path
):
    page, view = open_whole()
    keys_walk_over_pieces_and_layers_open_and_go_back(page, view)
    view.locator(".paper").focus()
    page.keyboard.press("ArrowRight")
    expect(view).to_have_attribute("data-focus", "7")
    settle(page)
    it_draws_what_the_model_says(view, "bert-mini-en")
    the_saved_file_stays_alive_without_a_network(page, new_page, tmp_path)
    bars_say_how_much_each_word_moves(view)
    settle(page)
    a_curve_is_cut_and_grows_again(page, view)
    stations_play(view)
    open_table(view)
    expect(view.locator("details tr")).to_have_count(2 + 10)
    view.locator("details").first.evaluate("one => (one.style.display = '')")
    a_laptop_shows_a_long_text_and_what_is_said_of_it(page, view)
    for changed in (
        a_word_is_hidden_put_back_and_typed_over,
        what_is_clicked_before_the_next_picture_is_kept,
    ):
        page.locator(TYPED).fill(TEXTS["bert-mini-en"])
        page.keyboard.press("Control+Enter")
        expect(view.locator("[data-part=foot] text", has_text="three")).to_be_visible()
        settle(page)
        changed(page, view)
    a_strange_text_gets_an_answer(page, view)


def keys_walk_over_pieces_and_layers_open_and_go_back(page, view):
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
    expect(panel.locator(".head")).to_have_count(8)
    last = panel.locator(".head [aria-pressed]").last.bounding_box()
    assert last["y"] + last["height"] <= LAPTOP["height"]
    # Back, the layer's switch, the other half; then each head and its switch.
    for _ in range(3 + 2 * 3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(view).to_have_attribute("data-off", "layer.1.head.2")
    # The guesses stand beside what is open; the focus stays where it was.
    row = view.locator("text.row").first
    expect(row).to_contain_text("→")
    covered = panel.bounding_box()
    assert row.bounding_box()["x"] >= covered["x"] + covered["width"]
    page.keyboard.press("Enter")
    expect(view).to_have_attribute("data-off", "")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(view).to_have_attribute("data-open", "layer.1.head.2")
    # Its softmax, of all pieces at once.
    expect(panel.locator("tr:has(.meter)")).to_have_count(10)
    expect(page.get_by_role("link", name="Attention").last).to_be_visible()
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-open", "layer.1")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    for number in (1, 2):  # the second station opens the foot
        page.keyboard.press(".")
        expect(view).to_have_attribute("data-station", str(number))
    page.keyboard.press(",")
    expect(panel).to_be_hidden()
    page.keyboard.press("Escape")
    expect(view).to_have_attribute("data-station", "")
    page.keyboard.press("Delete")
    expect(view).to_have_attribute("data-off", "layer.1")
    expect(view.locator("text.row").first).to_contain_text("→")
    view.get_by_role("button", name="Switch everything on").click()
    expect(view.locator("text.row").first).not_to_contain_text("→")


def a_laptop_shows_a_long_text_and_what_is_said_of_it(page, view):
    page.set_viewport_size(LAPTOP)
    text = "the old man went out to catch some fish " * 6
    page.locator(TYPED).fill(f"{text} and [MASK] .")
    page.keyboard.press("Control+Enter")
    expect(view.locator("[data-part=foot] text", has_text="fish")).to_have_count(6)
    expect(view.locator(".proof")).not_to_be_empty()
    settle(page)
    for part in (".status", ".proof"):
        box = view.locator(part).bounding_box()
        assert box["y"] + box["height"] <= LAPTOP["height"], part


def test_each_part_opens_in_place_from_a_link_or_by_a_click(open_whole):
    page, view = open_whole("?whole_open=layer.3.head.0", color_scheme="dark")
    panel = view.get_by_role("region")
    for name, said in (
        ("", "Softmax"),
        ("layer.3.mlp", "Makes likelier"),
        ("layer.3", "Attention adds"),
        ("embeddings", "normalized"),
        ("mlm.logits", "Temperature"),
    ):
        if name:
            panel.get_by_role("button").first.click()  # to its layer, or out of it
            if name != "layer.3":
                view.locator(f"[data-name='{name}']:visible").first.click()
        expect(panel).to_contain_text(said)
        be_tended(page)
        assert faults(page) == set(), name


def a_word_is_hidden_put_back_and_typed_over(page, view):
    married = view.locator("[data-part=foot] text", has_text="married")
    married.hover()
    expect(view.get_by_role("status").last).to_contain_text("Effect: without married")
    married.click()
    expect(view).to_have_attribute("data-focus", "3")
    married.click()
    box = page.locator(TYPED)
    expect(box).to_have_value("They were [MASK] and had three [MASK].")
    view.locator("[data-part=foot] text", has_text="three").click()
    expect(view).to_have_attribute("data-focus", "6")
    word = view.get_by_role("textbox")
    word.fill("ten")
    word.press("Enter")
    expect(box).to_have_value("They were [MASK] and had ten [MASK].")
    # The edited piece stays the one that is followed.
    expect(view.locator("[data-part=foot] text", has_text="ten")).to_be_visible()
    expect(view).to_have_attribute("data-focus", "6")
    view.locator("[data-part=foot] text", has_text="[MASK]").first.click()
    expect(view).to_have_attribute("data-focus", "3")
    view.get_by_role("button", name="Put the word back").click()
    expect(box).to_have_value("They were married and had ten [MASK].")
    # The mask of the example hides nothing that could be put back.
    view.locator("[data-part=foot] text", has_text="[MASK]").last.click()
    expect(view.get_by_role("button", name="Put the word back")).to_be_hidden()


# What the person did before the next picture came, and the pieces that were followed.
BETWEEN = """root => {
  const word = (text) => [...root.querySelectorAll('[data-part=foot] text')]
    .find((one) => one.textContent === text)
  const click = (one) => one.dispatchEvent(new MouseEvent('click', { bubbles: true }))
  window.followed = []
  const note = () => window.followed.push(root.dataset.focus)
  new MutationObserver(note).observe(root, { attributeFilter: ['data-focus'] })
  const box = root.querySelector('input.word')
  box.value = 'once married'
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
  click(word('were'))
  click(word('were'))
  click(root.querySelector('[data-name="layer.4"]'))
  click(word('three'))
}"""


def a_strange_text_gets_an_answer(page, view):
    for text in STRANGE:
        answer = view.locator("[data-part=answer]")
        before = answer.text_content()
        page.locator(TYPED).fill(text)
        page.keyboard.press("Control+Enter")
        expect(answer).not_to_have_text(before)
        expect(answer.locator(".row")).to_have_count(5)
        settle(page)
        assert page.get_by_test_id("stException").count() == 0


def what_is_clicked_before_the_next_picture_is_kept(page, view):
    view.locator("[data-part=foot] text", has_text="married").click()
    expect(view).to_have_attribute("data-focus", "3")
    settle(page)
    view.evaluate(BETWEEN)
    # The word that was typed, the one that was hidden, the part and the piece.
    box = page.locator(TYPED)
    expect(box).to_have_value("They [MASK] once married and had three [MASK].")
    expect(view.locator("[data-part=foot] text", has_text="once")).to_have_count(1)
    expect(view.get_by_role("region")).to_contain_text("Attention adds")
    expect(view).to_have_attribute("data-open", "layer.4")
    for part in ("token=8", "whole_open=layer.4"):
        expect(page).to_have_url(re.compile(part))
    settle(page)
    expect(view).to_have_attribute("data-focus", "7")
    assert set(page.evaluate("window.followed")) <= {"2", "6", "7"}


def test_a_phone_draws_what_the_chinese_model_says_and_saves_all_of_it(open_whole):
    """Wherever it is scrolled, as a phone scrolls the rails sideways."""
    page, view = open_whole("?model=bert-mini-zh", width=390)
    it_draws_what_the_model_says(view, "bert-mini-zh")
    scroll = view.locator(".scroll")
    assert scroll.evaluate("box => box.scrollWidth > box.clientWidth")
    # The name of the bars lies on no word; above and below letters there is a gap.
    name = view.locator("[data-part=names] text", has_text="Effect")
    assert box(name)[3] - 4 <= box(view.locator("[data-part=foot] text").first)[1]
    page.get_by_role("radio", name="Download").click()
    saved = []
    for left in (0, 80):
        scroll.evaluate("(box, left) => (box.scrollLeft = left)", left)
        expect(view.locator("[data-part=names]")).to_have_attribute(
            "transform", f"translate({left} 0)"
        )
        with page.expect_download() as file:
            page.get_by_role("button", name="Figure (SVG)").click()
        saved.append(file.value.path().read_text("utf-8"))
    assert saved[0] == saved[1]
    assert "运动" in "".join(re.findall("<text[^>]*>([^<]*)<", saved[0]))
    assert saved[0].count("<path") > 50
    with page.expect_download() as file:
        page.get_by_role("button", name="Figure (PNG)").click()
    assert file.value.path().read_bytes().startswith(b"\x89PNG")


def the_saved_file_stays_alive_without_a_network(page, new_page, tmp_path):
    page.get_by_role("radio", name="Download").click()
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
    # Every level of the piece that was in focus is in it, and it says so of others.
    view.locator("[data-name='layer.3']").first.click()
    panel = view.get_by_role("region")
    expect(panel).to_contain_text("looks inside for [MASK]")
    alone.keyboard.press("Escape")
    view.locator("[data-part=foot] text", has_text="[MASK]").click()
    expect(view.locator("[data-moved]").first).to_be_visible()
    expect(view.locator(".proof")).not_to_be_empty()
    view.locator("[data-name='layer.3']").first.click()
    panel.locator(".head button").nth(2).click()
    explorer = open_bundled("bert-mini-en")
    trace = explorer.trace(TEXTS["bert-mini-en"])
    weights = open_head(explorer, trace, 3, 1, 7)["weights"]
    # Between the row of the query and that of the sum.
    (_, *shown, _) = panel.locator("tr td:nth-child(5)").all_text_contents()
    assert shown == [f" {100 * weight:.1f}%" for weight in weights]


def bars_say_how_much_each_word_moves(view):
    bars = view.locator("[data-moved]")
    expect(bars).to_have_count(9)
    found = {}
    for bar in bars.all():
        box = bar.bounding_box()
        found[round(box["x"] + box["width"] / 2)] = float(
            bar.get_attribute("data-moved")
        )
    words = view.locator("[data-part=foot] text").all()
    middles = [box["x"] + box["width"] / 2 for box in map(_box, words)]
    explorer = open_bundled("bert-mini-en")
    trace = explorer.trace(TEXTS["bert-mini-en"])
    removed = remove_tokens(explorer, trace, 7)
    for token, moved in zip(removed.tokens, removed.moved, strict=True):
        at = min(found, key=lambda x: abs(x - middles[token]))
        assert found[at] == pytest.approx(moved, abs=1e-4)


def a_curve_is_cut_and_grows_again(page, view):
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
    view.get_by_role("button", name="Switch everything on").click()
    expect(view).to_have_attribute("data-off", "")


def stations_play(view):
    view.get_by_role("button", name="Play").click()
    expect(view).to_have_attribute("data-station", "1")
    view.get_by_role("button", name="Pause").click()
    for number in range(2, 9):
        view.get_by_role("button", name="Next station").click()
        expect(view).to_have_attribute("data-station", str(number))
        expect(view.locator(".status")).to_contain_text(f"{number} / 8")


@pytest.fixture
def draw(new_page):
    """Draws a picture of made-up numbers, a pair of texts, on a page of its own."""

    def drawn(num_layers, size):
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(np.ones(size), (num_layers, size))
        words = [f"w{index}" for index in range(size - 4)]
        read = BertTokenizer([*SPECIAL_TOKENS, *words]).encode(" ".join(words), "w0")
        reached = follow_down(shares, 2)
        probs = np.full((num_layers + 1, size, 1), 0.5)
        guesses = ((("w1",),) * size,) * (num_layers + 1)
        picture = WholeModel(
            read, 2, 0, shares, shares, reached, reached, probs, guesses
        )
        page = new_page(base="about:")
        page.set_content("<!doctype html><body></body>")
        page.add_style_tag(content=component_style("whole_model"))
        page.add_script_tag(content=component_script("whole_model"))
        said = words_of("whole_model")
        payload = whole_model_payload(picture, id="x", text="", file="", words=said)
        page.evaluate(
            "bytes => showWhole(document.body,"
            " Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0)), () => {})",
            base64.b64encode(payload).decode(),
        )
        return page

    return drawn


def test_a_pair_has_two_colours_and_a_line_below_its_second_text(draw):
    page = draw(2, 8)
    foot = page.locator("[data-part=foot] text")
    lines = foot.evaluate_all("all => all.map(t => t.getAttribute('text-decoration'))")
    assert lines == [None] * 6 + ["underline"] * 2
    curves = page.locator("[data-part=curves] path").evaluate_all(
        "all => all.map(p => [+p.dataset.name.split('.')[4], p.getAttribute('stroke')])"
    )
    of = {
        part: {c for at, c in curves if (at > 5) == part and at != 2} for part in (0, 1)
    }
    assert len(of[0]) == len(of[1]) == 1
    assert of[0] != of[1]


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_what_changes_moves_unless_the_system_asks_for_less_motion(draw, motion):
    page = draw(2, 8)
    page.emulate_media(reduced_motion=motion)
    soon, later = page.evaluate(
        """async () => {
          const sizes = () => [...document.querySelectorAll('[data-part=nodes] circle')]
            .map((dot) => +dot.getAttribute('r'))
          const word = document.querySelectorAll('[data-part=foot] text')[3]
          word.dispatchEvent(new MouseEvent('click', { bubbles: true }))
          const soon = sizes()
          await new Promise((done) => setTimeout(done, 300))
          return [soon, sizes()]
        }"""
    )
    assert (soon == later) == (motion == "reduce")


@pytest.mark.parametrize(("num_layers", "size"), [(2, 5), (24, 64)])
def test_few_and_many_layers_are_drawn_apart_from_each_other(draw, num_layers, size):
    page = draw(num_layers, size)
    for part in ("names", "beside"):
        texts = page.locator(f"[data-part={part}] text")
        expect(texts).to_have_count(num_layers + 1)
        tops = sorted(box["y"] for box in map(_box, texts.all()))
        assert min(np.diff(tops)) >= 10, part
    # The picture begins at 270 on the page, and a laptop shows 768.
    assert _box(page.locator(".paper"))["height"] <= 768 - 270


def _box(part):
    return part.bounding_box()
