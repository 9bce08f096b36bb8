"""Visitors' files go to the disk in pieces, no more of them than fit, and go again."""

from __future__ import annotations

import asyncio
import gc
import tempfile

import pytest
import streamlit as st
from starlette.applications import Starlette
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.web.server.starlette.starlette_app_utils import (
    generate_xsrf_token_string,
)

from bertviz_core.errors import CheckpointError
from bertviz_core.training.finetune import visitor_tables
from bertviz_core.training.finetune.table import Limits
from pages.shared import engine, uploads
from tests.app.fake_fine_tune import FineTuneClient
from tests.app.real_pages import click
from tests.app.requests import request, sent_by

MEGABYTE = 2**20
FORM = b"multipart/form-data; boundary=here"

HEAD = (
    b"--here\r\nContent-Disposition: form-data; name=f; filename=%b\r\n"
    b"Content-Type: application/zip\r\n\r\n"
)

END = b"\r\n--here--\r\n"


@pytest.fixture
def manager(monkeypatch, tmp_path):
    """Streamlit's keeper of files, of a server with two visitors and 1 MB a file."""
    keeper = MemoryUploadedFileManager("/_stcore/upload_file")

    class Runtime:
        uploaded_file_mgr = keeper

        def is_active_session(self, session):
            return session in ("me", "you", *"abcdefgh")

    class Context:
        uploaded_file_mgr, session_id = keeper, "me"

    options = {"server.maxUploadSize": 1}
    monkeypatch.setattr(st.runtime, "get_instance", Runtime)
    monkeypatch.setattr(st, "get_option", options.__getitem__)
    monkeypatch.setattr(uploads, "get_script_run_ctx", Context)
    monkeypatch.setattr(uploads, "_ALL", type(uploads._ALL)())
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    return keeper


def body_of(data, name=b"mine.zip"):
    return [
        HEAD % name,
        *(data[i : i + 2**16] for i in range(0, len(data), 2**16)),
        END,
    ]


def put(chunks, session="me", file="file-1", declared=None, token=True, kind=FORM):
    """Sends a file; gives the status and how many pieces were read."""
    read, waiting = [], list(chunks)

    async def receive():
        if not waiting:
            return {"type": "http.disconnect"}
        read.append(waiting.pop(0))
        return {"type": "http.request", "body": read[-1], "more_body": bool(waiting)}

    said = generate_xsrf_token_string().encode()
    headers = [(b"content-type", kind)]
    if token:
        headers += [(b"x-xsrftoken", said), (b"cookie", b"_streamlit_xsrf=" + said)]
    if declared is not None:
        headers.append((b"content-length", str(declared).encode()))
    scope = request(f"/_stcore/upload_file/{session}/{file}", headers, "PUT")
    app = Starlette(routes=uploads.ROUTES)
    return asyncio.run(sent_by(app, scope, receive))[0]["status"], len(read)


def on_disk(tmp_path):
    return [path for path in (tmp_path / "incoming").rglob("*") if path.is_file()]


def shown(manager, file="file-1"):
    """The file as a page gets it."""
    (record,) = manager.get_files("me", [file])
    return uploads.Upload(UploadedFile(record, FileURLs()))


def test_a_file_lies_on_the_disk_and_none_of_it_in_memory(manager, tmp_path):
    data = bytes(range(256)) * 2048
    assert put(body_of(data, "模型.zip".encode()))[0] == 204
    (record,) = manager.get_files("me", ["file-1"])
    assert (record.name, record.type) == ("模型.zip", "application/zip")
    assert len(record.data) == len(data)
    assert bytes(record.data) == b""
    assert [path.read_bytes() for path in on_disk(tmp_path)] == [data]
    upload = shown(manager)
    for _ in range(2):  # each run of the page reads it anew
        with upload.opened() as source:
            assert source.read() == data
    del record
    upload.let_go()
    gc.collect()
    assert on_disk(tmp_path) == []


def test_a_file_goes_with_its_session(manager, tmp_path):
    assert put(body_of(b"x" * 1000))[0] == 204
    manager.remove_session_files("me")
    gc.collect()
    assert list((tmp_path / "incoming").iterdir()) == []


