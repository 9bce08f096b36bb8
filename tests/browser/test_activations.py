"""The activations page in a real browser: formulas, sliders, address, languages."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertviz_core.analysis.activations import activate, differentiate
from tests.browser.conftest import overflow, settle

# The figures and the formulas of each part, in their order: a function and a slope on
# each of three cards, three steps back in both networks, nine and five of a derivation.
DRAWN = {
    "curves": (1, 6),
    "vanishing": (1, 0),
    "centre": (2, 0),
    "dead": (2, 6),
    "collapse": (1, 0),
    "gelu": (1, 9),
    "approximation": (2, 5),
}


def curves(page):
    return page.locator(".st-key-activations_curves_figure .js-plotly-plot")


def choose_function(page, name, num_curves):
    settle(page)
    choice = page.locator(".st-key-act_functions")
    choice.get_by_text(name, exact=True).click()
    expect(curves(page).locator(".legendtext")).to_have_count(num_curves)
    settle(page)


def test_every_formula_and_figure_is_drawn_and_fits_a_phone(visit):
    page = visit("/activations", width=390)
    formulas = page.locator(".katex-display")
    choices = page.locator(".st-key-act_part").get_by_role("radio")
    for index, (num_figures, num_formulas) in enumerate(DRAWN.values()):
        choices.nth(index).click()
        expect(page.locator(".js-plotly-plot")).to_have_count(num_figures)
        settle(page)
        folded = page.locator("details:not([open]) > summary")
        for _ in range(200):  # some fold only now, others are drawn anew
            if folded.count():
                folded.first.click()
            elif formulas.count() == num_formulas:
                break
            page.wait_for_timeout(100)
        expect(formulas).to_have_count(num_formulas)
        # What KaTeX does not know it writes in this colour.
        wrong = ".katex-error, .katex [style*='#cc0000'], [data-testid=stException]"
        expect(page.locator(wrong)).to_have_count(0)
        assert overflow(page) <= 0
        for drawn in page.locator(".js-plotly-plot, .katex-display .katex-html").all():
            box = drawn.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390


def colour_of_gelu(page):
    entry = (
        curves(page).locator(".traces").filter(has_text=re.compile(r"^GELU \(erf\)$"))
    )
    return entry.locator(".legendlines path").first.evaluate(
        "path => getComputedStyle(path).stroke"
    )


# What stands beside the pointer, once that is where it was moved to: plotly answers
# the last of many moves a little later.
READ_OUT = """place => {
  const told = document.querySelector('.st-key-activations_curves_figure .hoverlayer')
  const read = (name) => [...told.querySelectorAll(`.legend .${name}`)]
    .map((text) => text.textContent.replaceAll('\u2212', '-'))
  const [title] = read('legendtitletext')
  return Math.abs(Number(title) - place) < 0.5 && [title, ...read('legendtext')]
}"""


def test_the_pointer_reads_out_functions_and_clicks_draw_them_and_a_reload_keeps_them(
    visit,
):
    page = visit("/activations?act_x=-4.9")
    curves(page).locator(".legendtext").first.wait_for()
    settle(page)
    curves(page).scroll_into_view_if_needed()
    area = curves(page).locator(".nsewdrag").first.bounding_box()
    for share in (0.12, 0.44, 0.81):
        page.mouse.move(
            area["x"] + share * area["width"], area["y"] + 0.5 * area["height"], steps=4
        )
        # The axis is a little wider than from -5 to 5.
        read = page.wait_for_function(READ_OUT, arg=-5 + 10 * share)
        title, *rows = read.json_value()
        x = float(title)
        expected = {}
        for name, label in (
            ("sigmoid", "sigmoid"),
            ("relu", "ReLU"),
            ("gelu", "GELU (erf)"),
        ):
            expected[label] = float(activate(name, np.array(x)))
            expected[f"slope of {label}"] = float(differentiate(name, np.array(x)))
        # Four digits of each, and of x.
        named = dict(row.rsplit(" : ", 1) for row in rows)
        found = {name: float(value) for name, value in named.items()}
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)
    page.mouse.move(0, 0)
    expect(curves(page).locator(".legendtext")).to_have_count(6)
    colour = colour_of_gelu(page)
    choose_function(page, "swish", 8)
    slider = page.locator(".st-key-act_swish").get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"act_swish=1\.01"))
    # A function keeps its colour when others go.
    choose_function(page, "sigmoid", 6)
    assert colour_of_gelu(page) == colour
    choose_function(page, "sigmoid", 8)
    parts = page.locator(".st-key-act_part")
    parts.get_by_text("GELU with tanh").click()
    page.get_by_role("button", name="Taylor", exact=True).click()
    expect(page.get_by_text("Yours, c = 0.045540")).to_be_visible()
    expect(page).to_have_url(re.compile(r"act_constant=0\.04554"))
    settle(page)
    parts.get_by_text("Dead ReLUs").click()
    expect(page).to_have_url(re.compile("act_part=dead"))
    expect(page.get_by_text("1 of 6 neurons")).to_be_visible()

    page.reload()
    settle(page)
    expect(page.get_by_text("1 of 6 neurons")).to_be_visible()
    parts.get_by_text("The functions").click()
    expect(curves(page).locator(".legendtext")).to_have_count(8)
    expect(slider).to_have_value("1.01")
