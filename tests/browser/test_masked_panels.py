"""The questions of the masked-word page in a real browser."""

from __future__ import annotations

import csv
import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import expect

from tests.app.chinese_model import write_chinese_model
from tests.browser.conftest import overflow, settle

FIGURE = ".js-plotly-plot"
TWO_MASKS = "He was born in [MASK] 1950 in New [MASK], United States."


def address(**choices):
    return "/masked_word?" + "&".join(f"{k}={quote(v)}" for k, v in choices.items())


def choose(page, key, name):
    """Chooses an option of a row of buttons."""
    settle(page)  # a click that meets a run may be lost
    page.locator(f".st-key-{key}").get_by_text(name, exact=True).click()


def rows_of(download, tmp_path):
    path = tmp_path / "table.csv"
    download.value.save_as(path)
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))


def open_downloads(page, name):
    popover = page.locator(f".st-key-{name}_downloads")
    popover.get_by_role("button").first.click()


def metric(page, label):
    box = page.get_by_test_id("stMetric").filter(has_text=label)
    return box.get_by_test_id("stMetricValue")


def test_masks_hidden_by_click_are_filled_step_by_step(visit, tmp_path):
    page = visit(address(text="Paris is the capital of France."))
    words = page.locator(".st-key-masked_words")
    for name in ("Paris", "France"):
        choose(page, "masked_words", name)
        expect(words.get_by_text(name, exact=True)).to_be_visible()
    expect(page.locator(".st-key-text textarea")).to_have_value(
        "[MASK] is the capital of [MASK]."
    )
    choose(page, "masked_panel", "Fill several masks together")
    play = page.get_by_role("button", name="Play")
    play.click()
    slider = page.locator(".st-key-masked_fill_step").get_by_role("slider")
    expect(slider).to_have_value("2")  # the last, by itself
    expect(page.get_by_text("Step 2: mask")).to_be_visible()
    open_downloads(page, "masked_filling")
    with page.expect_download() as download:
        page.get_by_role("button", name="Table (CSV)").click()
    rows = rows_of(download, tmp_path)
    assert [row["Step"] for row in rows] == ["1", "2"]
    assert {row["Mask"] for row in rows} == {"1", "2"}
    page.keyboard.press("Escape")
    # Exact pairs show both orders.
    choose(page, "masked_fill_mode", "exact pairs")
    expect(page.get_by_text("the two orders differ by a factor")).to_be_visible()
    expect(page.locator(".st-key-masked_pairs_figure " + FIGURE)).to_be_visible()


def test_a_chain_is_started_paused_resumed_stepped_saved_and_begun_anew(
    visit, tmp_path
):
    page = visit(
        address(
            masked_panel="gibbs",
            masked_gibbs_steps="3000",
            masked_gibbs_burn_in="10",
            text="The old man went to the sea.",
        )
    )
    go = page.locator(".st-key-masked_gibbs_go").get_by_role("button")
    pause = page.locator(".st-key-masked_gibbs_pause").get_by_role("button")
    done = metric(page, "Steps done")
    expect(go).to_have_text(re.compile("Start"))
    go.click()
    expect(pause).to_have_text(re.compile("Pause"))
    expect(page.get_by_text(re.compile(r"Step [\d,]+ of 3,000"))).to_be_visible()
    expect(done).not_to_have_text("0")
    pause.click()
    expect(go).to_have_text(re.compile("Resume"))
    settle(page)
    paused = int(done.inner_text().replace(",", ""))
    assert 0 < paused < 3000
    page.wait_for_timeout(1200)
    expect(done).to_have_text(f"{paused:,}")

    page.get_by_role("button", name="One step").click()
    expect(done).to_have_text(f"{paused + 1:,}")
    expect(page.locator(FIGURE).last.get_by_text("Burn-in")).to_be_visible()
    expect(metric(page, "Steps that changed a word")).to_contain_text("%")

    goal = page.locator(".st-key-masked_gibbs_steps input")
    goal.fill(str(paused + 41))
    goal.press("Enter")
    settle(page)
    go.click()
    expect(page.get_by_text(f"Steps done: {paused + 41:,}.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Chain as CSV").click()
    rows = rows_of(download, tmp_path)
    assert len(rows) == paused + 41
    assert [row["Burn-in"] for row in rows].count("1") == 10
    for row in rows:
        assert (row["Before"] != row["After"]) == (row["Changed"] == "1")

    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_text("The chain has not begun")).to_be_visible()
    expect(go).to_have_text(re.compile("Start"))


def test_two_sentences_are_compared_and_a_word_is_searched(visit, tmp_path):
    page = visit(
        address(masked_panel="compare", text="The doctor said that [MASK] was tired.")
    )
    expect(page.get_by_text("stereotypes included")).to_be_visible()
    expect(page.locator(".st-key-masked_other input")).to_have_value(
        "The nurse said that [MASK] was tired."
    )
    expect(page.get_by_text("of at most 1 bit")).to_be_visible()
    search = page.locator(".st-key-masked_compare_search input")
    search.fill("xyzzyx")
    search.press("Enter")
    expect(page.get_by_text("No word of the vocabulary")).to_be_visible()
    page.locator(".st-key-masked_compare_rest label").click()
    expect(page).to_have_url(re.compile("masked_compare_rest=true"))
    page.get_by_text("All words of the vocabulary").click()
    with page.expect_download() as download:
        page.locator(".st-key-masked_all_words_csv").get_by_role("button").click()
    rows = rows_of(download, tmp_path)
    assert len(rows) == 16_384
    assert sum(float(row["In A"]) for row in rows) == pytest.approx(1, abs=1e-3)


