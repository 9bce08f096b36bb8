"""The fine-tuning page from the table to the run, in both languages."""

import dataclasses
import errno
import json
import os
import re

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import JobStatus
from bertviz_core.errors import EngineError, TrainingError
from bertviz_core.figures.finetune_progress import MAX_POINTS
from bertviz_core.training.finetune import visitor_tables
from bertviz_core.training.finetune.checks import DataRow
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.notes import note
from bertviz_core.training.finetune.request import (
    SAMPLES,
    DataChoice,
    TableSource,
    TrainingRequest,
)
from bertviz_core.training.finetune.settings import (
    FinetuneSettings,
    count_steps,
    learning_rates,
)
from bertviz_core.training.finetune.table import DEFAULT_LIMITS, Limits
from bertviz_core.training.finetune.visitor_tables import (
    Mending,
    keep_table,
    table_path,
)
from bertviz_core.visitor_files import TABLES, place_of, reading_name
from pages.fine_tune import running
from pages.fine_tune.mend_rows import LABEL, LEAVE_OUT, mending_of
from tests.app.fake_client import CONFIG
from tests.app.fake_fine_tune import ESTIMATE, MODEL, RUN, FineTuneClient, status_of
from tests.app.real_pages import enter, has
from tests.core.sent_figures import numbers
from tests.core.test_finetune_table import MALFORMED

LOCALES = {"en": "en-GB", "zh": "zh-CN"}
UNEQUAL = "text,label\n" + "".join(
    f"word {row} of the rest,{'rare' if row % 10 == 3 else 'often'}\n"
    for row in range(60)
)
GB18030 = ("文本,标签\n" + "很好的书,好\n不好的书,坏\n" * 8).encode("gb18030")
LONG = "text,label\n" + "".join(
    f"{'word ' * (row % 30 + 1)},{row % 2}\n" for row in range(90)
)


@pytest.fixture
def made_client():
    return FineTuneClient()


@pytest.fixture
def tuner(client, monkeypatch, tmp_path):
    """A client for the fine-tuning page; tables lie in a folder of the test."""
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    return client


@pytest.fixture
def open_step(tuner, open_app):
    """Opens a step, with a sample table unless the address has another."""

    def open_page(step="data", language="en", **query):
        query = {"ft_table": SAMPLES["library_en"], "ft_step": step} | query
        app = open_app("fine_tune", LOCALES[language], **query)
        assert not app.exception
        return app

    return open_page


@pytest.fixture
def open_run(tuner, open_step):
    """Opens a training that is at some stage."""

    def open_page(state, language="en", request=None, **fields):
        tuner.statuses[RUN] = status_of(request or finished_request(), state, **fields)
        return open_step("train", language, ft_run_id=RUN)

    return open_page


def table_of(text):
    return keep_table(text.encode())


def kept_tables():
    """Names of the tables that lie on the disk."""
    return {path.name for path in place_of(TABLES).iterdir()}


def said_in(elements):
    """What elements say, one a line, without the marks that keep it from Markdown."""
    return "\n".join(element.value.replace("\\", "") for element in elements)


def values_of(axis):
    """Numbers of plotly, which writes arrays in base 64; or names."""
    return numbers(axis) if isinstance(axis, dict) else axis


def traces_of(app, key):
    """What a figure draws: x and y of each trace."""
    spec = json.loads(app.get_by_key(f"{key}_figure").proto.spec)
    return [{axis: values_of(trace[axis]) for axis in "xy"} for trace in spec["data"]]


def test_an_open_page_keeps_its_tables(open_app, open_step, tuner):
    open_app("home")
    open_step(ft_table="")
    assert not tuner.count("renew")
    first, second = table_of("a,b\n1,2\n"), table_of("a,b\n3,4\n")
    open_step("train", ft_table=first, ft_validation=second).run()
    assert ("renew", *sorted([first, second])) in tuner.calls


def address(app):
    return {k: v[0] if len(v) == 1 else v for k, v in app.query_params.items()}


def finished_request(**settings):
    source = TableSource(SAMPLES["reviews_zh"], encoding="utf-8")
    data = DataChoice(source, ColumnChoice("评价", "情感"), test_rate=0.3, seed=7)
    settings = FinetuneSettings(level="top", **settings)
    return TrainingRequest(DEFAULT_MODEL, data, settings, "letters")


@pytest.mark.parametrize("step", ["data", "check", "try"])
def test_without_a_table_a_step_says_what_it_needs(open_app, tuner, step):
    app = open_app("fine_tune", LOCALES["zh"], ft_step=step)
    assert not app.exception
    assert not app.error
    assert HAN.search(app.info[0].value)
    if step != "data":
        app.button(key=f"ft_go_closed_{step}").click().run()
        assert app.get_by_key("ft_step").value == "data"


def test_a_sample_needs_no_file(open_app, tuner):
    app = open_app("fine_tune", LOCALES["zh"])
    for name, num_rows in (
        ("library_en", "406"), ("reviews_en", "411"), ("reviews_zh", "408"),
    ):  # fmt: skip
        button = app.button(key=f"ft_sample_{name}")
        assert HAN.search(button.label)
        assert HAN.search(button.help)
        button.click().run()
        assert address(app)["ft_table"] == SAMPLES[name]
        assert button.label in said_in(app.subheader)
        preview = app.dataframe[0].value
        assert len(preview) == 10
        assert preview.iloc[0, 0] == 2  # the header is row 1
        assert num_rows in app.success[0].value
    app.button(key="ft_go_data").click().run()
    assert app.get_by_key("ft_step").value == "check"


