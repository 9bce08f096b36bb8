"""Choosing, inspecting and adding models, with a scripted engine."""

import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import JobStatus
from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.reference import ReferenceCheck
from bertviz_core.trace import ModelEntry
from pages.shared import answers, models
from tests.app.real_pages import choose, click

UNKNOWN = "someone/unknown-bert"


def flat(text):
    return text.replace("\\", "")


def test_the_default_comes_first_reads_the_language_and_is_in_the_link(
    open_app, client
):
    client.entries.reverse()
    for locale, expected in (("en-GB", DEFAULT_MODEL), ("zh-CN", DEFAULT_MODEL)):
        picker = open_app(locale=locale).selectbox(key="model")
        assert picker.value == picker.options[0] == expected
    bundled = ModelEntry("bundled-zh", "bundled-zh", "bundled", "zh", 7_000_000)
    client.entries.append(bundled)
    answers.forget_models()
    picker = open_app(locale="zh-CN").selectbox(key="model")
    assert picker.value == picker.options[0] == "bundled-zh"
    app = open_app()
    assert app.query_params["model"] in (DEFAULT_MODEL, [DEFAULT_MODEL])
    again = open_app(locale="zh-CN", **app.query_params)
    assert again.selectbox(key="model").value == DEFAULT_MODEL
    choose(app, model="small-zh")
    assert app.query_params["model"] in ("small-zh", ["small-zh"])


def test_a_model_that_cannot_be_opened_is_a_sentence_and_a_way_out(open_app):
    app = open_app("models", model="/no/such/folder")
    assert "/no/such/folder" in flat(app.error[0].value)
    assert app.title[0].value == "Models"
    app.button[0].click().run()
    assert not app.error
    assert app.selectbox(key="model").value == DEFAULT_MODEL


@pytest.fixture
def open_link(open_app, client, monkeypatch, paths_open_unasked):
    """Opens the app as a visitor does, whom a path in the address makes wonder."""
    monkeypatch.setattr(models, "_require_click", paths_open_unasked)
    listed = tuple(client.entries)
    monkeypatch.setattr(client, "models", lambda: listed)
    for model in ("/a/folder", f"upload:{'1' * 16}", f"run:{'2' * 32}"):
        client.entries.append(ModelEntry(model, model, "folder"))
    return open_app


@pytest.mark.parametrize("path", ["/a/folder", " /a/folder"])
def test_a_link_opens_a_path_only_after_a_click(open_link, client, path):
    app = open_link("models", model=path)
    assert "/a/folder" in flat(app.warning[0].value)
    app.button[1].click().run()  # declined
    assert app.selectbox(key="model").value == DEFAULT_MODEL
    app = open_link("models", model=path).run()
    assert ("info", "/a/folder") not in client.calls
    click(app, "open_linked")
    assert ("info", "/a/folder") in client.calls
    assert not app.warning
    assert not open_link("models", model=path).warning  # a reload


@pytest.mark.parametrize("model", ["small-zh", f"upload:{'1' * 16}", f"run:{'2' * 32}"])
def test_a_link_to_what_is_no_path_asks_for_no_click(open_link, client, model):
    assert not open_link("models", model=model).warning
    assert ("info", model) in client.calls


def test_a_path_that_a_visitor_types_asks_for_no_click(open_link, client):
    app = open_link("models")
    choose(app, model_path="/a/folder")
    click(app, "add_path")
    assert ("info", "/a/folder") in client.calls
    assert not app.warning


def test_the_way_to_add_a_model_stays_open_in_another_language(open_app):
    app = open_app("models")
    app.session_state["model_tab"] = "From the Hugging Face hub"
    app.run()
    app.get_by_key("lang").set_value("中文").run()
    assert app.session_state["model_tab"] == "从 Hugging Face 下载"
    assert [tab.label for tab in app.tabs][-1] == "从 Hugging Face 下载"


def test_a_server_for_strangers_opens_no_path_and_offers_uploads_only(
    open_app, client, monkeypatch
):
    assert len(open_app("models").tabs) == 3  # on a laptop
    asked = client.count("info")
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")
    for model in ("/etc", UNKNOWN):
        app = open_app("models", model=model)
        assert "list" in app.error[0].value
    assert client.count("info") == asked
    assert client.count("start") == 0
    assert [tab.label for tab in open_app("models").tabs] == ["Upload a zip file"]


