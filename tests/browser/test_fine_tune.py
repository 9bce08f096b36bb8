"""Fine-tuning in a real browser: from a visitor's file to the model in the bag."""

import contextlib
import re
import zipfile

from playwright.sync_api import expect

from tests.app.chinese_model import write_chinese_model
from tests.browser.conftest import LOCALES, open_panel, overflow, said_after, settle
from tests.core.checkpoint_copies import shallow_copy
from tests.locale_words import words_of

EN, ZH = (words_of("fine_tune", language) for language in ("en", "zh"))
TRAINING_SECONDS = 240
UPLOADED = re.compile(r"^model\.zip")  # the name of its file


def chinese_file():
    """As older programs save it: GB18030, tabs."""
    rows = ["评论\t类别"]
    for number in range(48):
        word, kind = ("好", "好评") if number % 2 else ("坏", "差评")
        rows.append(f"第 {number} 盏灯很{word}。\t{kind}")
    return "\n".join(rows).encode("gb18030")


GOOD = ("来信.tsv", chinese_file())
UNREAD = b"id,message\r\n1,When does the choir meet?\r\n2,=1+1 books\r\n3,\r\n"
PHONE = {"width": 390, "height": 900}
LAPTOP = {"width": 1280, "height": 900}
STEPS = ("data", "check", "train", "evaluate", "try", "take")


def upload(page, name, data, place="table"):
    file = {"name": name, "mimeType": "text/csv", "buffer": data}
    box = page.locator(f"[class*='st-key-ft_{place}_'] input[type=file]")
    box.set_input_files(file)


def go(page, key):
    page.locator(f".st-key-ft_go_{key} button").click()


def visit_with(visit, model, query="", **browser):
    """Opens the page with a tiny model, as a link to a folder does: after a click."""
    page = visit(f"/fine_tune?model={model}{query}", **browser)
    page.locator(".st-key-open_linked button").click()
    return page


def test_the_whole_way_from_a_file_to_a_model_that_opens_again(
    visit, server_url, tmp_path
):
    model = write_chinese_model(tmp_path, num_layers=1)
    page = visit_with(visit, model, locale=LOCALES["zh"])
    a_file_beyond_the_limit_is_refused(page, tmp_path)
    come_to_checks(page)
    rows_are_mended_in_the_table(page, tmp_path)
    go(page, "check")
    # The button is gone: a keyboard reads on above all that the step holds.
    expect(page.locator(".st-key-ft_step button:focus")).to_be_visible()
    # It is trained on as it is now.
    page.locator(".st-key-ft_option_epochs input").fill("3")
    page.locator(".st-key-ft_option_epochs input").press("Enter")
    page.wait_for_url("**ft_options=epochs*")
    settle(page)
    page.locator(".st-key-ft_start button").click()
    page.wait_for_url("**ft_run_id=*")
    page.reload()
    settle(page)
    go_on = page.locator(".st-key-ft_go_train button")
    go_on.wait_for(timeout=TRAINING_SECONDS * 1000)
    assert page.get_by_text("3 / 3").is_visible()
    # The run has a copy of the file under another name, and is still of this file.
    again = page.locator(".st-key-ft_again").inner_text()
    assert ZH["train_again"] in again
    go_on.click()

    text, answer = walk_to_the_end(page)
    path = tmp_path / "model.zip"
    take_the_zip(page, path)
    app = words_of("app", "zh")
    link = page.get_by_test_id("stMain").get_by_role("link", name=app["page_attention"])
    link.click()
    # On a busy machine Streamlit's front end may forget to write the choice into the
    # address of the new page, so what counts is the choice itself.
    page.wait_for_url("**/attention*")
    chosen = page.get_by_role("combobox", name=app["model"])
    expect(chosen).to_have_value(re.compile(r"^来信"))
    settle(page)
    page.locator("canvas").first.wait_for()
    assert page.get_by_test_id("stAlertContentError").count() == 0
    open_again(page, server_url, path)
    ask_again(page, text, answer)
    page.get_by_role("link", name=app["page_layers"]).first.click()
    page.wait_for_url("**/layers*")
    expect(page.locator(".walk-strip")).to_be_visible()
    expect(chosen).to_have_value(UPLOADED)
    assert page.get_by_test_id("stAlertContentError").count() == 0


def a_file_beyond_the_limit_is_refused(page, tmp_path):
    """In the reader's language."""
    box = page.locator("[class*='st-key-ft_table_']").first
    limit = box.get_by_test_id("stFileUploaderDropzoneInstructions")
    limit.wait_for()
    # What the box writes itself is English, and of another limit.
    assert said_after(limit) == '"最大 100 MB"'
    assert limit.inner_text() == ""
    box.get_by_role("button", name="选择文件").last.wait_for()
    assert said_after(box) == "none"
    large = tmp_path / "large.csv"
    with large.open("wb") as file:  # a sparse file: nothing is written
        file.truncate(301_000_000)
    box.locator("input[type=file]").set_input_files(large)
    box.locator("[aria-invalid=true]").wait_for()
    assert "没有上传" in said_after(box)


