"""Files that visitors bring and leave, and how they are written whole."""

import contextlib
import io
import os
import stat
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertviz_core import visitor_files, whole_files
from bertviz_core.cached_files import incoming_file
from bertviz_core.engine import connect
from bertviz_core.errors import DatasetError, EngineError, StorageError, TrainingError
from bertviz_core.training.finetune import visitor_tables
from bertviz_core.training.finetune.request import SAMPLES
from bertviz_core.training.finetune.table import Limits
from bertviz_core.training.finetune.visitor_tables import (
    forget_table,
    keep_table,
    table_path,
)
from bertviz_core.training.run_folder import read_json, write_json
from bertviz_core.visitor_files import RUNS, TABLES, UPLOADS, place_of, run_folder
from bertviz_core.whole_files import replace_folder, write_whole

pytestmark = pytest.mark.usefixtures("cache")
GONE = "no longer here"


def files_in(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def grow_old(folder, seconds):
    then = time.time() - seconds
    for path in (folder, *folder.iterdir()):
        os.utime(path, (then, then))


def new_run(owner=""):
    folder = place_of(RUNS) / uuid.uuid4().hex
    folder.mkdir()
    (folder / "request.json").touch()
    visitor_files.own(folder, owner)
    return folder


@pytest.mark.parametrize("as_file", [True, False])
def test_a_kept_table_holds_the_bytes_that_came(as_file):
    data = bytes(range(256)) * 5000  # longer than a chunk
    table = keep_table(io.BytesIO(data) if as_file else data)
    assert table_path(table).read_bytes() == data


def test_two_visitors_with_the_same_file_have_two_private_tables(cache):
    first, second = keep_table(b"a,b", "ann"), keep_table(b"a,b", "bob")
    assert first != second
    forget_table(first, "bob")  # who has the link, but not the table
    assert table_path(first)
    forget_table(first, "ann")
    assert table_path(second).read_bytes() == b"a,b"
    with pytest.raises(DatasetError, match=GONE):
        table_path(first)
    # Nobody else on the machine can read it.
    assert stat.S_IMODE((cache / "fine-tuning").stat().st_mode) == 0o700


class Broken(io.BytesIO):
    def read(self, size=-1):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (io.BytesIO(b"%PDF-1.7 ..."), "not a table in text form"),
        (io.BytesIO(b"<!doctype html>"), "not a table in text form"),
        (io.BytesIO(b"x" * 100), "too large"),
        (Broken(), "No space left"),
    ],
)
def test_a_file_that_cannot_be_kept_is_refused_and_leaves_nothing(
    cache, monkeypatch, file, words
):
    monkeypatch.setattr(visitor_tables, "DEFAULT_LIMITS", Limits(max_bytes=99))
    assert keep_table(b"x" * 99)
    before = files_in(cache)
    with pytest.raises(DatasetError, match=words):
        keep_table(file)
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
        table_path(table)
    forget_table(table)
    visitor_files.renew_named(table)


@pytest.mark.parametrize("run_id", ["", ".", "..", "../tables", "x" * 32, "0" * 32])
def test_only_our_own_ids_name_a_run(run_id):
    with pytest.raises(TrainingError, match=GONE):
        run_folder(run_id)
    with pytest.raises(TrainingError, match=GONE):
        visitor_files.model_of_run(f"run:{run_id}")


def test_the_sweep_takes_what_nobody_asked_for_and_no_run_that_is_in_use():
    old_table, new_table = keep_table(b"1"), keep_table(b"2")
    old_run, used_run, new_run_ = (new_run() for _ in range(3))
    sample = table_path(SAMPLES["library_en"])
    for folder in (table_path(old_table).parent, old_run, used_run):
        grow_old(folder, 3700)
    visitor_files.sweep(TABLES)
    visitor_files.sweep(RUNS, lambda folder: folder == used_run)
    assert not old_run.exists()
    assert used_run.exists()
    assert new_run_.exists()
    assert table_path(new_table)
    with pytest.raises(DatasetError):
        table_path(old_table)
    forget_table(SAMPLES["library_en"])
    assert sample.is_file()


def test_asking_renews_a_lease_which_can_be_set(monkeypatch):
    table, run = keep_table(b"1"), new_run()
    folder = table_path(table).parent
    for ask in (table_path, visitor_files.renew_named):
        grow_old(folder, 3700)
        assert visitor_files.is_abandoned(folder)
        ask(table)
        assert not visitor_files.is_abandoned(folder)
    grow_old(run, 250)
    assert not visitor_files.is_abandoned(run)
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", "4")
    assert visitor_files.is_abandoned(run)
    visitor_files.renew_named(f"run:{run.name}")
    assert not visitor_files.is_abandoned(run)
    assert visitor_files.is_abandoned(run / "absent")


