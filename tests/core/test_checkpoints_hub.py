"""Downloads: pinned, without pickles, and every failure in one sentence.

The library that downloads is the real one; it talks to a small hub on loopback.
"""

import contextlib
import json
import re
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import huggingface_hub
import pytest
from click.testing import CliRunner
from huggingface_hub import constants

from bertviz_core.checkpoints import catalogue, hub
from bertviz_core.checkpoints.hub import find_cached
from bertviz_core.checkpoints.library import download, list_models, open_model
from bertviz_core.cli import main
from bertviz_core.errors import CheckpointError, ConfigError
from tests.core.checkpoint_copies import GOOGLE, HF, full_disk, refusal_of

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
CONVERTED = "fedcba9876543210fedcba9876543210fedcba98"


@dataclass
class FakeHub:
    """What the hub has, and what it was asked.

    `models[name][revision]` is `(commit, {file: bytes})`; `refusals[name]` is
    `(status, error code)`; `pull_requests[name]` a list of (title, author, number).
    `cut_after` makes a file's connection break after so many bytes, once.
    """

    models: dict = field(default_factory=dict)
    refusals: dict = field(default_factory=dict)
    pull_requests: dict = field(default_factory=dict)
    cut_after: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    resumed: list = field(default_factory=list)  # first bytes asked for later
    url: str = ""

    def add(self, name, files, revision="main", commit=COMMIT):
        revisions = self.models.setdefault(name, {})
        revisions[revision] = revisions[commit] = (commit, files)


@contextlib.contextmanager
def running_hub():
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            _answer(hub, self)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            """A client that hangs up in the middle is what some tests do."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(hub, request):
    path = request.path.partition("?")[0].replace("%2F", "/").lstrip("/")
    hub.asked.append((request.command, path))
    known = sorted({*hub.models, *hub.refusals}, key=len)
    name = next((n for n in known if f"/{n}/" in f"/{path}/"), "unknown")
    if name in hub.refusals or name not in hub.models:
        status, code = hub.refusals.get(name, (404, "RepoNotFound"))
        _send(request, status, b"{}", {"X-Error-Code": code})
    elif path.endswith("/discussions"):
        _send(request, 200, json.dumps(_discussions(hub, name)).encode())
    elif path.startswith("api/"):
        _describe(hub, request, name, path.partition("/revision/")[2] or "main")
    else:
        revision, _, file = path.partition("/resolve/")[2].rpartition("/")
        _send_file(hub, request, *hub.models[name][revision], file)


def _describe(hub, request, name, revision):
    if revision not in hub.models[name]:
        _send(request, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        return
    commit, files = hub.models[name][revision]
    siblings = [{"rfilename": f, "size": len(data)} for f, data in files.items()]
    about = {"id": name, "sha": commit, "siblings": siblings, "tags": []}
    _send(request, 200, json.dumps(about).encode())


def _discussions(hub, name):
    found = [
        {
            "title": title,
            "author": {"name": author},
            "num": number,
            "status": "open",
            "isPullRequest": True,
            "createdAt": "2024-02-03T04:05:06.000Z",
            "repo": {"name": name, "type": "model"},
        }
        for title, author, number in hub.pull_requests.get(name, [])
    ]
    return {"discussions": found, "count": len(found), "start": 0}


def _send_file(hub, request, commit, files, file):
    data, start = files[file], 0
    headers = {"X-Repo-Commit": commit, "ETag": f'"{abs(hash(data)):032x}"'}
    if span := request.headers.get("Range"):
        start = int(span.removeprefix("bytes=").split("-")[0])
        hub.resumed.append(start)
        headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
    cut = hub.cut_after.pop(file, None) if request.command == "GET" else None
    headers["Content-Length"] = str(len(data) - start)
    _send(request, 206 if span else 200, data[start:][:cut], headers)
    if cut is not None:
        request.close_connection = True
        request.connection.close()


def _send(request, status, body, headers=None):
    request.send_response(status)
    for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
        request.send_header(name, value)
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(body)


NAME = "some-owner/tiny-bert"
CONVERSION = "Adding `safetensors` variant of this model"
WEIGHTS = "model.safetensors"
HF_FILES = {path.name: path.read_bytes() for path in HF.iterdir()}
GOOGLE_FILES = {path.name: path.read_bytes() for path in GOOGLE.iterdir()}
PICKLE = {"pytorch_model.bin": b"\x80\x04"}
PICKLED = {k: v for k, v in HF_FILES.items() if k != WEIGHTS} | PICKLE


@pytest.fixture(autouse=True)
def small_pieces(cache, monkeypatch):
    """So that the tiny files come in many."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 5000)


@pytest.fixture
def server(monkeypatch):
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def fetched(server):
    """Names of the files whose content was asked for, each at its commit."""
    paths = [
        path
        for command, path in server.asked
        if command == "GET" and "/resolve/" in path
    ]
    assert all(f"/resolve/{COMMIT}/" in path for path in paths)
    return [path.rpartition("/")[2] for path in paths]


