import os
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bertviz_core import visitor_files
from bertviz_core.cached_files import cache_folder
from bertviz_core.checkpoints import catalogue
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.checkpoints.library import (
    add_upload,
    list_models,
    list_uploads,
    open_model,
    remove_upload,
)
from bertviz_core.errors import CheckpointError, StorageError
from bertviz_core.experiments.stored_maps import find_map
from bertviz_core.training.finetune.visitor_tables import keep_table
from bertviz_core.weights import as_numpy
from tests.core.checkpoint_copies import GOOGLE, HF, hf_copy, weights_of_hf
from tests.core.engine_waiting import run_python

pytestmark = pytest.mark.usefixtures("cache")
CHINESE = "bert-mini-zh"
BUNDLED = [(DEFAULT_MODEL, "en"), (CHINESE, "zh")]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def zip_of(folder, path):
    with zipfile.ZipFile(path, "w") as target:
        for file in sorted(folder.iterdir()):
            target.write(file, f"{folder.name}/{file.name}")
    return path


@pytest.fixture
def model_zip(tmp_path):
    return zip_of(HF, tmp_path / "model.zip")


def downloaded(name="some/model", commit=COMMIT, asked=""):
    """What a finished download leaves in the cache."""
    outer = cache_folder(catalogue.HUB) / f"{name.replace('/', '--')}@{commit}"
    shutil.copytree(HF, outer / name.rpartition("/")[2])
    catalogue.write_entry(outer, name, commit, asked)
    return outer


def test_a_fresh_machine_lists_what_is_bundled():
    entries = list_models()
    assert [(entry.model_id, entry.language) for entry in entries] == BUNDLED
    for entry in entries:
        assert entry.origin == "bundled"
        file = catalogue.BUNDLED_FOLDER / entry.model_id / "model.safetensors"
        assert entry.size_bytes == file.stat().st_size <= 25e6


def test_listing_loads_nothing_heavy():
    code = (
        "import sys; from bertviz_core.checkpoints.library import list_models; "
        "list_models(); assert not {'keras', 'tensorflow', 'openvino', 'tokenizers', "
        "'torch', 'huggingface_hub'} & set(sys.modules)"
    )
    run_python("-c", code)


def test_a_download_is_listed_and_opened_without_a_server():
    downloaded()
    (entry,) = [e for e in list_models() if e.origin == "cached"]
    assert entry.model_id == f"some/model@{COMMIT}"
    assert entry.title == "some/model (01234567)"
    for model_id in ("some/model", f"some/model@{COMMIT}", "some/model@0123456"):
        assert open_model(model_id).model_id == f"some/model@{COMMIT}"


def test_the_branch_that_was_asked_for_finds_its_download_else_the_latest_one():
    first, second = downloaded(commit="a" * 40, asked="v2"), downloaded(commit="b" * 40)
    os.utime(second, (2000, 2000))
    for first_time, latest in ((1000, "b"), (3000, "a")):
        os.utime(first, (first_time, first_time))
        assert open_model("some/model").model_id == f"some/model@{latest * 40}"
        assert open_model("some/model@v2").model_id == f"some/model@{'a' * 40}"


@pytest.mark.parametrize("text", [None, "", "[]", "{}"])
def test_a_download_that_was_broken_off_or_whose_entry_is_spoiled_is_not_listed(text):
    entry = downloaded() / catalogue.ENTRY_FILE
    entry.unlink() if text is None else entry.write_text(text)
    assert {entry.origin for entry in list_models()} == {"bundled"}


@pytest.mark.parametrize("source", [HF, GOOGLE])
def test_a_folder_and_its_zip_are_the_same_model(tmp_path, source):
    path = zip_of(source, tmp_path / "model.zip")
    from_folder, from_zip = open_model(str(source)), open_model(str(path))
    assert from_zip.model_id == str(path)
    assert from_zip.tokenizer.vocabulary == from_folder.tokenizer.vocabulary
    pairs = zip(from_folder.model.weights, from_zip.model.weights, strict=True)
    assert all(np.array_equal(as_numpy(a), as_numpy(b)) for a, b in pairs)


def test_an_upload_outlives_its_file_and_is_its_owners_business(tmp_path, model_zip):
    entry = add_upload(model_zip, "My model")
    model_zip.unlink()
    assert (entry.title, entry.origin) == ("My model", "upload")
    assert entry.size_bytes == (HF / "model.safetensors").stat().st_size
    assert open_model(entry.model_id).model.config.vocab_size == 61
    assert str(tmp_path) not in entry.model_id
    assert entry not in list_models()
    assert list_uploads() == (entry,)


def test_a_title_holds_no_control_characters_and_not_much(model_zip):
    title = add_upload(model_zip, "a\nb\x00c\x1b" + "d" * 999).title
    assert title == "abc" + "d" * 77


def test_an_upload_that_does_not_open_leaves_nothing(tmp_path, cache):
    weights = weights_of_hf()
    weights["bert.pooler.dense.weight"][3, 4] = np.nan
    infinite = hf_copy(tmp_path, weights, name="infinite")
    unfit = hf_copy(tmp_path, config={"intermediate_size": 38}, name="unfit")
    for folder, said in (
        (infinite, "infinite or undefined"),
        (unfit, "does not match its config"),
    ):
        with pytest.raises(CheckpointError, match=said):
            add_upload(zip_of(folder, tmp_path / "model.zip"))
        assert list((cache / "uploads").iterdir()) == []


