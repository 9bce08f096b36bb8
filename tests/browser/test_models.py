"""Models in a real browser: bring one along, by zip file and by path.

What a visitor types is shown letter for letter, by the browser itself.
"""

import io
import re
import textwrap
import zipfile

from playwright.sync_api import expect

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from tests.app.test_markdown import NASTY
from tests.browser.conftest import ROOT, overflow, settle

TINY = ROOT / "tests" / "data" / "checkpoints" / "hf_tiny"


def zipped(folder, prefix=""):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"{prefix}{path.name}")
    return data.getvalue()


def upload(page, name, data):
    file = {"name": name, "mimeType": "application/zip", "buffer": data}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Add this model").click()


def title(page, model):
    return page.get_by_role("heading", name=f"The chosen model: {model}")


def test_models_are_brought_along_found_again_and_looked_into(visit, tmp_path):
    page = visit("/models")
    a_weight_is_found_by_its_name_and_saved(page)
    upload(page, "broken.zip", b"PK")
    expect(page.get_by_text("broken.zip is not a zip file")).to_be_visible()
    name = "my-tiny-bert.zip"
    upload(page, name, zipped(TINY))
    expect(title(page, name)).to_be_visible()
    assert "model=upload" in page.url
    page.reload()
    expect(title(page, name)).to_be_visible()
    again = visit("/models", width=390)
    again.locator("strong", has_text=name).first.wait_for()
    again.get_by_text("To choose it by typing: upload:").first.wait_for()
    again.locator("[data-testid=stFileUploader]").wait_for()
    settle(again)
    assert overflow(again) <= 0
    a_typed_path_is_opened_and_a_wrong_one_offers_the_default(page, tmp_path)


def a_weight_is_found_by_its_name_and_saved(page):
    page.locator("summary").filter(has_text="All weights").click()
    box = page.get_by_label("Filter")
    box.fill("output_norm/gamma")
    box.press("Enter")
    expect(page.get_by_text(re.compile(r"^6 of \d+ weight arrays"))).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save its numbers").click()
    assert waiting.value.suggested_filename.endswith("output_norm.gamma.npy")


def take_from_list(page, box, name):
    """Types a name into a box with a list and chooses it there.

    What is typed before the list has opened may be lost, and a scroll closes the list
    again, also the one that brings the box into view: so that comes first.
    """
    box.scroll_into_view_if_needed()
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame("
        "() => requestAnimationFrame(() => done())))"
    )
    box.click()
    page.get_by_role("option").first.wait_for()
    box.fill(name)
    page.get_by_role("option").filter(has_text=name).first.click()
    expect(box).to_have_value(name)
    settle(page)


def a_typed_path_is_opened_and_a_wrong_one_offers_the_default(page, tmp_path):
    settle(page)
    page.get_by_role("tab", name="Folder or zip").click()
    page.locator(".st-key-model_path input").fill(str(TINY))
    page.get_by_role("button", name="Open it").click()
    expect(title(page, TINY)).to_be_visible()
    # What the visitor types into the list asks for no click.
    take_from_list(page, page.locator(".st-key-model input"), str(tmp_path))
    page.get_by_test_id("stAlertContentError").wait_for()
    page.get_by_role("button", name=f"Use {DEFAULT_MODEL} instead").click()
    expect(title(page, DEFAULT_MODEL)).to_be_visible()
    an_error_shows_nasty_text_as_text(page)


# Elements that Markdown, HTML or Streamlit's extras would make of the text.
MADE = (
    "a, strong, em, del, code, img, script, h1, h2, ul, ol, blockquote, table, "
    ".katex, [role=img], [data-testid=stIconMaterial]"
)


def an_error_shows_nasty_text_as_text(page):
    alert = page.locator("[data-testid=stAlertContentError] p").first
    # An error shortens what is longer than this.
    for some in textwrap.wrap(" ".join(NASTY), 70, break_long_words=False):
        settle(page)
        # A path, so that nobody takes it for the name of a model on the hub.
        text = "/" + some
        page.get_by_role("tab", name="Folder or zip").click()
        page.locator(".st-key-model_path input").fill(text)
        page.get_by_role("button", name="Open it").click()
        page.wait_for_function(
            "([p, text]) => p.textContent.replaceAll('\\u2060', '').includes(text)",
            arg=[alert.element_handle(), " ".join(text.split())],
        )
        assert alert.locator(MADE).count() == 0
        page.get_by_role("button", name=f"Use {DEFAULT_MODEL} instead").click()
        expect(title(page, DEFAULT_MODEL)).to_be_visible()
