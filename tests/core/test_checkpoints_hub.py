"""Downloads: pinned, without pickles, and every failure in one sentence.

The library that downloads is the real one; it talks to a small hub on loopback.
"""

import contextlib
import errno
import json
import re
import socket

import huggingface_hub
import pytest
from huggingface_hub import constants

from bertviz_core.checkpoints import catalogue, hub
from bertviz_core.checkpoints.hub import find_cached
from bertviz_core.checkpoints.library import download, list_models, open_model
from bertviz_core.errors import CheckpointError, ConfigError
from tests.core import fake_hub
from tests.core.checkpoint_copies import GOOGLE, HF
from tests.core.fake_hub import COMMIT, CONVERTED

NAME = "some-owner/tiny-bert"
CONVERSION = "Adding `safetensors` variant of this model"
HF_FILES = {path.name: path.read_bytes() for path in HF.iterdir()}
GOOGLE_FILES = {path.name: path.read_bytes() for path in GOOGLE.iterdir()}
PICKLED = {
    **{k: v for k, v in HF_FILES.items() if k != "model.safetensors"},
    "pytorch_model.bin": b"\x80\x04",
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BERTVIZ_MODELS", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return tmp_path / "cache"


@pytest.fixture
def server(monkeypatch):
    with fake_hub.running() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def fetched(server):
    """Names of the files whose content was asked for."""
    return [
        path.rpartition("/")[2]
        for command, path in server.asked
        if command == "GET" and "/resolve/" in path
    ]


def downloads():
    return [entry for entry in list_models() if entry.origin == "cached"]


def refusal(name=NAME, **arguments):
    with pytest.raises(CheckpointError) as caught:
        download(name, **arguments)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "http" not in sentence
    return sentence


def test_a_download_is_pinned_to_the_commit_and_opens(server):
    server.add(NAME, HF_FILES)
    entry = download(NAME)
    assert entry.model_id == f"{NAME}@{COMMIT}"
    assert entry.title == f"{NAME} (89abcdef)"
    assert entry in list_models()
    assert open_model(entry.model_id).model.config.vocab_size == 61


def test_a_download_asks_for_its_files_at_the_commit(server):
    server.add(NAME, HF_FILES)
    download(NAME)
    files = [path for _, path in server.asked if "/resolve/" in path]
    assert files
    assert all(f"/resolve/{COMMIT}/" in path for path in files)


def test_only_what_is_needed_is_downloaded(server):
    extra = {
        "pytorch_model.bin": b"\x80\x04",
        "tf_model.h5": b"h5",
        "flax_model.msgpack": b"m",
        "README.md": b"#",
        "run.py": b"",
        **GOOGLE_FILES,
    }
    server.add(NAME, extra | HF_FILES)
    download(NAME)
    assert sorted(fetched(server)) == [
        "bert_config.json",
        "config.json",
        "model.safetensors",
        "vocab.txt",
    ]


def test_googles_own_files_are_downloaded_where_they_are_all_there_is(server):
    server.add(NAME, GOOGLE_FILES | {"pytorch_model.bin": b"\x80\x04"})
    assert open_model(NAME).report.kind == "google"
    assert "pytorch_model.bin" not in fetched(server)


def test_shards_are_downloaded_with_their_index(server):
    files = {k: v for k, v in HF_FILES.items() if k != "model.safetensors"}
    shard = "model-00001-of-00001.safetensors"
    index = {"weight_map": {"a": shard}}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    files[shard] = HF_FILES["model.safetensors"]
    server.add(NAME, files)
    assert open_model(NAME).report.kind == "huggingface"


def test_opening_a_second_time_asks_no_server(server, monkeypatch):
    server.add(NAME, HF_FILES)
    open_model(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    server.asked.clear()
    assert open_model(NAME).model_id == f"{NAME}@{COMMIT}"
    assert download(f"{NAME}@{COMMIT}").model_id == f"{NAME}@{COMMIT}"
    assert server.asked == []


def test_downloading_again_takes_a_newer_commit(server):
    server.add(NAME, HF_FILES)
    download(NAME)
    server.add(NAME, HF_FILES, commit=CONVERTED)
    assert download(NAME).model_id == f"{NAME}@{CONVERTED}"
    assert len(downloads()) == 2


def test_downloading_again_the_same_commit_fetches_no_file(server):
    server.add(NAME, HF_FILES)
    download(NAME)
    server.asked.clear()
    download(NAME)
    assert fetched(server) == []


def test_a_revision_is_followed_to_its_commit(server):
    server.add(NAME, PICKLED)
    server.add(NAME, HF_FILES, revision="v2", commit=CONVERTED)
    assert download(NAME, "v2").model_id == f"{NAME}@{CONVERTED}"
    assert open_model(f"{NAME}@v2").model_id == f"{NAME}@{CONVERTED}"


@pytest.fixture
def small_chunks(monkeypatch):
    """Pieces so small that the tiny files come in many."""
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 5000)


@pytest.mark.usefixtures("small_chunks")
def test_progress_counts_the_bytes_of_all_files(server):
    server.add(NAME, HF_FILES)
    told = []
    download(NAME, progress=lambda fraction, step: told.append((fraction, step)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    total = sum(map(len, HF_FILES.values()))
    files, finished = ["config.json", "vocab.txt", "model.safetensors"], 0
    allowed = {0}
    for file in files:
        size = len(HF_FILES[file])
        allowed |= {finished + part for part in (*range(0, size, 5000), size)}
        finished += size
    assert {round(fraction * total) for fraction in fractions} == allowed
    assert {step for _, step in told} == {"download"}


def test_a_cancelled_download_is_no_model(server):
    class Cancelled(Exception):
        pass

    def cancel(fraction, step):
        raise Cancelled

    server.add(NAME, HF_FILES)
    with pytest.raises(Cancelled):
        download(NAME, progress=cancel)
    assert downloads() == []
    assert download(NAME) in list_models()


def test_a_cancel_that_the_library_swallows_counts_after_the_file(server, monkeypatch):
    class Cancelled(Exception):
        pass

    def cancel(fraction, step):
        raise Cancelled

    asked = []

    def swallowing(name, file, *, tqdm_class, **_):
        asked.append(file)
        with contextlib.suppress(Cancelled), tqdm_class(total=9) as bar:
            bar.update(4)

    server.add(NAME, HF_FILES)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", swallowing)
    with pytest.raises(Cancelled):
        download(NAME, progress=cancel)
    assert len(asked) == 1


@pytest.mark.usefixtures("small_chunks")
def test_a_download_that_was_broken_off_keeps_its_finished_files(server):
    class Cancelled(Exception):
        pass

    def cancel_half_way(fraction, step):
        if fraction > 0.5:
            raise Cancelled

    server.add(NAME, HF_FILES)
    with pytest.raises(Cancelled):
        download(NAME, progress=cancel_half_way)
    server.asked.clear()
    told = []
    download(NAME, progress=lambda fraction, step: told.append(fraction))
    assert fetched(server) == ["model.safetensors"]
    assert told[-1] == 1.0
    folder = find_cached(NAME).folder
    assert (folder / "model.safetensors").read_bytes() == HF_FILES["model.safetensors"]


@pytest.mark.usefixtures("small_chunks")
def test_a_connection_that_breaks_is_taken_up_again(server, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    server.add(NAME, HF_FILES)
    server.cut_after["model.safetensors"] = 33_000
    download(NAME)
    assert server.resumed == [30_000]
    folder = find_cached(NAME).folder
    assert (folder / "model.safetensors").read_bytes() == HF_FILES["model.safetensors"]


def test_the_hidden_files_of_a_download_are_cleared_away(server, cache):
    server.add(NAME, HF_FILES)
    download(NAME)
    names = {path.name for path in cache.rglob("*") if path.is_file()}
    assert names == {*HF_FILES, catalogue.ENTRY_FILE}


def test_the_hubs_own_conversion_is_taken_where_there_are_pickles_only(server):
    server.add(NAME, PICKLED)
    server.add(NAME, HF_FILES, revision="refs/pr/7", commit=CONVERTED)
    server.pull_requests[NAME] = [
        ("Fix a typo", "SFconvertbot", 5),
        (CONVERSION, "SFconvertbot", 7),
    ]
    assert open_model(NAME).model_id == f"{NAME}@{CONVERTED}"


def test_a_strangers_conversion_is_not_taken(server):
    server.add(NAME, PICKLED)
    server.add(NAME, HF_FILES, revision="refs/pr/7", commit=CONVERTED)
    server.pull_requests[NAME] = [(CONVERSION, "stranger", 7)]
    assert "pickle" in refusal()


def test_a_repository_of_pickles_is_refused_with_what_to_do(server):
    server.add(NAME, PICKLED)
    sentence = refusal()
    assert "pytorch_model.bin" in sentence
    assert "save_pretrained" in sentence
    assert fetched(server) == []


def test_a_small_google_model_of_pickles_is_pointed_to_googles_release(server):
    name = "google/bert_uncased_L-2_H-128_A-2"
    server.add(name, PICKLED)
    assert "github.com/google-research/bert" in refusal(name)


def test_a_repository_without_weights(server):
    server.add(NAME, {"config.json": b"{}", "README.md": b"#"})
    assert "holds no weights" in refusal()


def test_a_repository_of_something_else(server):
    server.add(NAME, {"data.csv": b"a,b"})
    assert "has no config" in refusal()


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "RepoNotFound", "has no model of the name"),
        (401, "RepoNotFound", "has no model of the name"),
        (403, "GatedRepo", "accepted its conditions"),
        (500, "", "HTTP status 500"),
    ],
)
def test_what_the_server_refuses_is_one_sentence(server, status, code, expected):
    server.refusals[NAME] = (status, code)
    sentence = refusal()
    assert expected in sentence
    assert NAME in sentence


def test_a_name_that_the_hub_does_not_allow(server):
    assert "has no model of the name" in refusal("ends-with-a-dot.")


def test_an_unknown_revision_is_named(server):
    server.add(NAME, HF_FILES)
    assert "no revision v99" in refusal(revision="v99")


def test_no_connection_says_what_to_do(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    sentence = refusal("bert-base-uncased")
    assert "cannot be reached" in sentence
    assert "bundled" in sentence


def test_offline_by_choice_says_the_same(server, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    huggingface_hub.utils.close_session()
    assert "cannot be reached" in refusal()
    huggingface_hub.utils.close_session()


def test_a_full_disk_is_said_beforehand(server, monkeypatch):
    server.add(NAME, HF_FILES)
    monkeypatch.setattr(hub, "RESERVED_DISK_BYTES", 10**18)
    assert "no room" in refusal()
    assert fetched(server) == []


def test_a_disk_that_becomes_full_is_said(server, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    server.add(NAME, HF_FILES)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    assert "became full" in refusal()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "a/b/c",
        "owner/..",
        "owner/na--me",
        "/absolute",
        "with space",
        "-option",
        "name@../../x",
        "name@" + "a/../b",
        "",
        "名字/模型",
        "a" * 200,
    ],
)
def test_names_with_tricks_ask_no_server(server, cache, name):
    with pytest.raises(CheckpointError, match=re.escape("no model of this name")):
        download(name)
    assert server.asked == []
    assert not cache.exists() or not any(cache.rglob("*.json"))


def test_a_file_name_from_the_server_cannot_leave_the_cache(server, tmp_path):
    evil = {
        "../../../model.safetensors": b"x",
        "a/model.safetensors": b"x",
        "../bert_model.ckpt.data-00000-of-00001": b"x",
        "../bert_model.ckpt.index": b"x",
    }
    server.add(NAME, {"config.json": b"{}"} | evil)
    assert "holds no weights" in refusal()
    assert not [p for p in tmp_path.rglob("*") if p.name.startswith(("m", "bert"))]


def test_another_kind_of_model_is_refused_before_its_weights_are_fetched(server):
    config = json.loads(HF_FILES["config.json"]) | {"model_type": "roberta"}
    server.add(NAME, HF_FILES | {"config.json": json.dumps(config).encode()})
    with pytest.raises(ConfigError, match="roberta"):
        download(NAME)
    assert "model.safetensors" not in fetched(server)
    assert downloads() == []


def test_a_download_that_does_not_fit_its_config_leaves_nothing(server, cache):
    config = json.loads(HF_FILES["config.json"]) | {"intermediate_size": 38}
    server.add(NAME, HF_FILES | {"config.json": json.dumps(config).encode()})
    assert "does not fit its config" in refusal()
    assert list((cache / "hub").iterdir()) == []
