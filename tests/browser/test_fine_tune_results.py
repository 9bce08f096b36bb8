"""What a trained model is good for, in a real browser: clicks, files, phones."""

import json
import re
import zipfile

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROOT, overflow, settle
from tests.browser.test_fine_tune import open_step

TRAINING_SECONDS = 240
FILE = b"id,message\r\n1,When does the choir meet?\r\n2,=1+1 books\r\n3,\r\n"


def words(page):
    path = ROOT / "assets" / "locales" / "en" / f"{page}.json"
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def run(server_url, browser):
    """The id of a training of the sample that has ended."""
    context = browser.new_context(locale="en-US")
    context.set_default_timeout(TRAINING_SECONDS * 1000)
    page = context.new_page()
    address = "/fine_tune?ft_step=train&ft_table=sample%3Alibrary_en&ft_level=head"
    page.goto(f"{server_url}{address}&ft_options=epochs%3A4")
    page.locator(".st-key-ft_start button").click()
    page.locator(".st-key-ft_go_train button").wait_for()
    found = re.search(r"ft_run_id=([0-9a-f]{32})", page.url)[1]
    context.close()
    return found


def test_a_click_anywhere_in_a_cell_shows_its_rows(visit, run):
    panel = "ft_step=evaluate&ft_eval_panel=confusion"
    page = visit(f"/fine_tune?ft_run_id={run}&{panel}")
    matrix = page.locator(".js-plotly-plot .nsewdrag")
    matrix.wait_for()
    matrix.scroll_into_view_if_needed()
    box = matrix.bounding_box()
    # Away from the middle of the cell in the last row and the second column of four.
    x, y = box["x"] + box["width"] * 1.2 / 4, box["y"] + box["height"] * 3.8 / 4
    page.mouse.move(x, y)
    page.locator(".hoverlayer .hovertext").wait_for()
    page.mouse.click(x, y)
    page.wait_for_url(re.compile("(?=.*ft_eval_said=1)(?=.*ft_eval_true=3)"))
    heading = words("fine_tune_results")["cell_wrong"].strip("*")
    heading = heading.format(true="rooms", said="loans", count=0).split("(")[0]
    page.get_by_text(heading).first.wait_for()


def test_a_file_is_predicted_and_taken_away_without_formulas(visit, run):
    page = visit(f"/fine_tune?ft_run_id={run}&ft_step=try")
    file = {"name": "new.csv", "mimeType": "text/csv", "buffer": FILE}
    page.locator("[class*='st-key-ft_try_table_'] input[type=file]").set_input_files(
        file
    )
    page.locator(".st-key-job_ft_try_table_start button").click()
    link = page.locator(".st-key-ft_try_table_download a").first
    link.wait_for()
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "new-predictions.csv"
    lines = download.value.path().read_text("utf-8-sig").splitlines()
    assert lines[0].startswith("id,message,predicted,p(events)")
    assert len(lines) == 4
    assert lines[2].startswith("2,'=1+1 books,")
    assert lines[3] == "3,,,,,,"


def test_the_zip_is_taken_away_without_a_copy_in_memory(visit, server, run):
    page = visit(f"/fine_tune?ft_run_id={run}&ft_step=take")
    link = page.locator(".st-key-ft_take_zip a")
    link.wait_for()
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    with page.expect_download() as download:
        link.click()
    path = download.value.path()
    assert path.stat().st_size > 3e7
    assert process.memory_info().rss - before < 1e7
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
    assert download.value.suggested_filename.endswith(".zip")
    assert page.get_by_test_id("stAlertContentError").count() == 0


def test_the_trained_model_opens_on_another_page(visit, run):
    page = visit(f"/fine_tune?ft_run_id={run}&ft_step=take")
    settle(page)
    title = words("app")["page_attention"]
    link = page.get_by_test_id("stMain").get_by_role("link", name=title)
    link.click()
    # On a busy machine Streamlit's front end may forget to write the choice into the
    # address of the new page, so what counts is the choice itself.
    page.wait_for_url(re.compile("/attention"))
    trained = words("fine_tune")["sample_en"]
    expect(page.get_by_role("combobox", name="Model")).to_have_value(trained)
    settle(page)
    page.locator("canvas").first.wait_for()
    assert page.get_by_test_id("stAlertContentError").count() == 0


def test_no_step_scrolls_sideways_on_a_phone(visit, run):
    page = visit(f"/fine_tune?ft_run_id={run}", width=390, locale="zh-CN")
    for step in ("evaluate", "try", "take"):
        open_step(page, step, "zh")
        assert overflow(page) <= 0, step
        assert page.get_by_test_id("stAlertContentError").count() == 0
