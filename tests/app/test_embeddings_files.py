"""Sentences from a file: columns, rows, what does not fit, and what a file says."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.labelled_lines import read_lines, split_pair
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import DatasetError
from bertviz_core.training.finetune.request import SAMPLES
from bertviz_core.training.finetune.table import read_table
from bertviz_core.training.finetune.visitor_tables import (
    forget_table,
    keep_table,
    table_path,
)
from pages.embeddings import figures as files
from pages.embeddings import sentences
from pages.embeddings.sentence_box import read_file
from pages.fine_tune.state import STATE, FineTuneState
from pages.shared import export
from pages.shared.export import titled
from tests.app import real_pages
from tests.app.real_pages import finished, has, said
from tests.core.checkpoint_copies import HF

KEY = "embeddings_topics"
SORTED = "id,text,topic\n" + "".join(
    f"{i},sentence number {i},{'early' if i < 300 else 'late'}\n" for i in range(600)
)


def open_page() -> AppTest:
    """On a tiny model, as this is about what stands in the box."""
    link = {"model": str(HF), "embeddings_panel": "sentences"}
    return real_pages.open_page("embeddings", **link)


def uploaded(name: str, text: str) -> AppTest:
    app = open_page()
    app.file_uploader[0].set_value((name, text.encode(), "text/plain")).run()
    return app


@pytest.fixture(autouse=True)
def without_a_map(request, monkeypatch):
    """Below the box nothing is computed, but where the files of a map are looked at."""
    if "offered" not in request.fixturenames:
        monkeypatch.setattr(sentences, "ask_job", lambda *_, **__: None)


@pytest.fixture
def offered(monkeypatch):
    """What a page offers to take away: the table, and the projector's columns."""
    seen = {}
    monkeypatch.setattr(
        export, "download_csv", lambda table, _: seen.update(csv=titled(table))
    )

    def keep(label: str, make: Callable[[], bytes], *about: str) -> None:
        if about[-1].endswith("_metadata"):
            header, *rows = csv.reader(io.StringIO(make().decode()), delimiter="\t")
            seen["tsv"] = dict(zip(header, zip(*rows, strict=True), strict=True))

    monkeypatch.setattr(files, "download", keep)
    return seen


def box(app: AppTest) -> str:
    return app.text_area(key=KEY).value


def test_columns_can_be_chosen_and_a_column_of_numbers_is_no_group():
    app = finished(uploaded("a.csv", "id,text\n1,one lamp\n2,two lamps\n3,a house\n"))
    assert box(app) == "one lamp\ntwo lamps\na house"
    app.selectbox(key=f"{KEY}_group_column").set_value("id").run()
    assert read_lines(box(finished(app))).labels == ("1", "2", "3")
    app.selectbox(key=f"{KEY}_text_column").set_value("id").run()
    assert read_lines(box(app)).sentences == ("1", "2", "3")


def test_a_table_is_drawn_from_as_a_whole_until_its_box_is_edited():
    app = finished(uploaded("a.csv", SORTED))
    lines = read_lines(box(app))
    assert len(lines.sentences) == 200
    assert set(lines.labels) == {"early", "late"}
    assert "taken from the file: 200 of 600" in said(app)
    app.number_input(key=f"{KEY}_file_seed").set_value(5).run()
    other = read_lines(box(finished(app)))
    assert other.sentences != lines.sentences
    app.text_area(key=KEY).set_value(box(app) + " more").run()
    assert "taken from the file" not in said(finished(app))
    app.get_by_key(f"{KEY}_way").set_value("first").run()
    assert "taken from the file: 200 of 600" in said(finished(app))
    first = read_lines(box(app))
    assert first.sentences[-1] == "sentence number 199"
    assert set(first.labels) == {"early"}


