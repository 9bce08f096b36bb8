"""The questions of the masked-word page in a real browser."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import box, overflow, settle

FIGURE = ".js-plotly-plot"
TWO_MASKS = "He was born in [MASK] 1950 in New [MASK], United States."


def address(**choices):
    return "/masked_word?" + "&".join(f"{k}={quote(v)}" for k, v in choices.items())


def choose(page, key, name):
    """Chooses an option of a row of buttons."""
    settle(page)  # a click that meets a run may be lost
    page.locator(f".st-key-{key}").get_by_text(name, exact=True).click()


IS_CUT = "part => part.scrollWidth > part.clientWidth"


def rows_of(download, tmp_path):
    path = tmp_path / "table.csv"
    download.value.save_as(path)
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))


def metric(page, label):
    box = page.get_by_test_id("stMetric").filter(has_text=label)
    return box.get_by_test_id("stMetricValue")


def test_masks_hidden_by_click_are_filled_step_by_step(visit):
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


def test_a_chain_is_started_paused_stepped_saved_and_begun_anew(visit, tmp_path):
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
    # For a moment the old numbers stand beside the new ones.
    expect(done.last).to_have_text(f"{paused + 1:,}")
    expect(page.locator(FIGURE).last.get_by_text("Burn-in")).to_be_visible()
    expect(metric(page, "Steps with a change")).to_contain_text("%")
    for name in page.locator(
        "[data-testid=stMetricLabel], [data-testid=stMetricLabel] div"
    ).all():
        assert not name.evaluate(IS_CUT), name.inner_text()
    # A number and its unit that are wider than their column take two lines.
    value = metric(page, "Steps with a change").locator("p")
    expect(value).to_have_css("white-space", "normal")

    with page.expect_download() as download:
        page.get_by_role("button", name="Chain as CSV").click()
    rows = rows_of(download, tmp_path)
    assert len(rows) == paused + 1
    assert [row["Burn-in"] for row in rows].count("1") == min(10, paused + 1)
    for row in rows:
        assert (row["Before"] != row["After"]) == (row["Changed"] == "1")

    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_text("The chain has not begun")).to_be_visible()
    expect(go).to_have_text(re.compile("Start"))


def test_a_program_is_shown_and_copied_and_the_lens_follows_a_typed_word(visit):
    page = visit(address(masked_panel="whole"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tools = page.locator(".st-key-masked_whole_words_tools")
    tools.get_by_role("radio", name="Code").click()
    code = page.get_by_test_id("stCode")
    expect(code).to_contain_text("explorer, 'They were married")
    code.hover()
    code.get_by_role("button").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("from bertviz_core import Explorer\n")
    assert "[MASK]" in copied
    choose(page, "masked_panel", "Each layer's guess (logit lens)")
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


# The figure of each panel.
FIGURES = {
    "Each layer's guess (logit lens)": "masked_lens",
    "Compare two sentences": "masked_comparison",
    "Why this word?": "masked_why",
    "Every position": "masked_positions_map",
    "Next sentence?": "masked_next",
    "Fill several masks together": "masked_filling",
}


def test_every_panel_fits_a_phone(visit):
    page = visit(address(text=TWO_MASKS, masked_click_size="1"), width=390)
    for name, figure in FIGURES.items():
        choose(page, "masked_panel", name)
        page.locator(f".st-key-{figure}_figure {FIGURE}").wait_for()
        settle(page)
        assert overflow(page) <= 0, name
        if name == "Why this word?":
            link = page.get_by_role("link", name="Which attention heads")
            assert not link.locator("> span").last.evaluate(IS_CUT)
        if figure == "masked_lens":  # scrolled, its words have the room that they need
            words = page.locator(f".st-key-{figure}_figure .heatmap-label text").all()
            rows = sorted(
                (round(top), left, right) for left, top, right, _ in map(box, words)
            )
            assert rows
            for (row, _, right), (other, left, _) in pairwise(rows):
                assert right <= left or row != other
            page.locator(f".st-key-{figure}_tools button").first.click()
            page.locator(
                f".st-key-{figure}_tools + * [data-testid=stDataFrame]"
            ).wait_for()
            settle(page)
            assert overflow(page) <= 0, "its table"
        if name == "Next sentence?":
            ticks = page.locator(f".st-key-{figure}_figure .xtick")
            expect(ticks.last).to_have_text("100%")
    a_figure_is_read_on_a_phone(page)


def a_figure_is_read_on_a_phone(page):
    figure = page.locator(".js-plotly-plot").first
    figure.locator(".bartext").first.wait_for()
    figure.hover()
    # Its buttons stand above its numbers.
    lowest = max(box(button)[3] for button in figure.locator(".modebar-btn").all())
    assert lowest <= box(figure.locator(".bartext").first)[1]
    # Small shares have an axis that tells them apart.
    typed = page.locator(".st-key-text textarea")
    typed.fill("ka zu ni [MASK] po")
    typed.press("Control+Enter")
    expect(page.get_by_text("Mask 1 of 2")).to_have_count(0)
    settle(page)
    ticks = figure.locator(".xtick").all_text_contents()
    assert len(set(ticks)) == len(ticks) > 1