def test_a_server_for_strangers_opens_a_listed_model_without_its_revision(
    open_app, client, monkeypatch
):
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")
    client.entries.append(ModelEntry(f"{UNKNOWN}@{'ab' * 20}", UNKNOWN, "cached"))
    app = open_app("models", model=UNKNOWN)
    assert ("info", UNKNOWN) in client.calls
    assert client.count("start") == 0
    assert not any("This server opens" in error.value for error in app.error)


def test_a_download_is_asked_for_cancelled_and_tried_again(open_app, client):
    app = open_app("models", model=UNKNOWN)
    assert UNKNOWN in flat(app.info[0].value)
    assert client.count("start") == client.count("info") == 0

    def start():
        click(app, "job_download_start")
        assert app.progress[0].value == 25

    start()
    assert ("start", "download_model", UNKNOWN) in client.calls
    click(app, "job_download_cancel")
    assert ("cancel", "job-1") in client.calls
    assert "cancelled" in app.info[0].value
    start()
    error = CheckpointError("The model {model} is gone. Choose another.", model="m_1")
    client.jobs["job-1"] = JobStatus("job-1", "failed", 0.5, error=error)
    assert "The model m_1 is gone" in flat(app.run().error[0].value)
    start()
    client.broken["job"] = CheckpointError("This long task is not known any more.")
    assert "not known" in app.run().error[0].value
    del client.broken["job"]
    assert app.run().button(key="job_download_start")


@pytest.mark.parametrize("asked", [UNKNOWN, f"{UNKNOWN}@v2"])
def test_a_finished_download_chooses_the_weights_that_came(open_app, client, asked):
    app = open_app("models", model=asked)
    click(app, "job_download_start")
    pinned = f"{UNKNOWN}@{'ab' * 20}"
    entry = ModelEntry(pinned, UNKNOWN, "cached")
    client.entries.append(entry)
    client.jobs["job-1"] = JobStatus("job-1", "done", 1.0, result=entry)
    app.run()
    assert app.selectbox(key="model").value == pinned
    assert ("info", pinned) in client.calls
    assert not app.info


def test_the_report_says_what_was_loaded_and_what_is_absent(open_app, shown):
    app = open_app("models")
    said = shown(app)
    assert "Masked-word head" in said
    assert "No trained next-sentence head" in said
    assert "No trained pooler" in said
    assert "means the exact curve (erf)" in flat(said)
    assert "loaded: 1" in said
    assert "extra_*weights*" in said
    assert "12.3 M" in [metric.value for metric in app.metric]
    for name in ("hidden_size", "num_attention_heads", "pre_norm"):
        assert f"| {name} |" in flat(said)


def test_the_differences_from_the_reference_are_told(open_app, client, shown):
    assert "transformers" not in shown(open_app("models"))
    far = {"hidden_states": 3.25e-6, "nsp_logits": 1.5e-7}
    client.reference = ReferenceCheck(
        "transformers 9.9",
        "2030-01-31",
        ("[CLS]", "*a*"),
        far,
        {**far, "nsp_logits": 4},
    )
    answers.forget_models()
    app = open_app("models")
    text = flat(shown(app))
    assert "at most 3.2e-06 apart" in text
    assert "On 2030-01-31, transformers 9.9 read 2 tokens" in text
    assert "| nsp_logits | 1.5e-07 | 4 |" in text
    assert "[CLS] *a*" in text


@pytest.mark.parametrize("kind", ["", "listed"])
def test_an_upload_goes_by_its_name_until_it_is_removed(
    open_app, client, monkeypatch, shown, tmp_path, kind
):
    monkeypatch.setenv("BERTVIZ_MODELS", kind)
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    app, name = open_app("models"), "my cased*bert.zip"
    app.file_uploader[0].upload(name, b"PK-not-really").run()
    click(app, "add_upload")
    assert client.uploaded == b"PK-not-really"
    assert tmp_path in client.uploaded_from.parents
    assert client.uploaded_from.name == "my_cased_bert.zip"
    assert list((tmp_path / "incoming").iterdir()) == []
    model = f"upload:{'0' * 16}"
    assert app.selectbox(key="model").value == model
    assert flat(app.header[0].value).endswith(f": {name}")
    assert name in app.selectbox(key="model").options
    assert "512 kB" in app.sidebar.caption[0].value
    click(app, f"remove_{model}")
    assert ("remove_upload", model) in client.calls
    assert app.selectbox(key="model").value == DEFAULT_MODEL
    assert name not in flat(shown(app))
    assert not app.error