def test_strokes_in_a_table_make_no_group_and_no_pair():
    app = finished(
        uploaded("a.csv", "text\nPrice | 20 euros\nx || y\n价格｜20\none lamp\n")
    )
    found = read_lines(box(app))
    assert found.sentences == ("Price |20 euros", "x ||y", "价格|20", "one lamp")
    assert not found.has_labels
    assert [split_pair(sentence)[1] for sentence in found.sentences] == [None] * 4
    assert "taken from the file: 4 of 4" in said(app)


def test_the_sample_tables_need_no_file():
    app = open_page()
    for name, sample in SAMPLES.items():
        app.button(key=f"{KEY}_sample_{name}").click().run()
        lines = read_lines(box(finished(app)))
        table = read_table(table_path(sample))
        assert len(lines.sentences) == 200
        assert set(lines.labels) == set(table.cells[:, 1])
        assert f"taken from the file: 200 of {table.num_rows}" in said(app)
    app.button(key=f"{KEY}_reset").click().run()
    assert "taken from the file" not in said(finished(app))


def test_the_table_of_the_fine_tuning_page_is_offered():
    app = open_page()
    assert not has(app, f"{KEY}_trained_on")
    own = keep_table("text;topic\nthé noir;a\ncafé;b\nun thé;a\n".encode("cp1252"))
    app.session_state[STATE] = FineTuneState(
        table=own, name="mine.csv", encoding="cp1252"
    )
    app.run()
    button = app.button(key=f"{KEY}_trained_on")
    assert r"mine\.csv" in button.label  # as Markdown
    lines = read_lines(box(finished(button.click().run())))
    assert (lines.sentences, lines.labels) == (
        ("thé noir", "café", "un thé"),
        ("a", "b", "a"),
    )
    forget_table(own)
    app.button(key=f"{KEY}_trained_on").click().run()
    assert "no longer here" in app.error[0].value


def test_what_fits_stays_whole_at_the_next_click_and_the_rest_is_told():
    rows = "\n".join(f"{i} " + "word " * 120 for i in range(180))
    app = uploaded("a.txt", rows)
    text = box(app)
    assert "holds 60,000 characters" in said(app)
    assert 59_000 < len(text) <= 60_000
    assert all(line.endswith("word") for line in text.splitlines())
    assert f"{len(text.splitlines())} " in said(app)
    app.run()
    assert box(app) == text


def test_rows_that_are_left_out_are_named():
    rows = "".join(f"lamp {i},x\n" for i in range(9))
    app = finished(uploaded("a.csv", f"text,topic\n{rows}one,two,three\n"))
    assert "more cells than the first row are left out: 11" in said(app)


def test_a_file_that_is_no_table_says_so_and_leaves_the_box_alone():
    app = open_page()
    before = box(app)
    app.file_uploader[0].set_value(("a.csv", b"", "text/csv")).run()
    assert not app.exception
    assert "empty" in app.error[0].value
    assert box(app) == before


def test_lines_of_a_text_file_are_read_as_typed():
    lines, _ = read_file("a.TXT", "天气\t下雨了。\n\n很好，真的。\n".encode("gb18030"))
    assert lines.sentences == ("下雨了。", "很好，真的。")
    assert lines.labels == ("天气", "")
    with pytest.raises(DatasetError):
        read_file("a.txt", b"%PDF-1.7")


@pytest.mark.parametrize(
    ("panel", "key", "english"),
    [
        ("sentences", "embeddings_points", "token_index"),
        ("senses", "embeddings_senses_map", "first_token_index"),
    ],
)
def test_the_table_of_sentences_is_chinese_but_the_projectors_is_not(
    panel, key, english, offered
):
    link = {"model": DEFAULT_MODEL, "embeddings_panel": panel}
    app = finished(real_pages.open_page("embeddings", "zh", **link))
    finished(app.pills(key=f"{key}_tools").set_value("download").run())
    assert english in offered["tsv"]
    headers = list(offered["csv"])
    assert len(headers) == len(set(headers)) > len(offered["tsv"])
    assert not any(re.fullmatch(r"[ -~]+", header) for header in headers), headers
    first, *_ = offered["csv"].values()
    assert first == list(next(iter(offered["tsv"].values())))