def downloads():
    return [entry for entry in list_models() if entry.origin == "cached"]


def refusal(name=NAME):
    sentence = refusal_of(download, name)
    assert "http" not in sentence
    return sentence


def test_a_download_takes_what_is_needed_at_its_commit_and_opens(server, cache):
    card = b"---\nlicense: apache-2.0\n---\n# A model"
    clutter = {"tf_model.h5": b"h5", "README.md": card, "run.py": b"", **PICKLE}
    server.add(NAME, clutter | GOOGLE_FILES | HF_FILES)
    entry = download(NAME)
    wanted = ["README.md", "bert_config.json", "config.json", WEIGHTS, "vocab.txt"]
    assert sorted(fetched(server)) == wanted
    names = {path.name for path in cache.rglob("*") if path.is_file()}
    assert names == {*wanted, catalogue.ENTRY_FILE}
    assert entry.model_id == f"{NAME}@{COMMIT}"
    assert entry.title == f"{NAME} (89abcdef)"
    assert entry in list_models()
    opened = open_model(entry.model_id)
    assert opened.model.config.vocab_size == 61
    assert opened.documents.metadata() == {"license": "apache-2.0"}


def test_googles_own_files_are_downloaded_where_they_are_all_there_is(server):
    server.add(NAME, GOOGLE_FILES | PICKLE)
    assert open_model(NAME).report.kind == "google"
    assert "pytorch_model.bin" not in fetched(server)


def test_shards_are_downloaded_with_their_index(server):
    files = {k: v for k, v in HF_FILES.items() if k != WEIGHTS}
    shard = "model-00001-of-00001.safetensors"
    files["model.safetensors.index.json"] = b'{"weight_map": {"a": "%b"}}' % (
        shard.encode()
    )
    server.add(NAME, files | {shard: HF_FILES[WEIGHTS]})
    assert open_model(NAME).report.kind == "huggingface"


def test_an_operators_download_is_in_the_list_for_visitors(server, monkeypatch):
    server.add(NAME, HF_FILES, revision="v2")
    done = CliRunner().invoke(main, ["download", f"{NAME}@v2"])
    assert done.stdout == f"{NAME}@{COMMIT}\n"
    assert done.stderr.startswith("download: ")
    assert done.stderr.endswith("download: 100%\n")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")
    assert [entry.model_id for entry in downloads()] == [f"{NAME}@{COMMIT}"]
    assert open_model(NAME).model_id == f"{NAME}@{COMMIT}"


@pytest.mark.parametrize("name", ["some-owner/no-such-model", "../etc"])
def test_an_operators_download_that_fails_ends_in_one_sentence(server, name):
    done = CliRunner().invoke(main, ["download", name])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert name in done.stderr
    assert downloads() == []