@pytest.mark.parametrize("declared", [None, 10, 5 * MEGABYTE])
def test_a_file_that_is_too_large_is_refused_before_it_is_read_whole(
    manager, tmp_path, declared
):
    status, num_read = put(body_of(b"x" * 5 * MEGABYTE), declared=declared)
    assert status == 413
    assert num_read < 20
    assert (num_read == 0) == (declared == 5 * MEGABYTE)
    gc.collect()
    assert on_disk(tmp_path) == []


def test_a_visitor_keeps_two_large_files_and_may_send_more_after_letting_go(manager):
    data = b"x" * (MEGABYTE - 1)
    for number in range(2):
        assert put(body_of(data), file=f"file-{number}")[0] == 204
    assert put(body_of(data), file="file-2")[0] == 413
    assert put(body_of(data), "you", "file-3")[0] == 204
    shown(manager, "file-0").let_go()
    gc.collect()
    assert put(body_of(data), file="file-2")[0] == 204


def test_countless_small_files_are_too_many(manager):
    statuses = [put(body_of(b""), file=f"file-{i}")[0] for i in range(40)]
    assert 30 < statuses.index(413) < 35


def test_a_full_server_says_so_and_has_room_when_somebody_leaves(manager):
    data = b"x" * (MEGABYTE - 1)
    for session in "abcdefgh":
        assert put(body_of(data), session)[0] == 204
    assert put(body_of(data))[0] == 503
    manager.remove_session_files("a")
    gc.collect()
    assert put(body_of(data))[0] == 204


@pytest.mark.parametrize("error", [OSError(28, "full"), CheckpointError("No folder.")])
def test_a_full_disk_is_no_defect(manager, monkeypatch, error):
    def fail(**_):
        raise error

    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    assert put(body_of(b"x"))[0] == 503


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (403, {"token": False}),
        (400, {"session": "stranger"}),
        (400, {"kind": b"text/plain"}),
        (
            400,
            {
                "chunks": [
                    b"--here\r\nContent-Disposition: form-data; name=f\r\n\r\n",
                    END,
                ]
            },
        ),
        (400, {"chunks": [*body_of(b"x")[:-1], b"\r\n", *body_of(b"y")]}),
        (400, {"chunks": body_of(b"x")[:-1]}),
        (400, {"chunks": [b"nonsense"]}),
        (400, {"chunks": [b"--here\r\n" + b"X" * 2**17]}),
    ],
)
def test_what_is_no_file_of_a_visitor_is_refused_and_leaves_nothing(
    manager, tmp_path, status, change
):
    assert put(**{"chunks": body_of(b"x")} | change)[0] == status
    gc.collect()
    assert on_disk(tmp_path) == []
    assert not manager.file_storage


# What a page has taken does not stay in its memory.


@pytest.fixture
def freed(monkeypatch):
    """The sizes of the files that Streamlit was told to forget."""
    sizes = []
    forget = MemoryUploadedFileManager.remove_file

    def remove_file(self, session_id, file_id):
        sizes.extend(len(f.data) for f in self.get_files(session_id, [file_id]))
        forget(self, session_id, file_id)
        assert not self.get_files(session_id, [file_id])

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", remove_file)
    return sizes


@pytest.mark.parametrize("is_good", [True, False])
def test_a_models_zip_is_let_go(open_app, client, freed, is_good):
    if not is_good:
        client.broken["add_upload"] = CheckpointError("The file {name}.", name="x")
    app = open_app("models")
    app.file_uploader[0].upload("my.zip", b"PK" * 50).run()
    assert freed == []
    click(app, "add_upload")
    assert freed == [100]
    assert len(app.error) == (not is_good)
    assert app.run().file_uploader[0].value is None


@pytest.mark.parametrize("most", [10_000, 20])
def test_a_table_is_let_go(open_app, client, monkeypatch, tmp_path, freed, most):
    fake = FineTuneClient()
    monkeypatch.setattr(engine, "_connected", lambda: fake)
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(visitor_tables, "DEFAULT_LIMITS", Limits(max_bytes=most))
    text = "text,label\n" + "good,a\nbad,b\n" * 20
    app = open_app("fine_tune")
    app.file_uploader[0].set_value(("mine.csv", text.encode(), "text/csv")).run()
    assert freed == [len(text)]
    assert bool(app.error) == (len(text) > most)
    assert app.file_uploader[0].value is None
