"""Visitors' files: private, unread until asked for, gone when nobody comes back."""

import io
import os
import stat
import time

import pytest

from bertviz_core.engine import connect
from bertviz_core.engine.finetune_engine import FinetuneEngine
from bertviz_core.errors import DatasetError, EngineError, TrainingError
from bertviz_core.finetune import workplace
from bertviz_core.finetune.request import SAMPLES
from bertviz_core.finetune.table_limits import Limits


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    monkeypatch.delenv("BERTVIZ_LEASE_MINUTES", raising=False)
    return tmp_path


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def grow_old(folder, seconds):
    then = time.time() - seconds
    for path in (folder, *folder.iterdir()):
        os.utime(path, (then, then))


@pytest.mark.parametrize("as_file", [True, False])
def test_a_kept_table_holds_the_bytes_that_came(as_file):
    data = bytes(range(256)) * 5000  # longer than a chunk
    table = workplace.keep_table(io.BytesIO(data) if as_file else data)
    assert workplace.table_path(table).read_bytes() == data


GONE = "no longer here"


def test_two_visitors_with_the_same_file_have_two_private_tables(cache):
    first, second = workplace.keep_table(b"a,b"), workplace.keep_table(b"a,b")
    assert first != second
    workplace.forget_table(first)
    assert workplace.table_path(second).read_bytes() == b"a,b"
    with pytest.raises(DatasetError, match=GONE):
        workplace.table_path(first)
    # Nobody else on the machine can read it.
    assert stat.S_IMODE((cache / "fine-tuning").stat().st_mode) == 0o700


class Broken(io.BytesIO):
    def read(self, size=-1):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (io.BytesIO(b"PK\x03\x04..."), "not a table in text form"),
        (io.BytesIO(b"<!doctype html>"), "not a table in text form"),
        (io.BytesIO(b"x" * 100), "too large"),
        (Broken(), "No space left"),
    ],
)
def test_a_file_that_cannot_be_kept_is_refused_and_leaves_nothing(
    cache, monkeypatch, file, words
):
    monkeypatch.setattr(workplace, "DEFAULT_LIMITS", Limits(max_bytes=99))
    assert workplace.keep_table(b"x" * 99)
    before = files_in(cache)
    with pytest.raises(DatasetError, match=words):
        workplace.keep_table(file)
    assert files_in(cache) == before


@pytest.mark.parametrize(
    "table",
    ["", "/etc/passwd", "file:../../../etc/passwd", "file:" + "0" * 32,
     "file:" + "A" * 32, "sample:../../README", "sample:no_such",
     "run:" + "0" * 32 + "/table", "run:" + "0" * 32 + "/../table",
     "file:" + "0" * 32 + "\n"],
)  # fmt: skip
def test_only_our_own_handles_name_a_table(table):
    with pytest.raises(DatasetError, match=GONE):
        workplace.table_path(table)
    workplace.forget_table(table)


@pytest.mark.parametrize("run_id", ["", ".", "..", "../tables", "x" * 32, "0" * 32])
def test_only_our_own_ids_name_a_run(run_id):
    with pytest.raises(TrainingError, match="no longer here"):
        workplace.run_folder(run_id)
    with pytest.raises(TrainingError, match="no longer here"):
        workplace.open_model_folder(f"run:{run_id}")
    workplace.remove_run(run_id)
    assert workplace.runs_folder().is_dir()


def test_the_sweep_takes_what_nobody_asked_for_and_no_run_that_is_in_use():
    old_table, new_table = workplace.keep_table(b"1"), workplace.keep_table(b"2")
    old_run, used_run, new_run = (workplace.new_run_folder() for _ in range(3))
    sample = workplace.table_path(SAMPLES["en"])
    for folder in (workplace.table_path(old_table).parent, old_run, used_run):
        grow_old(folder, 3700)
    workplace.sweep(lambda folder: folder == used_run)
    assert not old_run.exists()
    assert used_run.exists()
    assert new_run.exists()
    assert workplace.table_path(new_table)
    with pytest.raises(DatasetError):
        workplace.table_path(old_table)
    workplace.forget_table(SAMPLES["en"])
    assert sample.is_file()