def test_opening_a_second_time_asks_no_server(server, monkeypatch):
    server.add(NAME, HF_FILES)
    open_model(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    server.asked.clear()
    assert open_model(NAME).model_id == f"{NAME}@{COMMIT}"
    assert download(f"{NAME}@{COMMIT}").model_id == f"{NAME}@{COMMIT}"
    assert server.asked == []


def test_downloading_again_takes_a_newer_commit_and_of_the_same_no_file(server):
    server.add(NAME, HF_FILES)
    download(NAME)
    server.asked.clear()
    download(NAME)
    assert fetched(server) == []
    server.add(NAME, HF_FILES, commit=CONVERTED)
    assert download(NAME).model_id == f"{NAME}@{CONVERTED}"
    assert len(downloads()) == 2


def test_a_revision_is_followed_to_its_commit(server):
    server.add(NAME, PICKLED)
    server.add(NAME, HF_FILES, revision="v2", commit=CONVERTED)
    assert download(f"{NAME}@v2").model_id == f"{NAME}@{CONVERTED}"
    assert open_model(f"{NAME}@v2").model_id == f"{NAME}@{CONVERTED}"
    assert "no revision v99" in refusal(f"{NAME}@v99")


def test_progress_counts_the_bytes_of_all_files(server):
    server.add(NAME, HF_FILES)
    told = []
    download(NAME, progress=lambda fraction, step: told.append((fraction, step)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    total = sum(map(len, HF_FILES.values()))
    finished, allowed = 0, {0}
    for file in ("config.json", "vocab.txt", WEIGHTS):
        size = len(HF_FILES[file])
        allowed |= {finished + part for part in (*range(0, size, 5000), size)}
        finished += size
    assert {round(fraction * total) for fraction in fractions} == allowed
    assert {step for _, step in told} == {"download"}


class Cancelled(Exception):
    pass


def cancel_half_way(fraction, step):
    if fraction > 0.5:
        raise Cancelled


def test_a_download_that_was_broken_off_is_no_model_and_keeps_its_files(server):
    server.add(NAME, HF_FILES)
    with pytest.raises(Cancelled):
        download(NAME, progress=cancel_half_way)
    assert downloads() == []
    server.asked.clear()
    told = []
    download(NAME, progress=lambda fraction, step: told.append(fraction))
    assert fetched(server) == [WEIGHTS]
    assert told[-1] == 1.0
    assert (find_cached(NAME).folder / WEIGHTS).read_bytes() == HF_FILES[WEIGHTS]


def test_a_cancel_that_the_library_swallows_counts_after_the_file(server, monkeypatch):
    asked = []

    def swallowing(name, file, *, tqdm_class, **_):
        asked.append(file)
        with contextlib.suppress(Cancelled), tqdm_class(total=9) as bar:
            bar.update(10**6)

    server.add(NAME, HF_FILES)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", swallowing)
    with pytest.raises(Cancelled):
        download(NAME, progress=cancel_half_way)
    assert len(asked) == 1


def test_a_connection_that_breaks_is_taken_up_again(server, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    server.add(NAME, HF_FILES)
    server.cut_after[WEIGHTS] = 33_000
    download(NAME)
    assert server.resumed == [30_000]
    assert (find_cached(NAME).folder / WEIGHTS).read_bytes() == HF_FILES[WEIGHTS]


def test_the_hubs_own_conversion_is_taken_where_there_are_pickles_only(server):
    server.add(NAME, PICKLED)
    server.add(NAME, HF_FILES, revision="refs/pr/7", commit=CONVERTED)
    server.pull_requests[NAME] = [(CONVERSION, "stranger", 7)]
    sentence = refusal()
    assert "pytorch_model.bin" in sentence
    assert "save_pretrained" in sentence
    assert fetched(server) == []
    server.pull_requests[NAME] = [
        ("Fix a typo", "SFconvertbot", 5),
        (CONVERSION, "SFconvertbot", 7),
    ]
    assert open_model(NAME).model_id == f"{NAME}@{CONVERTED}"


def changed_config(**values):
    config = json.loads(HF_FILES["config.json"]) | values
    return HF_FILES | {"config.json": json.dumps(config).encode()}


@pytest.mark.parametrize(
    ("name", "files", "said"),
    [
        ("google/bert_uncased_L-2_H-128_A-2", PICKLED, "github.com/google-research"),
        (NAME, {"config.json": b"{}", "README.md": b"#"}, "contains no weights"),
        (NAME, {"data.csv": b"a,b"}, "has no config"),
        (NAME, changed_config(intermediate_size=38), "does not match its config"),
    ],
)
def test_a_repository_without_a_model_that_opens(server, cache, name, files, said):
    server.add(name, files)
    assert said in refusal(name)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_another_kind_of_model_is_refused_before_its_weights_are_fetched(server):
    server.add(NAME, changed_config(model_type="roberta"))
    with pytest.raises(ConfigError, match="roberta"):
        download(NAME)
    assert WEIGHTS not in fetched(server)
    assert downloads() == []


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "RepoNotFound", f"has no model named {NAME}"),
        (403, "GatedRepo", f"{NAME} is available only to people who have accepted"),
        (500, "", f"{NAME}. Received: HTTP status 500"),
    ],
)
def test_what_the_server_refuses_is_one_sentence(server, status, code, expected):
    server.refusals[NAME] = (status, code)
    assert expected in refusal()


def test_a_name_that_the_hub_does_not_allow(server):
    assert "has no model named" in refusal("ends-with-a-dot.")


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


def test_a_full_disk_is_said(server, monkeypatch):
    server.add(NAME, HF_FILES)
    with monkeypatch.context() as patch:
        patch.setattr(huggingface_hub, "hf_hub_download", full_disk)
        assert "filled up" in refusal()
    monkeypatch.setattr(hub, "RESERVED_DISK_BYTES", 10**18)
    assert "not enough disk space" in refusal()
    assert fetched(server) == []


@pytest.mark.parametrize(
    "name",
    [
        *("../../etc/passwd", "a/b/c", "owner/..", "owner/na--me", "/absolute", ""),
        *("with space", "-option", "name@../x", "name@a/../b", "名字/模型", "a" * 99),
    ],
)
def test_names_with_tricks_ask_no_server(server, cache, name):
    with pytest.raises(CheckpointError, match=re.escape("no model with this name")):
        download(name)
    assert server.asked == []
    assert not any(cache.rglob("*.json"))


def test_a_file_name_from_the_server_cannot_leave_the_cache(server, tmp_path):
    evil = {
        "../../../model.safetensors": b"x",
        "a/model.safetensors": b"x",
        "../bert_model.ckpt.data-00000-of-00001": b"x",
        "../bert_model.ckpt.index": b"x",
    }
    server.add(NAME, {"config.json": b"{}"} | evil)
    assert "contains no weights" in refusal()
    assert not [p for p in tmp_path.rglob("*") if p.name.startswith(("m", "bert"))]
