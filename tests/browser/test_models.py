"""Models in a real browser: bring one along, by zip file and by path."""

import io
import zipfile

from playwright.sync_api import expect

from bertviz_core.checkpoints.default import DEFAULT_MODEL
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


def test_an_uploaded_model_survives_a_reload_is_found_again_and_fits_a_phone(visit):
    page = visit("/models")
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


def test_a_typed_path_is_opened_and_a_wrong_one_offers_the_default(visit, tmp_path):
    page = visit("/models")
    page.get_by_role("tab", name="Folder or zip").click()
    page.locator(".st-key-model_path input").fill(str(TINY))
    page.get_by_role("button", name="Open it").click()
    expect(title(page, TINY)).to_be_visible()
    # What the visitor types into the list asks for no click.
    take_from_list(page, page.locator(".st-key-model input"), str(tmp_path))
    page.get_by_test_id("stAlertContentError").wait_for()
    page.get_by_role("button", name=f"Use {DEFAULT_MODEL} instead").click()
    expect(title(page, DEFAULT_MODEL)).to_be_visible()
