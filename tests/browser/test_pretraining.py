"""A tiny BERT learns in a real browser."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import overflow, settle


def test_it_is_stopped_or_learns_to_its_end_and_one_can_go_back(visit):
    page = visit("/pretraining?pretraining_steps=1000&objective_part=anew")
    start = page.get_by_role("button", name="Let it learn")
    cancel = page.locator(".st-key-job_pretrain_tiny_cancel button")
    start.click()
    cancel.click()
    page.get_by_text("Stopped").first.wait_for()
    expect(page.get_by_test_id("stException")).to_have_count(0)

    settle(page)
    page.locator(".st-key-pretraining_steps").get_by_role("slider").press("Home")
    expect(page).to_have_url(
        re.compile("pretraining_steps=100&|pretraining_steps=100$")
    )
    settle(page)
    start.click()
    cancel.wait_for()
    # Its guesses and the curve come while it still learns.
    page.locator(".js-plotly-plot").first.wait_for(timeout=90_000)
    slider = page.get_by_role("slider", name="Go back to step")
    slider.wait_for(timeout=90_000)
    settle(page)
    expect(slider).to_have_attribute("aria-valuetext", "100")
    after = page.locator("main").inner_text()
    slider.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "80")
    expect(page.locator("main")).not_to_have_text(after, use_inner_text=True)


def test_the_objective_is_drawn_again_and_a_link_keeps_the_draw(visit):
    page = visit("/pretraining?objective_rate=50", width=390)
    box = page.get_by_role("spinbutton", name=re.compile("Seed")).last
    losses = page.locator("main .js-plotly-plot").first
    expect(losses).to_be_visible()
    settle(page)
    before = losses.inner_text()
    box.fill("7")
    box.press("Enter")
    expect(losses).not_to_have_text(before, use_inner_text=True)
    expect(page).to_have_url(re.compile("objective_seed=7"))
    settle(page)
    drawn = losses.inner_text()
    page.reload()
    expect(losses).to_have_text(drawn, use_inner_text=True)
    a_part_fits_a_phone(page, "Dropping")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("radio", name="中文").click()
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    a_part_fits_a_phone(page, "跳过")


def a_part_fits_a_phone(page, name):
    """And draws its figures when it is chosen."""
    choice = page.get_by_test_id("stButtonGroup").get_by_text(re.compile(name))
    choice.wait_for()
    settle(page)
    assert overflow(page) <= 0
    choice.click()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.get_by_test_id("stException")).to_have_count(0)