def come_to_checks(page):
    """From a file to what was found in it, with fewer tokens than proposed."""
    upload(page, *GOOD)
    ready = page.get_by_test_id("stAlertContentSuccess")
    ready.wait_for()
    assert "48" in ready.inner_text()
    assert page.locator(".st-key-ft_field_text input").input_value() == "评论"
    go(page, "data")
    page.get_by_role("heading", name=ZH["check_title"]).wait_for()
    cut_before = page.get_by_test_id("stMetricValue").nth(5).inner_text()
    page.get_by_role("slider").nth(1).press("ArrowLeft")
    page.wait_for_url("**ft_max_tokens=*")
    cut = page.get_by_test_id("stMetricValue").nth(5)
    expect(cut).not_to_have_text(cut_before)
    settle(page)


def rows_are_mended_in_the_table(page, tmp_path):
    page.locator(".st-key-ft_mend summary").click()
    grid = page.locator(".st-key-ft_mend canvas").first
    expect(grid).to_be_visible()
    grid.scroll_into_view_if_needed()
    settle(page)
    place = None
    while place != (now := grid.bounding_box()):  # what folds out moves it
        place = now
        page.wait_for_timeout(500)
    take = page.locator(".st-key-ft_mend_take button")
    one = ZH["mend_take"].format(count=1)
    for _ in range(3):
        # By keys, as a click on the box itself ticks it, and one beside it does not.
        # A key that comes before the last one is drawn is passed over.
        page.mouse.click(place["x"] + 0.9 * place["width"], place["y"] + 52)
        for key in ("Home", "Space"):
            page.wait_for_timeout(500)
            page.keyboard.press(key)
        with contextlib.suppress(AssertionError):
            expect(take).to_contain_text(one, timeout=20_000)
            break
    expect(take).to_contain_text(one)
    # Another language asks for no change twice.
    page.get_by_text("English", exact=True).click()
    settle(page)
    # For a moment the old one stands beside the new one.
    expect(take.last).to_contain_text(EN["mend_take"].format(count=1))
    expect(take).to_have_count(1)
    take.click()
    expect(page.get_by_text(EN["mended"].format(count=1))).to_be_visible()
    settle(page)
    for key, name in (("old", "差评"), ("new", "不好")):
        box = page.locator(f".st-key-ft_mend_{key} input")
        box.scroll_into_view_if_needed()
        box.click()  # what is typed before the list has opened may be lost
        expect(page.get_by_role("listbox")).to_be_visible()
        box.fill(name)
        page.get_by_role("option", name=name).click()
        expect(box).to_have_value(name)
        settle(page)
    page.locator(".st-key-ft_mend_rename button").click()
    expect(page.get_by_text(EN["mended"].format(count=2))).to_be_visible()
    path = tmp_path / "mended.csv"
    with page.expect_download() as download:
        page.locator(".st-key-ft_mend_download a").first.click()
    download.value.save_as(path)
    lines = path.read_text("utf-8-sig").split("\n")
    assert lines[:4] == [
        '"评论","类别"',
        "",
        '"第 1 盏灯很好。","好评"',
        '"第 2 盏灯很坏。","不好"',
    ]
    page.locator(".st-key-ft_mend_undo button").click()
    expect(page.get_by_text(EN["mended"].format(count=1))).to_be_visible()
    page.get_by_text("中文", exact=True).click()
    expect(page.get_by_text(ZH["mended"].format(count=1))).to_be_visible()
    settle(page)


def walk_to_the_end(page):
    """Through evaluate and try to take away, each with something to see on a phone.

    Returns:
        A text that was tried, and what the model said of it.
    """
    tried = "", ""
    page.set_viewport_size(PHONE)
    for step in ("evaluate", "try", "take"):
        open_step(page, step, "zh")
        assert overflow(page) <= 0, step
        assert page.get_by_test_id("stAlertContentError").count() == 0
        if step == "try":
            text = page.locator(".st-key-ft_try_text textarea").input_value()
            tried = text, answer_on(page).inner_text()
    page.set_viewport_size(LAPTOP)
    return tried


def take_the_zip(page, path):
    with page.expect_download() as download:
        page.locator(".st-key-ft_take_zip a").click()
    download.value.save_as(path)
    assert download.value.suggested_filename.endswith(".zip")
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
        names = packed.namelist()
    assert any(entry.endswith("model.safetensors") for entry in names)


def answer_on(page):
    """What the model says of the text, with the share that it gives."""
    start = words_of("results", "zh")["says_class"].split("{")[0]
    return page.get_by_text(re.compile(f"^{re.escape(start)}.*%")).first


def open_step(page, step, language="en"):
    """Clicks one of the steps and waits until its page is drawn."""
    number = 1 + STEPS.index(step)
    page.get_by_test_id("stButtonGroup").get_by_text(str(number)).first.click()
    page.wait_for_url(f"**ft_step={step}*")
    texts = words_of("fine_tune", language) | words_of("results", language)
    page.get_by_role("heading", level=2, name=texts[f"{step}_title"]).wait_for()
    settle(page)