def test_asking_renews_a_lease_which_can_be_set(monkeypatch):
    table, run = workplace.keep_table(b"1"), workplace.new_run_folder()
    folder = workplace.table_path(table).parent
    grow_old(folder, 3700)
    assert workplace.is_abandoned(folder)
    workplace.table_path(table)
    assert not workplace.is_abandoned(folder)
    grow_old(run, 250)
    assert not workplace.is_abandoned(run)
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", "4")
    assert workplace.is_abandoned(run)
    assert workplace.is_abandoned(run / "absent")


@pytest.mark.parametrize("can_link", [True, False])
def test_a_run_keeps_its_own_copy_of_a_table(monkeypatch, can_link):
    def refuse(*_):
        raise OSError

    if not can_link:
        monkeypatch.setattr(os, "link", refuse)
    table, run = workplace.keep_table(b"a,b"), workplace.new_run_folder()
    lent = workplace.lend_table(table, run, "validation")
    workplace.forget_table(table)
    assert workplace.table_path(lent).read_bytes() == b"a,b"
    assert workplace.lend_table("sample:library_en", run, "table").startswith("sample:")
    workplace.remove_run(run.name)
    with pytest.raises(DatasetError):
        workplace.table_path(lent)


def test_a_run_without_a_model_opens_none():
    run = workplace.new_run_folder()
    with pytest.raises(TrainingError, match="no model yet"):
        workplace.open_model_folder(f"run:{run.name}")
    (run / "model").mkdir()
    assert workplace.open_model_folder(f"run:{run.name}") == run / "model"


@pytest.mark.parametrize("predicted", [0, 10])
def test_beyond_a_limit_the_tables_go_that_were_not_used_for_the_longest_time(
    monkeypatch, predicted
):
    """What models said of a table counts with it."""
    monkeypatch.setattr(workplace, "MAX_TABLES_BYTES", 25)
    first, second = workplace.keep_table(b"x" * 10), workplace.keep_table(b"y" * 5)
    folders = [workplace.table_path(table).parent for table in (first, second)]
    if predicted:
        (folders[0] / "predicted-0a.csv").write_bytes(b"x" * predicted)
    for folder, seconds in zip(folders, (500, 900), strict=True):
        grow_old(folder, seconds)
    third = workplace.keep_table(b"z" * (15 - predicted))
    assert workplace.table_path(first)
    assert workplace.table_path(third)
    with pytest.raises(DatasetError, match=GONE):
        workplace.table_path(second)


def test_no_run_begins_without_room_on_the_disk(monkeypatch):
    monkeypatch.setattr(workplace, "MIN_FREE_BYTES", 2**62)
    with pytest.raises(TrainingError, match="too little room"):
        workplace.new_run_folder()
    assert list(workplace.runs_folder().iterdir()) == []


def test_a_sweep_makes_no_folder_where_nobody_ever_trained(cache):
    workplace.sweep(lambda _: False)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("wrong", ["an hour", "0", "-5", "1.5"])
def test_a_lease_that_is_no_number_is_said_at_the_start(monkeypatch, wrong):
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", wrong)
    with pytest.raises(EngineError, match=f"BERTVIZ_LEASE_MINUTES .* {wrong}"):
        connect()


def test_a_refused_table_goes_in_minutes_unless_it_is_read_after_all():
    client = FinetuneEngine()
    table = workplace.keep_table(b"text,label\na,b\n")
    folder = workplace.table_path(table).parent
    client.keep_table_briefly(table)
    assert not workplace.is_abandoned(folder, time.time() + 590)
    assert workplace.is_abandoned(folder, time.time() + 610)
    assert client.renew_table(table)
    assert not workplace.is_abandoned(folder, time.time() + 3500)
    samples = workplace.table_path(SAMPLES["en"])
    before = sorted(path.name for path in samples.parent.iterdir())
    client.keep_table_briefly(SAMPLES["en"])
    assert sorted(path.name for path in samples.parent.iterdir()) == before
    client.keep_table_briefly("file:" + "0" * 32)  # gone: nothing happens