def test_another_label_is_guessed_anew_whatever_the_one_before_was(open_step):
    rows = [f"a text {i},{i % 2},{i % 3}" for i in range(30)]
    app = open_step(ft_table=table_of("\n".join(["text,label,stars", *rows])))
    enter(app, ft_field_kind="number", ft_field_label="stars")
    assert app.get_by_key("ft_field_kind").value == "class"
    assert "is a class" in said_in(app.caption)
    assert "ft_kind" not in address(app)


def test_choices_are_in_the_link_and_a_link_restores_them(open_step):
    app = open_step(ft_table=table_of("a,b,c\n" + "x y,z,1\nu v,w,0\n" * 8))
    enter(app, ft_field_text="b", ft_field_pair="a")
    app.get_by_key("ft_field_kind").set_value("number").run()
    app.selectbox(key="ft_field_separator").set_value(",").run()
    found = address(app)
    expected = {"ft_text": "b", "ft_pair": "a", "ft_kind": "number"}
    assert expected.items() <= found.items()
    again = open_step(**found)
    assert again.selectbox(key="ft_field_text").value == "b"
    assert again.selectbox(key="ft_field_pair").value == "a"
    assert again.get_by_key("ft_field_kind").value == "number"
    assert again.selectbox(key="ft_field_separator").value == ","


@pytest.mark.parametrize(
    ("separator", "name"),
    [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "vertical bar")],
)
def test_a_separator_is_called_by_its_name(open_step, separator, name):
    table = table_of(f"text{separator}label\n" + f"x y{separator}1\n" * 8)
    app = open_step(ft_table=table)
    assert any(f", {name}, " in expander.label for expander in app.expander)
    app.selectbox(key="ft_field_separator").set_value(separator).run()
    assert app.selectbox(key="ft_field_separator").format_func(separator) == name


@pytest.mark.parametrize("step", ["data", "train"])
def test_an_address_that_means_nothing_is_passed_over(open_step, step):
    app = open_step(
        step,
        ft_text="no such column",
        ft_encoding="klingon",
        ft_seed="-3",
        ft_test_rate="7",
        ft_max_tokens="many",
        ft_level="best",
        ft_balance="magic",
        ft_options=[
            "epochs:-4",
            "epochs:30000000",
            "nothing:1",
            "seed:1e999",
            "patience:3",
        ],
    )
    assert not app.error
    if step == "train":
        assert app.number_input(key="ft_option_epochs").value == 17  # 18 steps each
        assert app.number_input(key="ft_option_patience").value == 3


def test_a_bad_file_leads_back_to_the_table_before(open_step):
    app = open_step()
    app.file_uploader[0].set_value(("bad.csv", b"", "text/csv")).run()
    assert "empty" in app.error[0].value
    app.button(key="ft_table_back").click().run()
    assert not app.error
    assert address(app)["ft_table"] == SAMPLES["library_en"]


def test_a_file_that_was_mended_is_kept_like_any(open_step):
    app = open_step(ft_table="")
    app.file_uploader[0].set_value(("mine.csv", GB18030, "text/csv")).run()
    own = address(app)["ft_table"]
    assert app.file_uploader[0].value is None
    assert len(kept_tables()) == 1
    assert "The encoding is a guess: gb18030" in said_in(app.warning)
    app.selectbox(key="ft_field_encoding").set_value("utf-8").run()
    assert len(app.error) == 1
    app.selectbox(key="ft_field_encoding").set_value("gb18030").run()
    assert not app.error
    assert not app.warning
    assert "文本" in app.selectbox(key="ft_field_text").options
    app.button(key="ft_sample_library_en").click().run()
    assert table_path(own).read_bytes() == GB18030


def test_a_table_that_is_gone_says_so(open_step):
    app = open_step(ft_table="file:" + "0" * 32)
    assert "Upload it again" in app.error[0].value


def test_a_file_that_the_engine_could_not_look_at_stays(open_step, tuner):
    own = table_of(UNEQUAL)
    tuner.broken["view_table"] = EngineError("The engine is gone. Wait.")
    app = open_step(ft_table=own)
    assert len(app.error) == 1
    del tuner.broken["view_table"]
    app.button(key="ft_sample_library_en").click().run()
    assert table_path(own)


def test_another_table_takes_the_file_to_check_by_off_the_disk(open_step):
    own, linked = (table_of(UNEQUAL) for _ in range(2))
    app = open_step(ft_table=own)
    box = app.file_uploader[1]
    box.set_value(("other.csv", UNEQUAL.encode(), "text/csv")).run()
    assert len(kept_tables()) == 3
    app.button(key="ft_sample_library_en").click().run()
    assert "ft_validation" not in address(app)
    # What came by a link is somebody else's as well.
    there = open_step(ft_table=own, ft_validation=linked)
    there.button(key="ft_sample_library_en").click().run()
    assert kept_tables() == {own.removeprefix("file:"), linked.removeprefix("file:")}


# Those that are not even stored come first, beside a table that can be read.
UNREADABLE = ("a zip renamed", "nothing", "noise", "NUL in a row", "a cell of 100,001")
FILES = {name: data for name, data, _ in MALFORMED}
HAN = re.compile("[\u4e00-\u9fff]")


def test_in_a_table_of_numbers_nothing_is_guessed_and_columns_can_be_chosen(open_step):
    rows = (f"{37 * row % 100},{row % 2}\n" for row in range(40))
    app = open_step(ft_table=table_of("a,b\n" + "".join(rows)))
    assert "all is numbers. Received: a, b" in said_in(app.error)
    app.get_by_key("ft_field_label").set_value("a").run()
    assert app.error  # half a choice says nothing of the other column
    app.get_by_key("ft_field_text").set_value("b").run()
    assert not app.error
    assert (address(app)["ft_text"], address(app)["ft_label"]) == ("b", "a")
    assert app.get_by_key("ft_field_kind").value == "number"


