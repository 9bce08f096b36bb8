"""A tiny BERT learns in a real browser."""

from playwright.sync_api import expect

from tests.browser.conftest import settle


def test_it_is_stopped_or_learns_to_its_end_and_one_can_go_back(visit, server_url):
    page = visit("/pretraining?pretraining_steps=1000")
    start = page.get_by_role("button", name="Let it learn")
    cancel = page.locator(".st-key-job_pretrain_tiny_cancel button")
    start.click()
    cancel.click()
    page.get_by_text("Stopped").first.wait_for()
    expect(page.get_by_test_id("stException")).to_have_count(0)

    page.goto(f"{server_url}/pretraining?pretraining_steps=100")
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