def test_an_upload_is_removed(model_zip, cache):
    entry = add_upload(model_zip)
    for other in ("upload:", "upload:..", f"upload:{'0' * 32}", str(HF)):
        remove_upload(other)
    assert list_uploads() == (entry,)
    remove_upload(entry.model_id)
    remove_upload(entry.model_id)
    assert list((cache / "uploads").iterdir()) == []
    with pytest.raises(CheckpointError, match="no longer here"):
        open_model(entry.model_id)


def test_a_zip_that_is_opened_where_it_lies_is_nobodys_upload(model_zip):
    open_model(str(model_zip))
    assert list_uploads() == ()
    entry = add_upload(model_zip)
    open_model(str(model_zip))
    assert list_uploads() == (entry,)
    assert entry.title == "model"


def test_the_uploads_that_were_not_used_for_the_longest_time_go(tmp_path, monkeypatch):
    entries = []
    for index in range(3):
        folder = hf_copy(tmp_path, name=f"model{index}")
        entries.append(add_upload(zip_of(folder, tmp_path / f"{index}.zip")))
        made = catalogue.cached_uploads()[0].folder.parent
        os.utime(made / "lease", (1000 + index, 1000 + index))
    size = sum(file.stat().st_size for file in made.rglob("*") if file.is_file())
    monkeypatch.setattr(visitor_files, "max_kept_bytes", lambda: 3 * size + 100)
    open_model(entries[0].model_id)  # is now the latest use
    add_upload(zip_of(hf_copy(tmp_path, name="new"), tmp_path / "new.zip"))
    assert list_uploads()[1:] == (entries[0], entries[2])


def test_an_upload_counts_unpacked_and_leaves_nothing_where_there_is_no_room(
    tmp_path, monkeypatch
):
    path = zip_of(hf_copy(tmp_path, name="large"), tmp_path / "large.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("large/tokenizer.json", "{}" + " " * 200_000)
    monkeypatch.setattr(visitor_files, "max_kept_bytes", lambda: 150_000)
    assert path.stat().st_size < 150_000
    with pytest.raises(StorageError, match="no room"):
        add_upload(path)
    assert list(visitor_files.place_of(visitor_files.UPLOADS).glob("[!.]*")) == []


def test_an_upload_of_two_visitors_goes_with_the_second(model_zip, monkeypatch):
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")
    entry = add_upload(model_zip, owner="ann")
    assert add_upload(model_zip, owner="bob").model_id == entry.model_id
    for owner in ("eve", "ann"):
        remove_upload(entry.model_id, owner)
        assert open_model(entry.model_id)
    remove_upload(entry.model_id, "bob")
    with pytest.raises(CheckpointError, match="no longer here"):
        open_model(entry.model_id)


def test_a_zip_whose_process_died_before_the_entry_gets_one(model_zip):
    open_model(str(model_zip))
    (upload,) = catalogue.cached_uploads()
    (upload.folder.parent / catalogue.ENTRY_FILE).unlink()
    open_model(str(model_zip))
    assert [model.folder for model in catalogue.cached_uploads()] == [upload.folder]


def test_where_nothing_can_be_written_models_are_listed_and_opened(
    tmp_path, model_zip, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "file" / "cache"))
    assert [(entry.model_id, entry.language) for entry in list_models()] == BUNDLED
    assert list_uploads() == ()
    assert open_model(str(HF)).model.config.vocab_size == 61
    assert find_map(str(HF), "0" * 64, 2, 61) is None
    visitor_files.sweep(visitor_files.RUNS)
    for write in (
        lambda: add_upload(model_zip),
        lambda: cache_folder(catalogue.HUB, "some--model"),
        lambda: keep_table(b"a,b"),
    ):
        with pytest.raises(CheckpointError, match="BERTVIZ_CACHE"):
            write()


def test_a_user_without_a_home_has_models_too(monkeypatch):
    def unknown(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    for name in ("BERTVIZ_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert DEFAULT_MODEL in {entry.model_id for entry in list_models()}


def test_a_server_for_strangers_opens_no_paths(model_zip, monkeypatch):
    entry = add_upload(model_zip)
    downloaded()
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")
    for model_id in (str(HF), str(model_zip), "/etc", "bert-base-uncased"):
        with pytest.raises(CheckpointError):
            open_model(model_id)
    for model_id in (entry.model_id, "some/model"):
        assert open_model(model_id).model_id


def test_a_bundled_name_is_no_path_and_a_path_no_bundled_name(tmp_path, monkeypatch):
    """A folder of the same name in the working directory changes nothing."""
    shutil.copytree(HF, tmp_path / DEFAULT_MODEL)
    monkeypatch.chdir(tmp_path)
    assert open_model(DEFAULT_MODEL).model.config.vocab_size == 16384
    shutil.rmtree(tmp_path / DEFAULT_MODEL)
    for name in (".", "..", "../models", f"{DEFAULT_MODEL}/"):
        with pytest.raises(CheckpointError):
            open_model(name)


@pytest.mark.parametrize(
    ("platform", "variables", "ending"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/bert-explorer"),
        ("linux", {"HOME": "/h"}, "/h/.cache/bert-explorer"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/bert-explorer"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/bert-explorer"),
    ],
)
def test_the_cache_lies_where_the_system_keeps_caches(
    monkeypatch, platform, variables, ending
):
    made = []
    monkeypatch.setattr(Path, "mkdir", lambda self, **_: made.append(str(self)))
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("BERTVIZ_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == ending
    assert made == [ending]