def test_files_of_no_use_are_one_sentence(open_step):
    app = open_step(language="zh")
    for name in (*UNREADABLE, "one class and blanks"):
        app.file_uploader[0].set_value(("bad.csv", FILES[name], "text/csv")).run()
        assert not app.exception, name
        assert len(app.error) == 1, name
        assert HAN.search(app.error[0].value), name
        assert name in UNREADABLE or app.dataframe  # other columns may be chosen
    enter(app, ft_step="train")
    assert app.info
    assert not app.button(key="ft_go_closed_train").proto.disabled
    enter(app, ft_step="data")
    app.button(key="ft_sample_library_en").click().run()
    assert not app.error


def test_a_box_lets_more_through_than_we_take(open_step):
    app = open_step(language="zh")
    boxes = [box.proto.max_upload_size_mb for box in app.file_uploader]
    ours = DEFAULT_LIMITS.max_bytes // 1_000_000
    assert len(boxes) == 2
    assert all(2 * ours <= box <= 300 for box in boxes)


def test_a_file_that_is_too_large_is_refused_in_the_readers_language(
    open_step, monkeypatch
):
    monkeypatch.setattr(visitor_tables, "DEFAULT_LIMITS", Limits(max_bytes=99))
    app = open_step(language="zh")
    large = ("long.csv", b"text,label\n" + b"a,b\n" * 30, "text/csv")
    app.file_uploader[0].set_value(large).run()
    assert len(app.error) == 1
    assert "文件太大" in said_in(app.error)
    assert not kept_tables()
    assert address(app)["ft_table"] == SAMPLES["library_en"]
    assert app.file_uploader[0].value is None
    app.run()
    assert not app.error


ODD = "text,label\n" + "".join(f"word {row},{row % 2}\n" for row in range(40))
ODD += "too,many,cells\ntoo few\n"
PRICES = "text;price\n" + "".join(
    f"a thing number {i};{('900', '1.500', '2.250', '12.000')[i % 4]}\n"
    for i in range(20)
)


@pytest.mark.parametrize(
    ("language", "table", "other", "said"),
    [
        ("en", ODD, "", "Rows with more cells than the first row are left out: 42"),
        ("en", PRICES, "", "“1.500”"),
        ("zh", UNEQUAL + "once alone,single\n", "text,label\nonce alone,single\n",
         "没有训练行的类别"),
    ],
)  # fmt: skip
def test_what_a_table_loses_is_a_warning(open_step, language, table, other, said):
    app = open_step(
        language=language,
        ft_table=table_of(table),
        ft_validation=table_of(other) if other else "",
    )
    assert not app.error
    assert said in said_in(app.warning)
    assert said not in said_in((*app.markdown, *app.expander[0].markdown))


def test_a_table_of_ones_own_is_checked_by_and_can_be_dropped(open_step):
    other = "text,label\n" + "a new word,rare\nword 3 of the rest,rare\n" * 3
    handle = table_of(other)
    app = open_step("check", ft_table=table_of(UNEQUAL), ft_validation=handle)
    # Row 3 is in both tables, so it is not learnt from.
    assert [metric.value for metric in app.metric[:4]] == ["65", "59", "0", "6"]
    assert re.search(r"54\D+0\D+rare\D+5\D+6", said_in(app.caption))
    assert not has(app, "ft_field_test_rate")
    enter(app, ft_step="data")
    app.button(key="ft_validation_remove").click().run()
    assert "ft_validation" not in address(app)
    # It came by a link, so it is somebody else's as well.
    assert table_path(handle)
    enter(app, ft_step="check")
    assert app.metric[3].value == "12"


def test_the_table_to_check_by_can_be_read_differently(open_step, tuner):
    other = "文本,标签\n" + "新的书,好\n" * 4
    app = open_step(
        ft_table=keep_table(GB18030),
        ft_encoding="gb18030",
        ft_validation=keep_table(other.encode("gb18030")),
        ft_validation_encoding="latin-1",
        ft_validation_name="判卷.csv",
    )
    assert "判卷.csv:" in said_in(app.markdown)
    assert len(app.error) == 1
    key = "ft_validation_file_encoding"
    app.selectbox(key=key).set_value("gb18030").run()
    assert not app.error
    assert address(app)["ft_validation_encoding"] == "gb18030"
    again = open_step(**address(app))
    assert again.selectbox(key=key).value == "gb18030"
    checked = [call[2] for call in tuner.calls if call[0] == "check_data"][-1]
    assert checked.validation.encoding == "gb18030"


def test_a_finding_has_its_remedy_and_its_rows(open_step):
    text = "text,label\n" + "the same,a\nthe same,b\n" * 4 + "new one,b\n" * 3
    app = open_step("check", ft_table=table_of(text))
    assert "occur with different labels" in said_in(app.warning)
    assert "Decide which label is right" in said_in(app.warning)
    app.session_state["ft_rows_contradictions_2"] = True
    app.run()
    shown = [frame.value for frame in app.dataframe]
    assert any(frame.iloc[:, 0].tolist() == list(range(2, 10)) for frame in shown)


def test_each_class_that_a_token_gives_away_is_a_finding_of_its_own(open_step):
    lines = [f"[{name}] text {i},{name}" for i in range(40) for name in ("good", "bad")]
    app = open_step("check", ft_table=table_of("\n".join(["text,label", *lines])))
    assert "gives the label away" in said_in(app.warning)
    app.session_state["ft_rows_giveaway_2"] = True
    app.session_state["ft_rows_giveaway_3"] = True
    app.run()
    shown = [frame.value.iloc[:, 0].tolist() for frame in app.dataframe]
    assert {2, 3} <= {rows[0] for rows in shown}
    mend(app)
    names = set(app.selectbox(key="ft_mend_shown").options)
    assert {"“[ good” gives the label away", "“[ bad” gives the label away"} <= names


