import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertviz_core import whole_files
from bertviz_core.training.run_folder import read_json, write_json
from bertviz_core.whole_files import replace_folder, write_whole


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
    write_whole(path, "first\n")

    def full(self, text, **_):
        self.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
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