def test_all_leases_are_renewed_together():
    folders = [table_path(keep_table(b"1")).parent, new_run()]
    for folder in folders:
        grow_old(folder, 9_000)
        assert visitor_files.is_abandoned(folder)
    visitor_files.renew_all()
    assert not any(map(visitor_files.is_abandoned, folders))


def test_a_server_whose_clock_is_wrong_removes_nothing(monkeypatch):
    folder = new_run()
    hours = time.time() + 50_000
    monkeypatch.setattr(time, "time", lambda: hours)
    visitor_files.sweep(RUNS)
    assert folder.exists()


@pytest.mark.parametrize("can_link", [True, False])
def test_a_run_keeps_its_own_copy_of_a_table(monkeypatch, can_link):
    def refuse(*_):
        raise OSError

    if not can_link:
        monkeypatch.setattr(os, "link", refuse)
    table, run = keep_table(b"a,b"), new_run()
    lent = visitor_tables.lend_table(table, run, "validation")
    forget_table(table)
    assert table_path(lent).read_bytes() == b"a,b"
    sample = visitor_tables.lend_table(SAMPLES["library_en"], run, "table")
    assert sample == SAMPLES["library_en"]
    visitor_files.remove(run)
    with pytest.raises(DatasetError):
        table_path(lent)


def test_a_run_without_a_model_opens_none():
    run = new_run()
    with pytest.raises(TrainingError, match="no model yet"):
        visitor_files.model_of_run(f"run:{run.name}")
    (run / "model").mkdir()
    assert visitor_files.model_of_run(f"run:{run.name}") == run / "model"


MEGABYTE = 1_000_000


@pytest.fixture
def ten_megabytes(monkeypatch):
    """Room for all; a visitor has 2.5 of them."""
    monkeypatch.setenv("BERTVIZ_MAX_KEPT_MB", "10")


def megabytes(count, owner, seconds_ago=0.0):
    folder = new_run(owner)
    (folder / "weights").write_bytes(b"x" * int(count * MEGABYTE))
    grow_old(folder, seconds_ago)
    return folder


def test_what_is_used_stays_and_the_newcomer_gets_a_sentence(ten_megabytes):
    used = [megabytes(2, f"visitor {number}", 3500) for number in range(4)]
    visitor_files.require_room(MEGABYTE, "new")
    with pytest.raises(StorageError, match="2 MB more, of which 1 MB are left"):
        visitor_files.require_room(2 * MEGABYTE, "new")
    assert all(folder.exists() for folder in used)


def test_what_nobody_uses_makes_room_the_oldest_first(ten_megabytes):
    used = megabytes(2, "ann", 3500)
    old = [megabytes(2, f"visitor {age}", age) for age in (8000, 9000, 7000)]
    visitor_files.require_room(3 * MEGABYTE)
    assert [folder.exists() for folder in [used, *old]] == [True, True, False, True]


def test_an_owner_has_a_share_of_the_room(ten_megabytes):
    megabytes(2, "ann")
    megabytes(2, "bob")
    with pytest.raises(StorageError, match="3 MB; each visitor has 2 MB"):
        visitor_files.require_room(MEGABYTE, "ann")
    table = b"a,b\n" * (MEGABYTE // 4)
    with pytest.raises(StorageError, match="each visitor"):
        keep_table(table, "ann")
    assert list(place_of(TABLES).glob("*")) == []
    assert keep_table(table, "carol")


def test_what_two_have_brought_goes_with_the_second_of_them():
    folder = place_of(UPLOADS) / "0a"
    folder.mkdir()
    for owner in ("ann", "bob", "ann"):
        visitor_files.own(folder, owner)
    assert visitor_files.owners_of(folder) == {"ann", "bob"}
    visitor_files.disown(folder, "ann")
    visitor_files.disown(folder, "eve")
    assert folder.exists()
    visitor_files.disown(folder, "bob")
    assert not folder.exists()


def test_what_was_never_finished_goes_after_an_hour(ten_megabytes, monkeypatch):
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", "1")
    left, at_work = (place_of(UPLOADS) / name for name in ("unpack-1", "unpack-2"))
    for folder, seconds in ((left, 3700), (at_work, 3500)):
        folder.mkdir()
        (folder / "weights").write_bytes(b"x" * 4 * MEGABYTE)
        grow_old(folder, seconds)
    visitor_files.require_room(4 * MEGABYTE)
    assert at_work.exists()
    assert not left.exists()


def test_a_sweep_makes_no_folder_where_nobody_ever_trained(cache):
    visitor_files.sweep(RUNS)
    assert not cache.exists()


@pytest.mark.parametrize(
    "variable",
    [
        *("BERTVIZ_LEASE_MINUTES", "BERTVIZ_MAX_KEPT_MB", "BERTVIZ_MAX_MODELS"),
        *("BERTVIZ_MAX_TRACE_MB", "BERTVIZ_TRAINING_SLOTS"),
        *("BERTVIZ_MAX_TRAINING_MINUTES", "BERTVIZ_MAX_MODEL_MB"),
    ],
)
def test_a_limit_that_is_no_number_is_said_at_the_start(monkeypatch, variable):
    monkeypatch.setenv(variable, "an hour")
    with pytest.raises(EngineError, match=f"{variable} .* an hour"):
        connect()


def waiting(cache):
    return list((cache / "incoming").iterdir())


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("bert-uncased.zip", "bert-uncased.zip"),
        ("中文 模型.zip", "中文_模型.zip"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "file"),
        ("", "file"),
        ("x" * 300 + ".zip", "x" * 56 + ".zip"),
    ],
)
def test_a_name_is_kept_as_far_as_it_is_harmless(cache, name, kept):
    with incoming_file(name) as path:
        path.write_bytes(b"content")
        assert path.name == kept
        assert path.parent.parent == cache / "incoming"
    assert waiting(cache) == []