def test_rows_of_a_finding_come_the_worst_first(open_step):
    rows = [f"{'q ' * (row % 3)}word {row},{row % 2}" for row in range(12)]
    app = open_step("check", ft_table=table_of("\n".join(["text,label", *rows])))
    app.session_state["ft_rows_unknown_4"] = True
    app.run()
    shown = [frame.value.iloc[:, 0].tolist() for frame in app.dataframe]
    assert [4, 7, 10, 13, 3, 6, 9, 12] in shown


MISSPELT = "text;label\n" + "".join(
    f"text number {i};{('good', 'bad', 'Good')[i % 3]}\n" for i in range(60)
)


def mend(app, *keys, **chosen):
    """Opens the table that is to be mended, chooses, and clicks."""
    app.session_state["ft_mend"] = True
    app.run()
    for key, value in chosen.items():
        app.selectbox(key=f"ft_mend_{key}").set_value(value).run()
    for key in keys:
        app.button(key=f"ft_mend_{key}").click().run()
    assert not app.exception


def test_two_spellings_are_merged_and_the_merging_is_undone(open_step, tuner):
    handle = table_of(MISSPELT)
    app = open_step("check", ft_table=handle, ft_name="letters.csv")
    assert "Good" in said_in(app.warning)
    mend(app, "rename", old="Good", new="good")
    mended = address(app)["ft_table"]
    assert mended != handle
    assert address(app)["ft_name"] == "letters.csv"
    assert address(app)["ft_label"] == "label"
    assert "Good" not in said_in(app.warning)
    # It is what a training learns from, and stays so in another language.
    asked = [call[2] for call in tuner.calls if call[0] == "check_data"][-1]
    assert asked.source.table == mended
    assert app.get_by_key("ft_mend_download").proto.url.startswith("download/")
    app.query_params["lang"] = "zh"
    app.run()
    assert address(app)["ft_table"] == mended
    mend(app, "undo")
    assert address(app)["ft_table"] == handle
    assert "Good" in said_in(app.warning)
    assert not has(app, "ft_mend_undo")


def test_rows_are_chosen_by_finding_and_a_text_is_read_whole(open_step, tuner):
    long = " ".join(["all of it"] * 300)
    app = open_step("check", ft_table=table_of(f"{MISSPELT}{long};bad\n"))
    mend(app)
    names = app.selectbox(key="ft_mend_shown").options
    assert names[:2] == ["All rows", "Rows without a text or a label"]
    assert {"Labels spelled in two ways", "Label: Good"} <= set(names)
    mend(app, shown="label Good", read=4)
    asked = [call[1] for call in tuner.calls if call[0] == "rows_to_mend"][-1]
    assert (asked.label, asked.page) == ("Good", 0)
    assert "text number 2" in said_in(app.text)
    assert not has(app, "ft_mend_page")
    mend(app, shown="all")
    app.number_input(key="ft_mend_page").set_value(2).run()
    mend(app, read=62)
    assert long in said_in(app.text)


def test_rows_that_cannot_be_trained_on_can_be_mended_where_it_is_said(open_step):
    lines = "".join(f"text {i},{i}.25\n" for i in range(20))
    handle = table_of(f"text,price\n{lines}late,cheap\n")
    app = open_step(ft_table=handle, ft_label="price", ft_kind="number")
    assert "“cheap” in rows 22" in said_in(app.error)
    mend(app, "rename", old="cheap", new="3.25")
    assert not app.error
    assert app.success
    # A table without rows is none.
    app = open_step(ft_table=table_of("text,label\n" + "one,a\n" * 12))
    mend(app)
    assert "the same label" in said_in(app.error)


def test_changes_in_the_table_are_those_of_its_rows():
    rows = tuple(DataRow(row, "text", None, "a") for row in (2, 5, 9, 11))
    edited = {
        3: {LABEL: None},
        0: {LABEL: " b "},
        1: {LEAVE_OUT: True, LABEL: "b"},
        2: {LEAVE_OUT: False, LABEL: "a"},
    }
    assert mending_of(edited, rows) == Mending(((2, "b"), (11, "")), (5,))


def test_the_remedy_proposed_for_unequal_classes_is_taken_unless_changed(
    open_step, tuner
):
    app = open_step("check", ft_table=table_of(UNEQUAL))
    assert app.get_by_key("ft_field_balance").value == "weights"
    enter(app, ft_field_balance="oversample", ft_step="train")
    assert "rows: 48, oversampled to 86;" in said_in(app.markdown)
    app.button(key="ft_start").click().run()
    settings = tuner.requests[0].settings
    assert settings.oversample
    assert not settings.class_weights


def test_the_share_that_is_cut_follows_the_slider_without_a_question(open_step, tuner):
    app = open_step("check", ft_table=table_of(LONG))
    # The model lowers the maximum, and so what it keeps.
    limit = CONFIG["max_position_embeddings"]
    help_of_it = app.slider(key="ft_field_max_tokens").help
    assert re.search(rf"\D{limit}\D+47%", help_of_it)
    assert "95" not in help_of_it
    asked = len(tuner.calls)
    lengths = np.array([row % 30 + 3 for row in range(90)])
    for max_tokens in (8, 16):
        app.slider(key="ft_field_max_tokens").set_value(max_tokens).run()
        share = (lengths > max_tokens).mean()
        assert app.metric[5].value == f"{share:.1%}"
    assert {call[0] for call in tuner.calls[asked:]} <= {"models", "training", "renew"}
    assert address(app)["ft_max_tokens"] == "16"


