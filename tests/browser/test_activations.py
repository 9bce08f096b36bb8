"""The activations page in a real browser: formulas, sliders, address, languages."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.analysis.activations import activate, differentiate
from tests.browser.conftest import ANSWER_SECONDS, overflow, settle

PARTS = ["vanishing", "centre", "dead", "collapse"]
NUM_FIGURES = {"vanishing": 5, "centre": 6, "dead": 6, "collapse": 5}


def open_derivations(page):
    for summary in page.locator("[data-testid=stExpander] summary").all():
        summary.click()


def figure(page, name):
    return page.locator(f".st-key-{name}_figure .js-plotly-plot")


def curves_drawn(page, name):
    """Names in a figure's legend."""
    return figure(page, name).locator(".legendtext")


@pytest.mark.parametrize(
    ("part", "language"), list(zip(PARTS, ["English", "中文"] * 2, strict=True))
)
def test_every_formula_and_figure_is_drawn_and_fits_a_phone(visit, part, language):
    page = visit(f"/activations?act_weakness={part}&lang={language}", width=390)
    expect(page.locator(".js-plotly-plot")).to_have_count(NUM_FIGURES[part])
    open_derivations(page)
    expect(page.locator(".katex-display").first).to_be_visible()
    # Nine and five steps, and a function and a slope on each of three cards.
    expect(page.locator(".katex-display")).to_have_count(9 + 5 + 6)
    expect(page.locator(".katex-error")).to_have_count(0)
    # What KaTeX does not know it writes in this colour.
    assert page.locator(".katex [style*='#cc0000']").count() == 0
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert overflow(page) <= 0
    for drawn in page.locator(".js-plotly-plot, .katex-display .katex-html").all():
        box = drawn.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_clicks_draw_functions_and_a_reload_keeps_them(visit):
    page = visit("/activations")
    expect(curves_drawn(page, "activations_curves")).to_have_count(6)
    choice = page.locator(".st-key-act_functions")
    choice.get_by_text("swish", exact=True).click()
    expect(curves_drawn(page, "activations_curves")).to_have_count(8)
    slider = page.locator(".st-key-act_swish").get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"act_swish=1\.01"))
    page.locator(".st-key-act_weakness").get_by_text("Dead ReLUs").click()
    expect(page).to_have_url(re.compile("act_weakness=dead"))
    expect(page.get_by_text("1 of 6 neurons")).to_be_visible()

    page.reload()
    settle(page)
    expect(curves_drawn(page, "activations_curves")).to_have_count(8)
    expect(slider).to_have_value("1.01")
    expect(page.get_by_text("1 of 6 neurons")).to_be_visible()


def read_at_pointer(page, drawn, share):
    """What stands beside the pointer: the x, and a number for each name."""
    area = drawn.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(
        area["x"] + share * area["width"], area["y"] + 0.5 * area["height"], steps=4
    )
    page.wait_for_timeout(200)  # plotly answers the last of many moves a little later
    told = drawn.locator(".hoverlayer .legend")
    title = told.locator(".legendtitletext").text_content()
    rows = told.locator(".legendtext").all_text_contents()
    named = dict(row.replace("\u2212", "-").rsplit(" : ", 1) for row in rows)
    x = float(title.replace("\u2212", "-"))
    return x, {name: float(number) for name, number in named.items()}


@pytest.mark.parametrize("share", [0.12, 0.44, 0.81])
def test_the_pointer_reads_out_functions_and_slopes_where_it_is(visit, share):
    page = visit("/activations?act_x=-4.9")
    drawn = figure(page, "activations_curves")
    drawn.scroll_into_view_if_needed()
    settle(page)
    x, told = read_at_pointer(page, drawn, share)
    assert abs(x - (-5 + 10 * share)) < 0.5  # of an axis a little wider
    expected = {}
    for name, label in (
        ("sigmoid", "sigmoid"),
        ("relu", "ReLU"),
        ("gelu", "GELU (erf)"),
    ):
        expected[label] = float(activate(name, np.array(x)))
        expected[f"slope of {label}"] = float(differentiate(name, np.array(x)))
    # Four digits of each, and of x.
    assert told == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_link_means_the_same_to_a_reader_of_the_other_language(visit):
    page = visit("/activations?act_weakness=dead", locale="zh-CN")
    expect(page.get_by_text("6 个神经元中有 1 个")).to_be_visible()
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_role("heading", name="Activation functions")).to_be_visible()
    expect(page.get_by_text("1 of 6 neurons")).to_be_visible()


def test_a_function_keeps_its_colour_when_others_go(visit):
    page = visit("/activations")

    def colour():
        entry = (
            figure(page, "activations_curves")
            .locator(".traces")
            .filter(has_text=re.compile(r"^GELU \(erf\)$"))
        )
        return entry.locator(".legendlines path").first.evaluate(
            "path => getComputedStyle(path).stroke"
        )

    before = colour()
    page.locator(".st-key-act_functions").get_by_text("sigmoid", exact=True).click()
    expect(curves_drawn(page, "activations_curves")).to_have_count(4)
    assert colour() == before


def test_the_best_constant_is_one_click_away(visit):
    page = visit("/activations")
    page.get_by_role("button", name="Taylor", exact=True).click()
    expect(page.get_by_text("Yours, c = 0.045540")).to_be_visible()
    expect(page).to_have_url(re.compile(r"act_constant=0\.04554"))


def test_the_way_to_the_model_is_open_with_choices_in_the_address(visit):
    page = visit("/activations?act_weakness=dead&lang=中文")
    page.locator(".st-key-act_to_masked button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("猜被遮住的词")
    answer = page.get_by_text("精确的 GELU（erf）").first
    expect(answer).to_be_visible(timeout=1000 * ANSWER_SECONDS)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_neuron_is_seen_dying_by_keyboard(visit):
    # Begun near the end: it takes as long as it takes to look at.
    page = visit("/activations?act_weakness=dead&act_step=260")
    slider = page.locator(".st-key-act_step input")
    expect(slider).to_have_value("260")
    page.get_by_role("button", name="Play", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(slider).not_to_have_value("260")
    # It stops by itself, at the end.
    expect(slider).to_have_value("300")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
