"""A small hub on this machine's loopback, for tests of downloading.

It speaks what `huggingface_hub` asks of the real one: the description of a model,
its pull requests, and its files, with the headers that the library reads.
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
def running():
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            _answer(hub, self, with_body=True)

        def do_HEAD(self):
            _answer(hub, self, with_body=False)

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


def _answer(hub, request, with_body):
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
        _send_file(hub, request, *hub.models[name][revision], file, with_body)


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


def _send_file(hub, request, commit, files, file, with_body):
    data, start = files[file], 0
    headers = {"X-Repo-Commit": commit, "ETag": f'"{abs(hash(data)):032x}"'}
    if span := request.headers.get("Range"):
        start = int(span.removeprefix("bytes=").split("-")[0])
        hub.resumed.append(start)
        headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
    body = data[start:] if with_body else b""
    cut = hub.cut_after.pop(file, None) if with_body else None
    headers["Content-Length"] = str(len(data) - start)
    _send(request, 206 if span else 200, body[:cut], headers)
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