def test_another_share_draws_anew(open_step, tuner):
    app = open_step("check")
    assert [metric.value for metric in app.metric[:4]] == ["406", "283", "41", "82"]
    parts = traces_of(app, "fine_tune_balance")
    assert [sum(part["x"]) for part in parts] == [283, 41, 82]
    enter(app, ft_field_test_rate=0.5, ft_field_seed=5)
    assert app.metric[3].value == "203"
    assert address(app)["ft_test_rate"] == "0.5"
    last = [call for call in tuner.calls if call[0] == "check_data"][-1][2]
    assert (last.test_rate, last.seed) == (0.5, 5)


def test_what_is_said_of_the_parts_holds_for_this_table(open_step):
    app = open_step("check")
    assert "A tenth of the rows is for validation." in said_in(app.markdown)
    assert "Smallest: " in said_in(app.caption)
    rows = [f"text number {row},{'abc'[row % 3]}\n" for row in range(150)]
    app = open_step("check", ft_table=table_of("text,label\n" + "".join(rows)))
    assert "too few rows for validation" in said_in(app.markdown)
    assert "A tenth" not in said_in(app.markdown)
    assert "40 and 10 in every class" in said_in(app.caption)
    assert "Smallest: " not in said_in(app.caption)


def test_a_box_says_what_it_takes(open_step):
    app = open_step("train")
    epochs, rate = (
        app.number_input(key=f"ft_option_{name}").help
        for name in ("epochs", "learning_rate")
    )
    assert epochs.endswith("From 1 to 500.")
    assert rate.endswith("From 1e-07 to 1.0.")


def test_numbers_to_predict_have_a_picture_and_no_remedy(open_step):
    text = "text,price\n" + "".join(f"thing {row},{row}.5\n" for row in range(40))
    app = open_step("check", ft_table=table_of(text))
    train, check = traces_of(app, "fine_tune_numbers")
    assert sum(train["y"]) + sum(check["y"]) == 40
    assert not has(app, "ft_field_balance")


def test_visitors_with_the_same_question_share_one_measurement(open_step, tuner):
    for _ in range(2):
        open_step("train")
    assert tuner.count("start") == 1


@pytest.fixture
def end_measuring(tuner, monkeypatch):
    """A measurement that is under way until the test ends it."""

    def tell(status):
        tuner.jobs["job-1"] = status
        return "job-1"

    running = JobStatus("job-1", "running", 0.4)
    monkeypatch.setattr(tuner, "start", lambda *_, **__: tell(running))
    return lambda: tell(JobStatus("job-1", "done", 1.0, result=ESTIMATE))


def test_who_does_not_wait_for_a_measurement_stops_it_for_nobody_else(
    open_step, tuner, end_measuring
):
    app = open_step("train")
    app.button(key="job_ft_estimate_cancel").click().run()
    assert tuner.count("cancel") == 0
    app.button(key="job_ft_estimate_start").click().run()
    assert app.button(key="job_ft_estimate_cancel")
    end_measuring()
    app.run()
    assert not has(app, "job_ft_estimate_cancel")


def test_a_full_queue_of_measurements_keeps_nobody_from_training(open_step, tuner):
    tuner.broken["start"] = EngineError(
        "Too many tasks are already waiting. Received: {number}. Try again when some "
        "of them have finished.",
        number=20,
    )
    app = open_step("train")
    assert "Too many tasks" in app.error[0].value
    del tuner.broken["start"]
    app.button(key="job_ft_estimate_start").click().run()
    assert not app.error
    assert "About 19 seconds" in said_in(app.caption)
    app.button(key="ft_start").click().run()
    assert tuner.requests


def test_another_maximum_asks_for_a_measurement_of_its_own(open_step, tuner):
    app = open_step("check", ft_table=table_of(LONG))
    app.button(key="job_ft_estimate_start").click().run()
    assert "Standard" in app.success[-1].value
    assert "| 60 seconds |" in said_in(app.markdown)
    assert "| 3.1 hours |" in said_in(app.markdown)
    assert not has(app, "job_ft_estimate_start")
    app.slider(key="ft_field_max_tokens").set_value(8).run()
    assert app.button(key="job_ft_estimate_start")
    assert tuner.count("start") == 1


def test_the_recommended_level_is_chosen_until_another_is(open_step, tuner):
    app = open_step("train")
    assert app.button(key="ft_level_top").disabled
    app.button(key="ft_level_full").click().run()
    assert app.button(key="ft_level_full").disabled
    assert address(app)["ft_level"] == "full"
    assert app.warning  # it does not fit into memory
    app.button(key="ft_start").click().run()
    assert tuner.requests[0].settings.level == "full"


def test_settings_are_in_the_link_and_in_the_request(open_step, tuner):
    app = open_step("train", ft_level="full")
    enter(
        app,
        ft_option_epochs=7,
        ft_option_learning_rate=4e-5,
        ft_option_decay="exponential",
        ft_option_final_rate=0.5,
    )
    again = open_step(**address(app))
    enter(again, ft_title="my letters", ft_tensorboard=True)
    again.button(key="ft_start").click().run()
    request = tuner.requests[0]
    assert request.settings == FinetuneSettings(
        level="full",
        epochs=7,
        learning_rate=4e-5,
        decay="exponential",
        final_rate=0.5,
        max_tokens=request.settings.max_tokens,
    )
    assert (request.title, request.tensorboard) == ("my letters", True)
    assert request.model == DEFAULT_MODEL
    assert request.data.source.table == SAMPLES["library_en"]