def test_two_uploads_of_one_name_are_told_apart(open_app, client):
    for digit in "12":
        client.earlier.append(ModelEntry(f"upload:{digit * 16}", "mine", "upload"))
    picker = open_app("models").selectbox(key="model")
    assert len({*picker.options}) == 4
    assert "mine" not in picker.options


def test_a_model_of_another_language_says_that_it_can_hardly_read(open_app, client):
    app = open_app("masked_word")
    for model, text, is_read in (
        (DEFAULT_MODEL, "A lamp for 李明", True),
        (DEFAULT_MODEL, "他有一盏灯。", False),
        (DEFAULT_MODEL, "[MASK]", True),
        ("small-zh", "我用 iPhone 看书", True),
        ("small-zh", "The lamp is on.", False),
        ("small-zh", "2 + 2 = [MASK]", True),
    ):
        choose(app, model=model)
        choose(app, text=text)
        said = [one.value for one in app.warning if "not trained on" in one.value]
        assert len(said) == (not is_read), text


@pytest.mark.parametrize("page", ["attention", "layers", "pretraining"])
def test_a_page_about_a_text_asks_for_one(open_app, page):
    app = open_app(page, text=" ")
    assert [one.value for one in app.info if "no text yet" in one.value]
    assert not (*app.exception, *app.error)


@pytest.mark.parametrize("token", ["[UNK]", "ж", "##ж"])
def test_a_model_without_the_script_says_so_whatever_its_language(
    open_app, client, token
):
    client.entries.append(ModelEntry("many", "many", "cached", "multilingual"))
    client.split = lambda word: token
    app = open_app("masked_word", model="many", text="о чём речь")
    assert "not trained on" in app.warning[0].value


@pytest.mark.parametrize(("kind", "is_offered"), [("", True), ("listed", False)])
def test_earlier_uploads_are_offered_except_to_strangers(
    open_app, client, monkeypatch, shown, kind, is_offered
):
    monkeypatch.setenv("BERTVIZ_MODELS", kind)
    client.earlier.append(ModelEntry(f"upload:{'1' * 16}", "my-old-bert", "upload"))
    app = open_app("models")
    options = app.selectbox(key="model").options
    assert ("my-old-bert" in options) == is_offered
    assert ("my-old-bert" in flat(shown(app))) == is_offered


def test_the_tabs_take_a_path_and_a_name_and_say_what_is_missing(open_app, client):
    app = open_app("models")
    for button, said in (("add_path", "Nothing is typed"), ("add_hub", "No name")):
        app.button(key=button).click().run()
        assert said in app.warning[0].value
        assert app.selectbox(key="model").value == DEFAULT_MODEL
    assert app.selectbox(key="model_hub").options == list(client.suggested)
    choose(app, model_hub=client.suggested[1])
    click(app, "add_hub")
    assert client.suggested[1] in flat(app.info[0].value)
    assert app.selectbox(key="model").value == client.suggested[1]


def test_a_model_name_is_shown_as_text(open_app, client):
    entry = type(client.entries[0])("a_b_*c*", "<i>[x](y)</i>", "cached")
    client.entries.append(entry)
    app = open_app("models", model="a_b_*c*")
    assert app.header[0].value.endswith(r"\<i\>\[x\]\(y\)\<\/i\>")
    listed = next(m.value for m in app.markdown if "by typing" in m.value)
    assert listed.startswith(r"**\<i\>\[x\]\(y\)\<\/i\>** · ")
    assert listed.endswith(r": a\_b\_\*c\*")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_model_that_rounds_says_so(open_app, client, precision):
    client.precision = precision
    said = [caption.value for caption in open_app("models").sidebar.caption]
    assert any("bfloat16" in text for text in said) == (precision == "bfloat16")