def open_again(page, url, path):
    models = words_of("models", "zh")
    page.goto(f"{url}/models")
    settle(page)
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name=models["add_it"]).click()
    heading = models["chosen"].format(model=path.name)
    page.get_by_role("heading", name=heading).wait_for()


def ask_again(page, text, answer):
    """The model that was loaded says of a text what it said before."""
    page.locator(".st-key-ft_to_try button").click()
    page.wait_for_url("**/fine_tune*")
    box = page.locator(".st-key-ft_try_text textarea")
    box.wait_for()
    settle(page)
    assert box.input_value() != text
    box.fill(text)
    box.press("Control+Enter")
    page.wait_for_url("**ft_try_text=*")
    settle(page)
    expect(answer_on(page)).to_have_text(answer)


def epochs_done(page):
    """Of "7 / 500" in the first box of a run's numbers."""
    return int(page.get_by_test_id("stMetricValue").first.inner_text().split("/")[0])


def test_a_training_goes_on_while_its_tab_is_closed_and_after_a_stop(visit, tmp_path):
    """Begun on a phone, where no step scrolls sideways."""
    query = "&ft_table=sample%3Alibrary_en&ft_level=full"
    options = "&ft_options=epochs%3A500&ft_options=patience%3A0"
    model = shallow_copy(tmp_path, num_layers=1)
    page = visit_with(visit, model, query + options, width=390)
    page.get_by_test_id("stHeading").nth(1).wait_for()
    assert overflow(page) <= 0
    for step in ("check", "train"):
        open_step(page, step)
        assert overflow(page) <= 0, step
    page.locator(".st-key-ft_start button").click()
    said = EN  # what the button says when there is an epoch to keep
    page.get_by_role("button", name=said["stop"]).wait_for(
        timeout=TRAINING_SECONDS * 1000
    )
    before = epochs_done(page)
    link = page.url[page.url.index("/fine_tune") :]
    assert "ft_run_id=" in link
    page.close()

    page = visit(link, width=390)
    stop = page.get_by_role("button", name=said["stop"])
    stop.wait_for(timeout=TRAINING_SECONDS * 1000)
    assert epochs_done(page) >= before
    # No accident, no second beginning.
    restarted = said["restarted"].split("{")[0]
    assert page.get_by_test_id("stMain").get_by_text(restarted).count() == 0
    page.set_viewport_size(LAPTOP)
    page.get_by_role("link", name="Activations").first.click()
    page.wait_for_url("**/activations*")
    page.get_by_role("link", name="Fine-tune").first.click()
    stop.click(timeout=TRAINING_SECONDS * 1000)
    page.wait_for_url("**ft_step=evaluate*", timeout=TRAINING_SECONDS * 1000)
    settle(page)
    assert page.get_by_test_id("stAlertContentError").count() == 0
    a_click_anywhere_in_a_cell_shows_its_rows(page)
    open_step(page, "try")
    a_file_is_predicted_and_taken_away_without_formulas(page)
    open_step(page, "train")
    # A passing notice says so, too.
    ended = page.get_by_test_id("stAlertContentSuccess")
    ended.get_by_text(said["ended_stopped"]).wait_for()
    page.locator(".st-key-ft_go_train button").wait_for()

    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name=said["go_on"]).wait_for()
    page.get_by_role("button", name=said["go_on"]).click()
    stop.wait_for(timeout=TRAINING_SECONDS * 1000)
    other.get_by_role("button", name=said["stop"]).wait_for()  # a second tab follows
    other.close()
    log = page.locator(".st-key-ft_log")
    log.get_by_text("goes on after step").wait_for(timeout=TRAINING_SECONDS * 1000)
    expect(log).to_have_attribute(
        "tabindex", "0"
    )  # what scrolls is reached by keyboard
    stop.click()  # it would go on for others, too
    page.wait_for_url("**ft_step=evaluate*", timeout=TRAINING_SECONDS * 1000)


def a_click_anywhere_in_a_cell_shows_its_rows(page):
    texts = words_of("results")
    open_panel(page, texts["panel_confusion"])
    page.get_by_text(texts["confusion_intro"].split(" **")[0]).wait_for()
    settle(page)
    # For a moment the part before stands beside this one.
    matrix = page.locator(".js-plotly-plot .nsewdrag")
    expect(matrix).to_have_count(1)
    matrix.scroll_into_view_if_needed()
    box = matrix.bounding_box()
    # Away from the middle of the cell in the last row and the second column of four.
    x, y = box["x"] + box["width"] * 1.2 / 4, box["y"] + box["height"] * 3.8 / 4
    page.mouse.move(x, y)
    page.locator(".hoverlayer .hovertext").wait_for()
    page.mouse.click(x, y)
    heading = texts["cell_wrong"].strip("*")
    heading = heading.format(true="rooms", said="loans", count=0).split("(")[0]
    page.get_by_text(heading).first.wait_for()


def a_file_is_predicted_and_taken_away_without_formulas(page):
    file = {"name": "new.csv", "mimeType": "text/csv", "buffer": UNREAD}
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
