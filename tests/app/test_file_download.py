"""A link to a file on the disk: whose it is, how it is sent, when it ends."""

import asyncio
import gc

import pytest
import streamlit as st
from starlette.applications import Starlette

from pages.shared import file_download
from pages.shared.hosting import ROUTES
from tests.app.real_pages import run_function
from tests.app.requests import headers_in, request, sent_by

CONTENT = bytes(range(256)) * 4096


def page(path, name):
    """A page with one file."""
    from pathlib import Path

    from pages.shared.file_download import file_link

    file_link("Save", Path(path), name, "save", "download")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kept.bin"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def open_sessions():
    """The sessions whose pages are open; `AppTest` runs all in one of this name."""
    return {"test session id"}


@pytest.fixture
def fetch(open_sessions, monkeypatch):
    """Gives status, headers and the pieces of the answer to one request."""

    class Runtime:
        def is_active_session(self, session):
            return session in open_sessions

    def answer_of(path, method="GET"):
        with monkeypatch.context() as patch:  # `AppTest` has one of its own
            patch.setattr(st.runtime, "get_instance", Runtime)
            scope = request(path, method=method)
            start, *sent = asyncio.run(sent_by(Starlette(routes=ROUTES), scope))
        return start["status"], headers_in(start), [one["body"] for one in sent]

    return answer_of


def open_page(path, name="模型.zip"):
    return run_function(page, str(path), name)


def url_of(app):
    (link,) = app.get("link_button")
    return link.proto.url


@pytest.mark.parametrize("where", ["/", "/base/", "/a/proxy/and/page/"])
def test_a_file_is_sent_in_pieces_under_its_name(file, fetch, where):
    app = open_page(file)
    status, headers, pieces = fetch(where + url_of(app))
    assert status == 200
    assert b"".join(pieces) == CONTENT
    assert max(map(len, pieces)) <= len(CONTENT) / 8
    assert headers["content-type"] == "application/zip"
    assert headers["content-disposition"].startswith("attachment;")
    assert "%E6%A8%A1%E5%9E%8B.zip" in headers["content-disposition"]
    assert headers["cache-control"] == "no-store"


def test_a_link_stays_while_its_page_runs_again_and_belongs_to_one_visit(file):
    app, other = open_page(file), open_page(file)
    first = url_of(app)
    assert url_of(app.run()) == first
    assert url_of(other) != first
    assert str(file) not in first
    assert len(first) > 40


def test_another_file_in_its_place_has_another_link(file, fetch, tmp_path):
    app = open_page(file)
    first = url_of(app)
    second = tmp_path / "second.bin"
    second.write_bytes(b"second")
    app.args = (str(second), "模型.zip")
    assert url_of(app.run()) != first
    assert b"".join(fetch("/" + url_of(app))[2]) == b"second"
    assert fetch("/" + first)[0] == 404


@pytest.mark.parametrize("what", ["session", "file", "token", "visit"])
def test_what_is_gone_is_said_in_both_languages(file, fetch, open_sessions, what):
    app = open_page(file)
    url = "/" + url_of(app)
    assert fetch(url)[0] == 200
    if what == "session":
        open_sessions.clear()
    elif what == "file":
        file.unlink()
    elif what == "token":
        url = url[:-1] + ("a" if url[-1] != "a" else "b")
    else:
        del app
        gc.collect()
        assert not file_download._offered
    status, headers, pieces = fetch(url)
    assert status == 404
    said = b"".join(pieces).decode()
    assert "no longer offered" in said
    assert "不再提供下载" in said
    assert "content-disposition" not in headers


def test_a_link_changes_nothing(file, fetch):
    url = "/" + url_of(open_page(file))
    assert fetch(url, "POST")[0] == 405
    status, headers, pieces = fetch(url, "HEAD")
    assert (status, b"".join(pieces)) == (200, b"")
    assert int(headers["content-length"]) == len(CONTENT)