def test_two_files_of_one_name_do_not_meet():
    with incoming_file("model.zip") as first, incoming_file("model.zip") as second:
        assert first != second


def test_nothing_stays_however_the_work_ends(cache):
    with contextlib.suppress(KeyboardInterrupt), incoming_file("model.zip") as path:
        path.write_bytes(b"content")
        raise KeyboardInterrupt
    assert waiting(cache) == []


def test_what_a_stopped_server_left_is_removed_and_what_is_at_work_is_not(cache):
    for name, hours in (("left", 25), ("at_work", 1)):
        folder = cache / "incoming" / name
        folder.mkdir(parents=True)
        then = time.time() - hours * 3600
        os.utime(folder, (then, then))
    with incoming_file("model.zip"):
        pass
    assert [path.name for path in waiting(cache)] == ["at_work"]


def test_many_writers_of_one_file_never_meet(tmp_path):
    path, texts = tmp_path / "it.json", [str(i) * 5000 for i in range(4)]
    write_json(path, texts[0])
    found = []

    def write(text):
        for _ in range(100):
            write_json(path, text)
            found.append(read_json(path))

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(write, texts))
    assert len(found) == 400
    assert set(found) <= set(texts)
    assert [file.name for file in tmp_path.iterdir()] == ["it.json"]


def test_a_file_that_cannot_be_written_stays_and_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "it.txt"
    write_whole(path, b"first\n")
    write = Path.write_bytes

    def full(self, data):
        write(self, data[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "second\n")
    assert path.read_bytes() == b"first\n"
    assert [file.name for file in tmp_path.iterdir()] == ["it.txt"]


def new_folder(parent, content):
    folder = parent / "new"
    folder.mkdir()
    (folder / "word").write_text(content)
    return folder


@pytest.fixture(params=["in one go", "not on this system", "not on this disk"])
def ways(request, monkeypatch):
    if request.param == "not on this system":
        monkeypatch.setattr(whole_files, "_exchange", lambda: None)
    elif request.param == "not on this disk":
        monkeypatch.setattr(whole_files, "_exchange", lambda: lambda one, other: False)


@pytest.mark.usefixtures("ways")
def test_a_folder_takes_the_place_of_another_or_that_one_stays(tmp_path):
    folder = tmp_path / "model"
    for content in ("first", "second", "third"):
        replace_folder(new_folder(tmp_path, content), folder)
        assert (folder / "word").read_text() == content
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
    with pytest.raises(OSError, match="absent"):
        replace_folder(tmp_path / "absent", folder)
    assert (folder / "word").read_text() == "third"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(whole_files._exchange() is None, reason="needs Linux")
def test_readers_always_find_a_whole_folder(tmp_path):
    folder, is_over, missed = tmp_path / "model", threading.Event(), []
    replace_folder(new_folder(tmp_path, "0"), folder)

    def look():
        while not is_over.is_set():
            if not os.path.exists(folder):
                missed.append(1)

    reader = threading.Thread(target=look)
    reader.start()
    for i in range(100):
        replace_folder(new_folder(tmp_path, str(i)), folder)
    is_over.set()
    reader.join()
    assert not missed
