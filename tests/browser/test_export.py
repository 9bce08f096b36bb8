"""What is saved from a figure opens without a network."""

import pytest

FIGURE = ".js-plotly-plot"


@pytest.fixture
def figure_page(visit):
    page = visit("/masked_word")
    page.locator(FIGURE).first.wait_for()
    return page


def open_downloads(page):
    popovers = page.get_by_test_id("stPopover").filter(has_text="Download")
    popovers.first.get_by_role("button").first.click()


def test_a_saved_figure_opens_without_a_network(figure_page, new_page, tmp_path):
    open_downloads(figure_page)
    with figure_page.expect_download() as download:
        figure_page.get_by_role("button", name="Figure (HTML").first.click()
    path = tmp_path / "figure.html"
    download.value.save_as(path)

    page = new_page()
    page.context.set_offline(True)
    page.goto(path.as_uri())
    page.locator(f"{FIGURE} svg").first.wait_for()
    assert page.locator(".bars path, .point path").count() > 0


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_camera_button_saves_a_picture(figure_page, tmp_path, kind):
    if kind == "png":
        open_downloads(figure_page)
        figure_page.get_by_role("radio", name="PNG").first.click()
        figure_page.keyboard.press("Escape")
    figure = figure_page.locator(FIGURE).first
    figure.hover()
    with figure_page.expect_download() as download:
        figure_page.locator(f"{FIGURE} [data-title*=Download]").first.click()
    path = tmp_path / "picture"
    download.value.save_as(path)
    start = {"svg": b"<svg", "png": b"\x89PNG"}[kind]
    assert path.read_bytes().startswith(start)


def test_a_table_is_saved_as_csv(figure_page, tmp_path):
    open_downloads(figure_page)
    with figure_page.expect_download() as download:
        figure_page.get_by_role("button", name="Table (CSV)").first.click()
    path = tmp_path / "table.csv"
    download.value.save_as(path)
    header, first, *_ = path.read_text("utf-8-sig").splitlines()
    assert header.count(",") == first.count(",") > 0
