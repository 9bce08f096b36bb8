"""A tiny BERT learns in a real browser, in both languages."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settle

WORDS = {
    "en": ("/pretraining?pretraining_steps=100", "Let it learn", "Go back to step"),
    "zh": ("/pretraining?lang=中文&pretraining_steps=100", "让它学", "回到第几步"),
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_sees_it_learn_and_can_go_back(visit, language):
    address, start, back = WORDS[language]
    page = visit(address)
    page.get_by_role("button", name=start).click()
    page.locator(".st-key-job_pretrain_tiny_cancel").wait_for()
    # Its guesses and the curve come while it still learns.
    page.locator(".js-plotly-plot").first.wait_for(timeout=90_000)
    slider = page.get_by_role("slider", name=back)
    slider.wait_for(timeout=90_000)
    settle(page)
    assert slider.get_attribute("aria-valuetext") == "100"
    after = page.locator("main").inner_text()
    slider.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "80")
    settle(page)
    assert page.locator("main").inner_text() != after


def test_a_run_can_be_stopped(visit):
    page = visit("/pretraining?pretraining_steps=1000")
    page.get_by_role("button", name="Let it learn").click()
    page.locator(".st-key-job_pretrain_tiny_cancel button").click()
    page.get_by_text("Stopped").first.wait_for(timeout=60_000)
    page.get_by_role("button", name="Let it learn").wait_for()
    assert not page.get_by_test_id("stException").count()
