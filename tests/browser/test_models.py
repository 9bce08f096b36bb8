"""Models in a real browser: bring one along, by zip file and by path."""

import io
import zipfile

from playwright.sync_api import expect

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from tests.browser.conftest import ROOT, overflow, settle
from tests.core.checkpoint_copies import hf_copy, weights_of_hf

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


def test_an_uploaded_model_is_opened_and_survives_a_reload(visit):
    page = visit("/models")
    upload(page, "tiny.zip", zipped(TINY))
    page.get_by_role("heading", name="The chosen model: tiny.zip").wait_for()
    assert "model=upload" in page.url
    page.reload()
    settle(page)
    page.get_by_role("heading", name="The chosen model: tiny.zip").wait_for()


def test_a_file_of_another_kind_is_refused_in_our_words(visit):
    page = visit("/models", locale="zh-CN")
    file = {"name": "setup.exe", "mimeType": "application/x-msdownload", "buffer": b"M"}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_test_id("stFileChip").hover()
    expect(page.get_by_test_id("stTooltipErrorContent")).to_be_attached()
    assert page.get_by_text("not allowed").count() == 2
    expect(page.get_by_text("not allowed").filter(visible=True)).to_have_count(0)
    assert "没有上传" in page.get_by_test_id("stMain").aria_snapshot()


def test_weights_that_are_no_numbers_change_nothing(visit, tmp_path):
    weights = weights_of_hf()
    weights["bert.pooler.dense.weight"][0, 0] = float("nan")
    page = visit("/models")
    upload(page, "broken.zip", zipped(hf_copy(tmp_path, weights)))
    alert = page.get_by_test_id("stAlertContentError")
    alert.wait_for()
    assert "not finite" in alert.inner_text()
    assert page.locator("strong", has_text="broken.zip").count() == 0
    assert page.get_by_role(
        "heading", name=f"The chosen model: {DEFAULT_MODEL}"
    ).is_visible()


def test_a_hostile_zip_is_a_sentence_and_the_model_stays(visit):
    page = visit("/models")
    upload(page, "evil.zip", zipped(TINY, prefix="../../"))
    alert = page.get_by_test_id("stAlertContentError")
    alert.wait_for()
    assert "outside its folder" in alert.inner_text()
    assert page.get_by_role(
        "heading", name=f"The chosen model: {DEFAULT_MODEL}"
    ).is_visible()


def test_a_path_is_opened_and_a_wrong_one_offers_the_default(visit):
    page = visit("/models")
    page.get_by_role("tab", name="Folder or zip").click()
    page.locator(".st-key-model_path input").fill(str(TINY))
    page.get_by_role("button", name="Open it").click()
    page.get_by_role("heading", name=f"The chosen model: {TINY}").wait_for()

    page.goto(page.url.replace("hf_tiny", "nowhere"))
    settle(page)
    page.get_by_test_id("stAlertContentError").wait_for()
    page.get_by_role("button", name=f"Use {DEFAULT_MODEL} instead").click()
    page.get_by_role("heading", name=f"The chosen model: {DEFAULT_MODEL}").wait_for()
    assert f"model={DEFAULT_MODEL}" in page.url


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


def test_a_name_on_the_hub_is_chosen_or_typed(visit):
    page = visit("/models")
    for name in ("bert-base-cased", "somebody/else"):
        page.get_by_role("tab", name="From the Hugging Face hub").click()
        take_from_list(page, page.locator(".st-key-model_hub input"), name)
        page.get_by_role("button", name="Look for it").click()
        page.get_by_text(f"The model {name} is not on this machine").wait_for()
        page.get_by_role("button", name=f"Use {DEFAULT_MODEL} instead").click()
        page.get_by_role(
            "heading", name=f"The chosen model: {DEFAULT_MODEL}"
        ).wait_for()


def test_the_long_name_of_an_upload_fits_on_a_phone(visit):
    upload(visit("/models"), "my-tiny-bert.zip", zipped(TINY))
    page = visit("/models", width=390)
    page.get_by_text("To choose it by typing: upload:").first.wait_for()
    page.locator("[data-testid=stFileUploader]").wait_for()
    assert overflow(page) <= 0


def test_an_upload_is_found_again_by_the_next_visit(visit):
    page = visit("/models")
    upload(page, "my-tiny-bert.zip", zipped(TINY))
    page.get_by_role("heading", name="The chosen model: my-tiny-bert.zip").wait_for()
    again = visit("/models")
    again.locator("strong", has_text="my-tiny-bert.zip").first.wait_for()