def test_another_level_keeps_what_was_edited_and_proposes_the_rest(open_step):
    app = open_step("train", ft_level="full")
    enter(app, ft_option_epochs=7, ft_option_batch_size=9)
    app.button(key="ft_level_head").click().run()
    assert app.number_input(key="ft_option_epochs").value == 7
    assert app.number_input(key="ft_option_batch_size").value == 9
    assert app.number_input(key="ft_option_learning_rate").value == 1e-3
    assert app.number_input(key="ft_option_patience").value == 10
    assert "Epochs: 7 (proposed: 30)" in said_in(app.caption)
    assert "Batch size: 9 (proposed: 16)" in said_in(app.caption)
    app.number_input(key="ft_option_epochs").set_value(30).run()
    assert "Epochs:" not in said_in(app.caption)
    app.button(key="ft_reset").click().run()
    assert app.number_input(key="ft_option_batch_size").value == 16
    assert "(proposed:" not in said_in(app.caption)


def test_a_level_that_is_looked_at_stays_when_the_timing_ends(open_step, end_measuring):
    app = open_step("train", ft_options=["epochs:7"])
    assert app.button(key="ft_level_head").disabled
    end_measuring()
    app.run()
    assert said_in(app.markdown).count("Recommended") == 1
    assert app.button(key="ft_level_head").disabled
    app.button(key="ft_level_top").click().run()
    assert app.button(key="ft_level_top").disabled


def test_the_name_of_the_model_follows_the_table(open_step, tuner):
    app = open_step("train")
    app.text_input(key="ft_title").set_value("my letters").run()
    enter(app, ft_step="data")
    enter(app, ft_step="train")
    assert app.text_input(key="ft_title").value == "my letters"
    enter(app, ft_step="data")
    app.file_uploader[0].set_value(("mine.csv", UNEQUAL.encode(), "text/csv")).run()
    enter(app, ft_step="train")
    assert app.text_input(key="ft_title").value == "mine.csv"
    app.button(key="ft_start").click().run()
    assert tuner.requests[0].title == "mine.csv"


def test_the_default_of_a_level_can_be_entered_where_another_is_proposed(
    open_step, tuner
):
    key, proposed = "ft_option_learning_rate", 1e-3
    usual = FinetuneSettings(level="full").learning_rate
    app = open_step("train", ft_level="full")
    assert app.number_input(key=key).value == proposed
    app.number_input(key=key).set_value(usual).run()
    again = open_step(**address(app))
    assert app.number_input(key=key).value == again.number_input(key=key).value == usual
    again.number_input(key=key).set_value(proposed).run()
    assert "ft_options" not in address(again)
    app.button(key="ft_start").click().run()
    assert tuner.requests[0].settings.learning_rate == usual


def test_a_start_that_is_refused_keeps_the_settings_and_their_curve(open_step, tuner):
    tuner.broken["start_training"] = TrainingError("No room. Try again.")
    app = open_step("train", ft_level="full", ft_options=["epochs:2"])
    (curve,) = traces_of(app, "fine_tune_schedule")
    settings = FinetuneSettings.proposed(12, 283, level="full", epochs=2)
    rates = learning_rates(settings, 283, np.arange(count_steps(settings, 283)))
    np.testing.assert_allclose(curve["y"], rates, rtol=1e-6)
    app.button(key="ft_start").click().run()
    assert "No room" in app.error[0].value
    assert app.number_input(key="ft_option_epochs").value == 2


def test_a_run_that_waits_says_its_place(open_step, tuner):
    app = open_step("train", "zh")
    app.button(key="ft_start").click().run()
    assert address(app)["ft_run_id"] == RUN
    assert "3" in app.info[0].value
    app.button(key="ft_stop").click().run()
    assert ("stop_training", RUN) in tuner.calls


def test_a_running_training_shows_what_it_told(open_run, shown):
    app = open_run("running", request=finished_request(epochs=4))
    assert [metric.value for metric in app.metric] == [
        "2 / 4",
        "42 seconds",
        "2.5e-05",
        "0.625",
    ]
    assert app.get("progress")[0].proto.value == 50
    raw = traces_of(app, "fine_tune_loss")[0]
    np.testing.assert_allclose(raw["y"], np.linspace(1.5, 0.5, 14), rtol=1e-6)
    best = traces_of(app, "fine_tune_metric")[1]
    assert (best["x"], best["y"]) == ([1], [0.625])
    rates, now = traces_of(app, "fine_tune_schedule")
    assert len(rates["x"]) == 28
    assert now["x"] == [14]
    assert np.float32(now["y"]).tolist() == [rates["y"][13]]
    assert "1:01" in shown(app)
    assert "284" in shown(app)


def test_the_curve_of_millions_of_steps_is_drawn_from_a_few(open_run, monkeypatch):
    known, sizes = running.learning_rates, []

    def noted(*arguments):
        rates = known(*arguments)
        sizes.append(len(rates))
        return rates

    monkeypatch.setattr(running, "learning_rates", noted)
    request = finished_request(epochs=500, batch_size=1)
    far = {"step": 1_234_567, "num_steps": 5_000_000, "num_epochs": 500}
    app = open_run("running", request=request, **far)
    rates, now = traces_of(app, "fine_tune_schedule")
    assert max(sizes) == len(rates["x"]) <= MAX_POINTS
    assert (rates["x"][0], rates["x"][-1]) == (1, 5_000_000)
    assert now["x"] == [1_234_567]
    expected = known(request.settings, 10_000, np.array([1_234_566]))
    np.testing.assert_allclose(now["y"], expected)
    assert any("5,000,000" in c.value or "5000000" in c.value for c in app.caption)


