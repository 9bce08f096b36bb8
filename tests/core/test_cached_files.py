import contextlib
import os
import time

import pytest

from bertviz_core.cached_files import incoming_file


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    return tmp_path


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