def test_the_lens_follows_a_word_and_reasons_are_looked_at(visit):
    page = visit(address(masked_panel="lens"))
    box = page.locator(".st-key-masked_lens_word input")
    # What moves the page closes the list: a figure that comes, and scrolling.
    expect(page.get_by_text(re.compile("Rank of “"))).to_be_visible()
    settle(page)
    box.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box.click()
    page.get_by_role("option").first.wait_for()
    page.keyboard.type("rome")
    expect(page.get_by_role("option", name="rome")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("Rank of “rome”"))).to_be_visible()
    expect(page).to_have_url(re.compile("masked_lens_word=rome"))
    expect(page.get_by_text("Caution:")).to_be_visible()
    choose(page, "masked_panel", "Why this word?")
    expect(page.get_by_text("Completeness error")).to_be_visible()
    for name in ("layers", "heads"):
        choose(page, "masked_why_look", f"the {name}")
        figure = page.locator(f".st-key-masked_why_{name}_figure {FIGURE}")
        expect(figure).to_be_visible()


def test_a_chinese_word_is_hidden_by_one_click_found_and_put_in(visit, tmp_path):
    model = write_chinese_model(tmp_path)
    text = "我喜欢吃苹果，他喝奶。"
    page = visit(
        address(model=str(model), text=text, masked_panel="whole", lang="中文")
    )
    page.locator(".st-key-open_linked button").click()
    box = page.locator(".st-key-text textarea")
    expect(box).to_have_value(text)
    choose(page, "masked_click_size", "2 个字")
    page.locator(".st-key-masked_words").get_by_text("苹", exact=True).click()
    expect(box).to_have_value("我喜欢吃[MASK][MASK]，他喝奶。")
    expect(page.get_by_text("你遮住的是 苹果")).to_be_visible()
    words = page.locator(".st-key-masked_whole_insert")
    word = words.get_by_text(re.compile("^[\u4e00-\u9fff]{2}$")).first
    written = word.inner_text()
    word.click()
    expect(box).to_have_value(f"我喜欢吃{written}，他喝奶。")


def test_a_link_opens_in_another_browser_as_it_was(visit):
    page = visit(address(text=TWO_MASKS, masked_panel="score"))
    choose(page, "masked_score_kind", "a minimal pair")
    first = page.locator(".st-key-masked_score_first input")
    first.fill("The dogs are here.")
    first.press("Enter")
    expect(page).to_have_url(re.compile("masked_score_first="))
    choose(page, "masked_mask", "2")
    page.locator(".st-key-masked_words_alone label").click()
    expect(page).to_have_url(re.compile("masked_words_alone=true"))
    expect(page).to_have_url(re.compile(r"[?&]token=10\b"))
    settle(page)
    parts = urlsplit(page.url)
    again = visit(f"{parts.path}?{parts.query}", locale="zh-CN")
    expect(again.locator(".st-key-masked_score_first input")).to_have_value(
        "The dogs are here."
    )
    expect(again.locator(".st-key-text textarea")).to_have_value(TWO_MASKS)
    expect(again.get_by_text("第 2 个空缺（共 2 个）")).to_be_visible()
    expect(again.locator(".st-key-masked_words_alone input")).to_be_checked()
    settle(again)
    asked = parse_qs(parts.query)
    assert parse_qs(urlsplit(again.url).query) == asked


def test_the_program_of_a_view_is_shown_and_copied(visit):
    page = visit(address(masked_panel="gelu"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".st-key-masked_gelu_code button").click()
    code = page.get_by_test_id("stCode")
    expect(code).to_contain_text("switch_gelu(explorer, 'They were married")
    code.hover()
    code.get_by_role("button").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("from bertviz_core import Explorer\n")
    assert "[MASK]" in copied


# The figure of each panel that can be taken away.
FIGURES = {
    "Each layer's guess (logit lens)": "masked_lens",
    "Compare two sentences": "masked_comparison",
    "Why this word?": "masked_why",
    "Every position": "masked_positions_map",
}


def test_every_panel_fits_a_phone_and_its_figure_needs_no_network(
    visit, new_page, tmp_path
):
    page = visit(address(text=TWO_MASKS, masked_click_size="1"), width=390)
    alone = new_page(base="file:")
    alone.context.set_offline(True)
    figures = FIGURES | {"Fill several masks together": "masked_filling"}
    for name, figure in figures.items():
        choose(page, "masked_panel", name)
        page.locator(f".st-key-{figure}_figure {FIGURE}").wait_for()
        settle(page)
        assert overflow(page) <= 0, name
        open_downloads(page, figure)
        path = tmp_path / f"{figure}.html"
        with page.expect_download() as download:
            page.get_by_role("button", name="Figure (HTML").click()
        download.value.save_as(path)
        page.keyboard.press("Escape")
        alone.goto(path.as_uri())
        alone.locator(f"{FIGURE} svg").first.wait_for()