@pytest.mark.parametrize(
    ("state", "has_epoch"),
    [("failed", True), ("interrupted", True), ("interrupted", False)],
)
def test_a_broken_run_says_so_and_goes_on_when_asked(open_run, tuner, state, has_epoch):
    error = TrainingError("The disk is full. Make room.")
    app = open_run(state, error=error, has_epoch=has_epoch)
    label = app.button(key="ft_resume").label
    assert ("Resume" in label, "anew" in label) == (has_epoch, not has_epoch)
    if state == "interrupted":
        assert ("begin anew" in app.warning[0].value) is not has_epoch
    assert "The disk is full" in "\n".join(element.value for element in app.markdown)
    app.button(key="ft_resume").click().run()
    assert ("resume_training", RUN) in tuner.calls
    assert app.get_by_key("ft_stop")


def test_a_run_that_was_stopped_goes_on_when_asked(open_run, tuner):
    app = open_run("stopped", model=MODEL, has_epoch=True, ending="asked")
    button = app.button(key="ft_resume")
    assert "14" in button.help
    button.click().run()
    assert ("resume_training", RUN) in tuner.calls
    assert app.get_by_key("ft_stop")


@pytest.mark.parametrize(
    ("state", "known", "keys"),
    [
        ("running", {"phase": "compare"}, {"ft_stop"}),
        ("running", {"phase": "evaluate"}, set()),  # the steps are over
        ("stopped", {"model": MODEL, "has_epoch": True, "can_go_on": False}, set()),
        ("failed", {"model": MODEL, "has_epoch": True}, {"ft_resume"}),
    ],
)
def test_what_can_still_be_changed_is_offered(open_run, state, known, keys):
    app = open_run(state, **known)
    assert {button.key for button in app.button} & {"ft_stop", "ft_resume"} == keys
    assert bool(app.success) == (state == "stopped")
    assert bool(app.error) == (state == "failed")


def test_the_bar_to_beat_is_shown_and_no_epoch_where_nothing_chooses(open_run, shown):
    bar = note(
        "The baseline to beat: word counts (TF-IDF, {chosen}) get {percent}% of the "
        "test rows right.",
        chosen="C=10",
        percent=81.7,
    )
    unknown = [[7.0, 1.25, np.nan, np.nan], [14.0, 0.75, np.nan, np.nan]]
    known = {"metric_name": "", "best_epoch": 2, "epochs": unknown}
    app = open_run("running", "zh", bar=bar, **known)
    (said,) = [info.value for info in app.info if "TF" in info.value]
    assert "81.7" in said.replace("\\", "")
    assert "没有验证集" in shown(app)
    assert len(app.metric) == 3
    assert not has(app, "fine_tune_metric_figure")


def test_the_reason_that_the_system_gives_is_said_in_the_same_language(open_run, shown):
    error = TrainingError(
        "The training cannot write to the disk of the server. Received: {reason}. Make "
        "room, then let the training go on.",
        reason=os.strerror(errno.ENOSPC),
    )
    text = shown(open_run("failed", "zh", error=error))
    assert "磁盘空间不足" in text
    assert "No space left" not in text


def test_the_curves_of_a_broken_run_can_be_taken_away(
    open_run, tuner, monkeypatch, tmp_path
):
    tuner.log = tmp_path / "log.zip"
    tuner.log.write_bytes(b"curves")
    app = open_run("failed", has_log=True)
    assert "ft_run_log" in {link.key for link in app.get("link_button")}

    def refuse(_):
        raise TrainingError("No room for the log.")

    monkeypatch.setattr(tuner, "training_log", refuse)
    app.run()
    assert "No room for the log" in app.error[-1].value
    assert app.button(key="ft_resume")
    assert app.metric
    assert traces_of(app, "fine_tune_loss")
    assert "The training begins" in said_in(app.markdown)


def test_a_run_is_kept_from_another_page_and_found_again(open_run, tuner):
    app = open_run("interrupted")
    held = ("renew", f"run:{RUN}", SAMPLES["library_en"])
    app.switch_page("pages/activations/activations.py").run()
    assert not app.exception
    assert tuner.calls.count(held) == 1
    app.switch_page("pages/fine_tune/fine_tune.py").run()
    assert address(app)["ft_run_id"] == RUN
    assert app.metric


@pytest.mark.parametrize("state", ["running", "failed"])
def test_a_link_for_others_has_no_id_and_leaves_out_what_changes_a_run(open_run, state):
    app = open_run(state)
    (link,) = [code.value for code in app.code]
    assert f"ft_run_id={reading_name(RUN)}" in link
    assert RUN not in link
    change = {"ft_stop", "ft_resume"}
    keys = {button.key for button in app.button}
    assert keys & change
    app = open_run(state, is_own=False)
    assert not {button.key for button in app.button} & change
    assert not app.code
    assert "link for reading" in said_in(app.caption)


@pytest.mark.parametrize("step", ["train", "data"])
def test_a_run_that_was_stopped_here_leads_on_to_its_scores(open_run, tuner, step):
    app = open_run("running")
    app.button(key="ft_stop").click().run()
    enter(app, ft_step=step)
    tuner.statuses[RUN] = status_of(
        finished_request(), "stopped", ending="asked", model=MODEL
    )
    app.run()
    assert app.get_by_key("ft_step").value == {"train": "evaluate"}.get(step, step)
    enter(app, ft_step="train")
    assert app.get_by_key("ft_step").value == "train"


