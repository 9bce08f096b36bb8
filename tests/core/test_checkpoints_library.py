"""The models at hand: what is listed, what an id means, what is kept."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints import catalogue, library
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.checkpoints.library import (
    add_upload,
    list_models,
    list_uploads,
    open_model,
    remove_upload,
    suggested_models,
)
from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.stored_maps import find_map
from bertviz_core.explorer import Explorer
from bertviz_core.finetune import workplace
from bertviz_core.weights import as_numpy
from tests.core.checkpoint_copies import GOOGLE, HF, hf_copy, weights_of_hf

BUNDLED = [(DEFAULT_MODEL, "en"), ("bert-mini-zh", "zh")]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BERTVIZ_MODELS", raising=False)
    return tmp_path / "cache"


def zip_of(folder, path):
    with zipfile.ZipFile(path, "w") as target:
        for file in sorted(folder.iterdir()):
            target.write(file, f"{folder.name}/{file.name}")
    return path


def downloaded(name="some/model", commit=COMMIT, asked=""):
    """What a finished download leaves in the cache."""
    outer = catalogue.hub_folder() / f"{name.replace('/', '--')}@{commit}"
    shutil.copytree(HF, outer / name.rpartition("/")[2])
    catalogue.write_entry(outer, name, commit, asked)
    return outer


def test_the_default_is_bundled_and_predicts_words():
    loaded = open_model(DEFAULT_MODEL)
    explorer = Explorer(loaded)
    predictions = explorer.predict_masks("I want to go [MASK].")
    best = predictions.logits[0].argsort()[::-1][:5]
    assert {"there", "home"} & {explorer.tokenizer.vocabulary[i] for i in best}
    assert loaded.model_id == DEFAULT_MODEL
    assert loaded.report.absent_parts == ()


def opened(model_id):
    """The card of a bundled model, its word numbers, and what it answers."""
    card = (catalogue.BUNDLED_FOLDER / model_id / "README.md").read_text("utf-8")
    explorer = Explorer.open(model_id)
    assert f"{explorer.info().num_weights:,} numbers" in card
    ids = {token: index for index, token in enumerate(explorer.tokenizer.vocabulary)}

    def probabilities(text):
        logits = explorer.predict_masks(text).logits[0].astype("float64")
        exponentials = np.exp(logits - logits.max())
        return exponentials / exponentials.sum()

    return card, ids, probabilities


def test_the_card_of_the_chinese_model_tells_the_truth():
    card, ids, probabilities = opened("bert-mini-zh")
    drink = probabilities("我喜欢喝[MASK]。")
    assert f'"酒" (alcohol) has {drink[ids["酒"]]:.2f} and "茶" (tea)' in card
    assert f"“酒”有 {drink[ids['酒']]:.2f}，“茶”只有 {drink[ids['茶']]:.2f}" in card
    milk = probabilities("他每天早上都喝一杯[MASK]奶。")
    assert milk.argmax() == ids["牛"]
    assert f"“牛”以 {milk[ids['牛']]:.2f} 排第一" in card
    capitals = [probabilities(f"{city}是中国的首[MASK]。") for city in ("北京", "上海")]
    assert [found.argmax() for found in capitals] == [ids["都"], ids["都"]]
    capital, other = (found[ids["都"]] for found in capitals)
    assert f'"都" comes first with {capital:.2f}, and with' in card
    assert f"in place of Beijing it has {other:.2f}" in card
    assert f"“都”以 {capital:.2f} 排第一，把北京换成上海，它却有 {other:.2f}" in card
    stated = {"护士": (0.33, 0.67), "科学家": (0.15, 0.85)}
    for occupation, (she, he) in stated.items():
        found = probabilities(f"[MASK]是一名{occupation}。")
        assert (round(found[ids["她"]], 2), round(found[ids["他"]], 2)) == (she, he)
        assert f'"她" {she:.2f} and "他" {he:.2f}' in card
        assert f"“她”{she:.2f}，“他”{he:.2f}" in card


def test_the_card_of_the_default_tells_the_truth():
    card, ids, probabilities = opened(DEFAULT_MODEL)
    assert probabilities("Paris is the capital of [MASK].").argmax() == ids["france"]
    capital = "The capital of {} is [MASK]."
    for country, word in (
        ("France", "paris"),
        ("Spain", "spain"),
        ("Italy", "spanish"),
    ):
        assert probabilities(capital.format(country)).argmax() == ids[word]
    paris = probabilities(capital.format("France"))[ids["paris"]]
    assert f'"paris" with {paris:.2f}; but' in card
    london = probabilities("London is the capital of [MASK].")
    assert f'gets {london[ids["london"]]:.2f} and "england"' in card
    assert f'"england" {london[ids["england"]]:.2f}.' in card
    week = probabilities("There are seven days in a [MASK].")
    assert f'"week" gets {week[ids["week"]]:.2f} and' in card
    assert f'"hospital" {week[ids["hospital"]]:.2f}.' in card
    cup = probabilities("She drank a cup of [MASK].")
    assert (
        f'"gold" gets {cup[ids["gold"]]:.2f} and "tea" {cup[ids["tea"]]:.2f}.' in card
    )
    stated = {"nurse": (0.60, 0.32), "doctor": (0.36, 0.55), "engineer": (0.09, 0.80)}
    for occupation, (she, he) in stated.items():
        found = probabilities(f"The {occupation} said that [MASK] was tired.")
        assert (round(found[ids["she"]], 2), round(found[ids["he"]], 2)) == (she, he)
        assert f'"she" {she:.2f} and "he" {he:.2f}' in card


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
        "list_models(); heavy = {'keras', 'tensorflow', 'openvino', 'tokenizers', "
        "'torch', 'huggingface_hub'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_download_is_listed_and_opened_without_a_server():
    downloaded()
    (entry,) = [e for e in list_models() if e.origin == "cached"]
    assert entry.model_id == f"some/model@{COMMIT}"
    assert (entry.title, entry.origin) == ("some/model (01234567)", "cached")
    for model_id in ("some/model", f"some/model@{COMMIT}", "some/model@0123456"):
        assert open_model(model_id).model_id == f"some/model@{COMMIT}"


def test_the_branch_that_was_asked_for_finds_its_download():
    downloaded(commit="a" * 40, asked="v2")
    assert open_model("some/model@v2").model_id == f"some/model@{'a' * 40}"


def test_of_two_downloads_the_later_one_is_meant():
    first, second = downloaded(commit="a" * 40), downloaded(commit="b" * 40)
    os.utime(first, (1000, 1000))
    os.utime(second, (2000, 2000))
    assert open_model("some/model").model_id.endswith("b" * 40)
    os.utime(first, (3000, 3000))
    assert open_model("some/model").model_id.endswith("a" * 40)


def test_a_download_that_was_broken_off_is_not_listed():
    (downloaded() / catalogue.ENTRY_FILE).unlink()
    assert {entry.origin for entry in list_models()} == {"bundled"}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '"x"'])
def test_a_spoiled_entry_is_not_listed(text):
    (downloaded() / catalogue.ENTRY_FILE).write_text(text)
    assert {entry.origin for entry in list_models()} == {"bundled"}


@pytest.mark.parametrize("source", [HF, GOOGLE])
def test_a_folder_and_its_zip_are_the_same_model(tmp_path, source):
    path = zip_of(source, tmp_path / "model.zip")
    from_folder, from_zip = open_model(str(source)), open_model(str(path))
    assert from_zip.model_id == str(path)
    assert from_zip.tokenizer.vocabulary == from_folder.tokenizer.vocabulary
    pairs = zip(from_folder.model.weights, from_zip.model.weights, strict=True)
    assert all(np.array_equal(as_numpy(a), as_numpy(b)) for a, b in pairs)


def test_an_upload_outlives_its_file(tmp_path):
    path = zip_of(HF, tmp_path / "model.zip")
    entry = add_upload(path, "My model")
    path.unlink()
    assert (entry.title, entry.origin) == ("My model", "upload")
    assert entry.size_bytes == (HF / "model.safetensors").stat().st_size
    assert open_model(entry.model_id).model.config.vocab_size == 61
    assert str(tmp_path) not in entry.model_id


def test_uploads_are_their_owners_business(tmp_path):
    entry = add_upload(zip_of(HF, tmp_path / "model.zip"))
    assert entry not in list_models()
    assert list_uploads() == (entry,)
    assert entry.title == "model"


def test_a_title_holds_no_control_characters_and_not_much(tmp_path):
    path = zip_of(HF, tmp_path / "model.zip")
    assert add_upload(path, "a\nb\x00c\x1b" + "d" * 999).title == "abc" + "d" * 77


def test_an_upload_that_does_not_fit_leaves_nothing(tmp_path, cache):
    folder = hf_copy(tmp_path, config={"intermediate_size": 38})
    with pytest.raises(CheckpointError, match="does not fit its config"):
        add_upload(zip_of(folder, tmp_path / "model.zip"))
    assert list((cache / "uploads").iterdir()) == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_upload_of_weights_that_are_no_numbers_leaves_nothing(
    tmp_path, cache, value
):
    weights = weights_of_hf()
    weights["bert.pooler.dense.weight"][3, 4] = value
    folder = hf_copy(tmp_path, weights)
    with pytest.raises(CheckpointError, match="not finite"):
        add_upload(zip_of(folder, tmp_path / "model.zip"))
    assert list((cache / "uploads").iterdir()) == []


def test_an_upload_is_removed(tmp_path, cache):
    entry = add_upload(zip_of(HF, tmp_path / "model.zip"))
    for other in ("upload:", "upload:..", f"upload:{'0' * 32}", str(HF)):
        remove_upload(other)
    assert list_uploads() == (entry,)
    remove_upload(entry.model_id)
    remove_upload(entry.model_id)
    assert list_uploads() == ()
    assert list((cache / "uploads").iterdir()) == []


def test_a_zip_that_is_opened_where_it_lies_is_nobodys_upload(tmp_path):
    path = zip_of(HF, tmp_path / "model.zip")
    open_model(str(path))
    assert list_uploads() == ()
    entry = add_upload(path)
    open_model(str(path))
    assert list_uploads() == (entry,)
    assert entry.title == "model"


def test_an_upload_that_is_gone_is_said():
    with pytest.raises(CheckpointError, match="no longer here"):
        open_model(f"upload:{'0' * 32}")


def test_the_uploads_that_were_not_used_for_the_longest_time_go(tmp_path):
    entries = []
    for index in range(3):
        weights = weights_of_hf()
        weights["bert.pooler.dense.bias"] += np.float32(index)
        folder = hf_copy(tmp_path, weights, name=f"model{index}")
        entries.append(add_upload(zip_of(folder, tmp_path / f"{index}.zip")))
        made = next(
            model.folder.parent
            for model in catalogue.cached_uploads()
            if model.folder.parent.name.startswith(entries[-1].model_id[7:])
        )
        os.utime(made, (1000 + index, 1000 + index))
    size = sum(file.stat().st_size for file in made.rglob("*") if file.is_file())
    catalogue.make_room_for_upload(needed_bytes=size, limit=4 * size)
    assert len(list_uploads()) == 3
    open_model(entries[0].model_id)  # is now the latest use
    catalogue.make_room_for_upload(needed_bytes=size, limit=3 * size)
    assert list_uploads() == (entries[0], entries[2])


def left_over(name, num_bytes, age_seconds=0.0):
    """What a process leaves that dies while it unpacks."""
    folder = catalogue.uploads_folder() / name
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.safetensors").write_bytes(b"x" * num_bytes)
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - age_seconds,) * 2)
    return folder


def test_what_a_process_that_died_left_half_unpacked_goes_after_an_hour(tmp_path):
    entry = add_upload(zip_of(HF, tmp_path / "model.zip"))
    gone = [left_over("unpack-old", 10, 3_700), left_over("f" * 64, 10, 3_700)]
    at_work = left_over("unpack-young", 10, 3_500)
    busy = left_over("unpack-busy", 10, 3_700)
    os.utime(busy / "model" / "model.safetensors")
    catalogue.make_room_for_upload(needed_bytes=1)
    assert not any(folder.exists() for folder in gone)
    assert at_work.is_dir()
    assert busy.is_dir()
    assert list_uploads() == (entry,)


def test_what_is_being_unpacked_counts_against_the_room_for_uploads(tmp_path):
    entry = add_upload(zip_of(HF, tmp_path / "model.zip"))
    limit = 3 * entry.size_bytes
    catalogue.make_room_for_upload(entry.size_bytes, limit)
    assert list_uploads() == (entry,)
    left_over("unpack-young", 2 * entry.size_bytes)
    catalogue.make_room_for_upload(entry.size_bytes, limit)
    assert list_uploads() == ()


def test_a_zip_whose_process_died_before_the_entry_gets_one(tmp_path):
    path = zip_of(HF, tmp_path / "model.zip")
    open_model(str(path))
    (upload,) = catalogue.cached_uploads()
    (upload.folder.parent / catalogue.ENTRY_FILE).unlink()
    open_model(str(path))
    assert [model.folder for model in catalogue.cached_uploads()] == [upload.folder]


def test_where_nothing_can_be_written_models_are_listed_and_opened(
    tmp_path, monkeypatch
):
    path = zip_of(HF, tmp_path / "model.zip")
    (tmp_path / "file").touch()
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "file" / "cache"))
    assert [(entry.model_id, entry.language) for entry in list_models()] == BUNDLED
    assert list_uploads() == ()
    assert open_model(str(HF)).model.config.vocab_size == 61
    assert find_map(str(HF), "0" * 64, 2, 61) is None
    workplace.sweep(lambda _: False)
    for write in (
        lambda: add_upload(path),
        lambda: catalogue.hub_folder("some--model"),
        lambda: workplace.keep_table(b"a,b"),
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


def test_a_server_for_strangers_opens_no_paths(tmp_path, monkeypatch):
    path = zip_of(HF, tmp_path / "model.zip")
    entry = add_upload(path)
    downloaded()
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")
    for model_id in (str(HF), str(path), "/etc", "bert-base-uncased"):
        with pytest.raises(CheckpointError):
            open_model(model_id)
    for model_id in (entry.model_id, "some/model"):
        assert open_model(model_id).model_id


def test_a_bundled_name_is_no_path(tmp_path, monkeypatch):
    """A folder of the same name in the working directory changes nothing."""
    shutil.copytree(HF, tmp_path / DEFAULT_MODEL)
    monkeypatch.chdir(tmp_path)
    assert open_model(DEFAULT_MODEL).model.config.vocab_size == 16384


@pytest.mark.parametrize("name", [".", "..", "../models", f"{DEFAULT_MODEL}/"])
def test_tricks_do_not_pass_for_bundled_names(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError):
        open_model(name)


def test_the_suggested_names_are_the_four_and_the_twenty_four():
    names = [entry.model_id for entry in suggested_models()]
    assert len(set(names)) == 28
    assert "bert-base-chinese" in names
    assert "google/bert_uncased_L-10_H-768_A-12" in names
    assert all(entry.origin == "hub" for entry in suggested_models())


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
    monkeypatch.setattr(Path, "mkdir", lambda self, **_: made.append(self))
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("BERTVIZ_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(library.catalogue.cache_folder()) == ending
    assert [str(path) for path in made] == [ending]
