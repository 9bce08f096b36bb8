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


def test_nobody_else_on_the_machine_can_read_it(cache):
    workplace.keep_table(b"a,b")
    folders = [path for path in cache.rglob("*") if path.is_dir()]
    outer = cache / "fine-tuning"
    assert len(folders) == 3
    assert stat.S_IMODE(outer.stat().st_mode) == 0o700


def test_two_visitors_with_the_same_file_have_two_tables():
    first, second = workplace.keep_table(b"a,b"), workplace.keep_table(b"a,b")
    assert first != second
    workplace.forget_table(first)
    assert workplace.table_path(second).read_bytes() == b"a,b"
    with pytest.raises(DatasetError, match="no longer here"):
        workplace.table_path(first)


@pytest.mark.parametrize("data", [b"PK\x03\x04...", b"%PDF-1.7", b"<!doctype html>"])
def test_a_file_of_another_kind_is_refused_and_leaves_nothing(cache, data):
    with pytest.raises(DatasetError, match="not a table in text form"):
        workplace.keep_table(io.BytesIO(data))
    assert files_in(cache) == []


def test_a_file_beyond_the_limit_is_refused_and_leaves_nothing(cache, monkeypatch):
    monkeypatch.setattr(workplace, "DEFAULT_LIMITS", Limits(max_bytes=99))
    assert workplace.keep_table(b"x" * 99)
    before = files_in(cache)
    with pytest.raises(DatasetError, match="too large"):
        workplace.keep_table(io.BytesIO(b"x" * 100))
    assert files_in(cache) == before


def test_a_full_disk_is_told_and_leaves_nothing(cache):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            raise OSError(28, "No space left on device")

    with pytest.raises(DatasetError, match="No space left"):
        workplace.keep_table(Broken())
    assert files_in(cache) == []


@pytest.mark.parametrize(
    "table",
    [
        "",
        "/etc/passwd",
        "file:../../../etc/passwd",
        "file:" + "0" * 32,
        "file:" + "A" * 32,
        "sample:../../README",
        "sample:no_such",
        "run:" + "0" * 32 + "/table",
        "run:" + "0" * 32 + "/../table",
        "file:" + "0" * 32 + "\n",
    ],
)
def test_only_our_own_handles_name_a_table(table):
    with pytest.raises(DatasetError, match="no longer here"):
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


@pytest.mark.parametrize("name", ["library_en", "reviews_zh"])
def test_samples_are_never_removed(name):
    path = workplace.table_path(f"sample:{name}")
    workplace.forget_table(f"sample:{name}")
    workplace.sweep(lambda _: False)
    assert path.is_file()


def test_the_sweep_takes_what_nobody_asked_for_and_no_run_that_is_in_use():
    old_table, new_table = workplace.keep_table(b"1"), workplace.keep_table(b"2")
    old_run, used_run, new_run = (workplace.new_run_folder() for _ in range(3))
    grow_old(workplace.table_path(old_table).parent, 3700)
    for folder in (old_run, used_run):
        grow_old(folder, 3700)
    workplace.sweep(lambda folder: folder == used_run)
    assert not old_run.exists()
    assert used_run.exists()
    assert new_run.exists()
    assert workplace.table_path(new_table)
    with pytest.raises(DatasetError):
        workplace.table_path(old_table)


def test_asking_renews_a_lease():
    table = workplace.keep_table(b"1")
    folder = workplace.table_path(table).parent
    grow_old(folder, 3700)
    assert workplace.is_abandoned(folder)
    workplace.table_path(table)
    assert not workplace.is_abandoned(folder)


def test_the_lease_can_be_set(monkeypatch):
    folder = workplace.new_run_folder()
    grow_old(folder, 250)
    assert not workplace.is_abandoned(folder)
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", "4")
    assert workplace.is_abandoned(folder)
    assert workplace.is_abandoned(folder / "absent")


def test_a_run_keeps_its_own_copy_of_a_table():
    table, run = workplace.keep_table(b"a,b"), workplace.new_run_folder()
    lent = workplace.lend_table(table, run, "validation")
    workplace.forget_table(table)
    assert workplace.table_path(lent).read_bytes() == b"a,b"
    assert workplace.lend_table("sample:library_en", run, "table").startswith("sample:")
    workplace.remove_run(run.name)
    with pytest.raises(DatasetError):
        workplace.table_path(lent)


def test_a_copy_is_made_where_files_cannot_be_linked(monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    table, run = workplace.keep_table(b"a,b"), workplace.new_run_folder()
    lent = workplace.lend_table(table, run, "table")
    assert workplace.table_path(lent).read_bytes() == b"a,b"


def test_a_run_without_a_model_opens_none():
    run = workplace.new_run_folder()
    with pytest.raises(TrainingError, match="no model yet"):
        workplace.open_model_folder(f"run:{run.name}")
    (run / "model").mkdir()
    assert workplace.open_model_folder(f"run:{run.name}") == run / "model"


def test_beyond_a_limit_the_tables_go_that_were_not_used_for_the_longest_time(
    monkeypatch,
):
    monkeypatch.setattr(workplace, "MAX_TABLES_BYTES", 25)
    first, second = workplace.keep_table(b"x" * 10), workplace.keep_table(b"y" * 10)
    grow_old(workplace.table_path(first).parent, 500)
    grow_old(workplace.table_path(second).parent, 900)
    third = workplace.keep_table(b"z" * 15)
    assert workplace.table_path(first)
    assert workplace.table_path(third)
    with pytest.raises(DatasetError, match="no longer here"):
        workplace.table_path(second)


def test_what_models_said_of_a_table_counts_with_it(monkeypatch):
    monkeypatch.setattr(workplace, "MAX_TABLES_BYTES", 25)
    first, second = workplace.keep_table(b"x" * 10), workplace.keep_table(b"y" * 5)
    grow_old(workplace.table_path(first).parent, 500)
    grow_old(workplace.table_path(second).parent, 900)
    (workplace.table_path(first).parent / "predicted-0a.csv").write_bytes(b"x" * 10)
    grow_old(workplace.table_path(first).parent, 500)
    workplace.keep_table(b"z" * 5)
    assert workplace.table_path(first)
    with pytest.raises(DatasetError, match="no longer here"):
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