def test_a_step_that_waits_for_a_running_training_says_so(open_run, tuner):
    app = open_run("running")
    enter(app, ft_step="evaluate")
    assert "still running" in said_in(app.info)
    tuner.statuses[RUN] = status_of(finished_request(), "failed")
    app.run()
    assert "Train one first" in said_in(app.info)


def test_a_run_that_left_a_model_stays_and_leads_on(open_run):
    app = open_run("done", ending="not_a_number", model=MODEL)
    assert app.get_by_key("ft_step").value == "train"
    assert app.success
    app.button(key="ft_go_train").click().run()
    assert app.get_by_key("ft_step").value == "evaluate"


def test_a_run_that_is_gone_says_so_and_a_new_one_can_start(open_step):
    app = open_step("train", ft_run_id=RUN)
    assert "no longer here" in app.error[0].value
    app.button(key="ft_again").click().run()
    assert "ft_run_id" not in address(app)
    assert app.button(key="ft_start")


def test_the_run_alone_brings_back_its_rows_and_settings(open_app, tuner):
    request = finished_request(epochs=9, weight_decay=0.5, class_weights=True)
    request = dataclasses.replace(request, model="small-zh")
    tuner.statuses[RUN] = status_of(request, "done", model=MODEL)
    app = open_app("fine_tune", ft_step="train", ft_run_id=RUN)
    app.button(key="ft_again").click().run()
    app.button(key="ft_start").click().run()
    again = tuner.requests[0]
    assert again.data == request.data
    assert (again.model, again.title) == (request.model, request.title)
    assert again.settings.to_dict() | {"max_tokens": 0} == (
        request.settings.to_dict() | {"max_tokens": 0}
    )


def test_the_name_of_a_model_is_not_taken_for_that_of_its_table(open_app, tuner):
    request = finished_request()
    own = dataclasses.replace(request.data.source, table=table_of(UNEQUAL))
    data = dataclasses.replace(request.data, source=own)
    request = dataclasses.replace(request, data=data)
    tuner.statuses[RUN] = status_of(request, "done", model=MODEL)
    app = open_app("fine_tune", ft_step="data", ft_run_id=RUN)
    assert not app.exception
    assert request.title not in said_in(app.subheader)


def test_trainings_of_a_visit_can_be_opened_again(open_step, tuner):
    app = open_step("train")
    app.button(key="ft_start").click().run()
    tuner.statuses[RUN] = status_of(tuner.requests[0], "done", model=MODEL)
    app.run()
    app.button(key="ft_again").click().run()
    assert "keep the link in the address bar" in said_in(app.caption)
    app.button(key=f"ft_earlier_{RUN}").click().run()
    assert address(app)["ft_run_id"] == RUN


def test_a_table_chosen_after_a_run_leads_to_a_run_of_its_own(open_run, tuner):
    app = open_run("done", model=MODEL)  # the run was of the Chinese sample
    assert "another table" in app.info[0].value
    app.button(key="ft_again").click().run()
    app.button(key="ft_start").click().run()
    assert tuner.requests[0].data.source.table == SAMPLES["library_en"]


@pytest.mark.parametrize("state", ["waiting", "done"])
def test_a_run_of_ones_own_file_is_not_taken_for_one_of_another(
    open_step, tuner, state
):
    app = open_step("train", ft_table=table_of(UNEQUAL))
    app.button(key="ft_start").click().run()
    own = tuner.statuses[RUN].request
    assert own.data.source.table == f"run:{RUN}/table"
    if state == "done":
        tuner.statuses[RUN] = status_of(own, state, model=MODEL)
    app = open_step(**address(app))
    assert not any("another table" in info.value for info in app.info)
    if state == "done":
        assert app.button(key="ft_again").label == "Train again with other settings"
    else:
        assert not has(app, "ft_again")


def test_a_model_that_cannot_read_the_texts_is_exchanged_by_a_click(open_step, tuner):
    text = "text,label\n" + "".join(f"好q书 {row},{row % 2}\n" for row in range(30))
    app = open_step(ft_table=table_of(text))
    assert "UNK" in app.warning[0].value
    app.button(key="ft_model_0").click().run()
    assert app.session_state["model"] == "small-zh"
    last = [call for call in tuner.calls if call[0] == "check_data"][-1]
    assert last[1] == "small-zh"


@pytest.mark.parametrize("word", ["영화q", "フ ィ ル ム q 映"])
def test_a_model_that_cannot_read_the_texts_either_is_not_offered(
    open_step, tuner, word
):
    text = "text,label\n" + "".join(f"{word} {row},{row % 2}\n" for row in range(30))
    app = open_step(ft_table=table_of(text))
    assert "UNK" in app.warning[0].value
    assert "No model that reads these texts" in said_in(app.caption)
    with pytest.raises(KeyError):
        app.button(key="ft_model_0")


def test_row_numbers_are_said_to_be_what_they_are(open_step, tuner):
    csv = "text,label\n" + "".join(f"a text {row},{row % 2}\n" for row in range(9))
    lines = "".join(f'{{"句子": "好{row}", "a": {row % 2}}}\n' for row in range(9))
    app = open_step(ft_table=table_of(csv))
    assert "spreadsheet" in said_in(app.caption)
    for encoding in ("utf-8", "gb18030"):
        app = open_step(ft_table=keep_table(lines.encode(encoding)))
        assert "JSON Lines" in said_in(app.caption)
        assert "spreadsheet" not in said_in(app.caption)
        with pytest.raises(KeyError):
            app.selectbox(key="ft_field_separator")
    app.selectbox(key="ft_field_encoding").set_value("gb18030").run()
    assert address(app)["ft_encoding"] == "gb18030"
    assert app.dataframe[0].value["句子"][0] == "好0"
