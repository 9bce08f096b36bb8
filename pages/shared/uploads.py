"""Uploads: written to the disk in pieces, limited in number and size; their box.

Streamlit's own route reads a file into the memory of the server and keeps it there,
as many as a visitor sends. The one here keeps it in the cache folder, and hands
Streamlit what looks like its bytes. Streamlit's own box says its button, its limit and
its refusals in English whatever the page speaks: see `replaced_words`.

Source: streamlit 1.67, `starlette_routes.py`, `create_upload_routes`; RFC 7578.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import streamlit as st
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.server_util import is_xsrf_enabled
from streamlit.web.server.starlette.starlette_app_utils import validate_xsrf_token
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

from bertviz_core.cached_files import cache_folder
from bertviz_core.errors import BertVizError
from pages.shared.language import in_a_row, plain
from pages.shared.replaced_words import quoted

if TYPE_CHECKING:
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
    from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
    from streamlit.typing import UploadedFile

# How many files of the largest size may lie here: of one visitor, whose next file
# comes before the last one goes, and of all.
_PER_SESSION, _IN_ALL = 2, 8
_LEAST_BYTES = 2**16  # that a file counts for, as countless small ones take room, too
_FRAME_BYTES = 2**16  # of a request around its file, at most


def largest_megabytes() -> int:
    """Of a file: Streamlit's `server.maxUploadSize`."""
    return int(st.get_option("server.maxUploadSize"))


class Upload:
    """A file that a visitor has sent.

    `file`, as Streamlit gives it, has the name but not always the bytes.
    """

    def __init__(self, file: UploadedFile) -> None:
        self._file = file
        self.name = file.name

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file, to be read from its beginning."""
        context = _context()
        file_ids = [self._file.file_id]
        found = context.uploaded_file_mgr.get_files(context.session_id, file_ids)
        if found and isinstance(found[0].data, _OnDisk):
            with found[0].data.stored.path.open("rb") as source:
                yield source
        else:  # in tests, Streamlit has the bytes themselves
            self._file.seek(0)
            yield self._file

    def let_go(self) -> None:
        """Removes a file that is stored elsewhere by now.

        Streamlit keeps it until five minutes after the tab was closed, however many
        came. The file's box must have another key from the next run on.
        """
        context = _context()
        manager = cast("MemoryUploadedFileManager", context.uploaded_file_mgr)
        manager.remove_file(context.session_id, self._file.file_id)
        self._file.truncate(0)


class _Stored:
    """A file in the cache folder, deleted when this object is."""

    def __init__(self, session: str) -> None:
        # What a killed server leaves there is swept, see `incoming_file`.
        folder = tempfile.mkdtemp(dir=cache_folder("incoming"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.session, self.path, self.num_bytes = session, Path(folder, "file"), 0
        _ALL.add(self)

    def remove(self) -> None:
        """Removes it now: an exception may hold it for long."""
        _ALL.discard(self)
        self._remove()

    @property
    def weight(self) -> int:
        return max(self.num_bytes, _LEAST_BYTES)


# Those that arrive and those that have arrived.
_ALL: weakref.WeakSet[_Stored] = weakref.WeakSet()


class _OnDisk(bytes):
    """Stands for a file: no bytes in memory, but the length of the file."""

    stored: _Stored

    @classmethod
    def of(cls, stored: _Stored) -> _OnDisk:
        made = cls()
        made.stored = stored
        return made

    def __len__(self) -> int:
        return self.stored.num_bytes


class _Body(MultiPartParser):
    """Writes the one file of a request's body to `target`, as the body comes."""

    def __init__(
        self, headers: Headers, body: AsyncGenerator[bytes, None], target: BinaryIO
    ) -> None:
        super().__init__(headers, body, max_files=1, max_fields=0)
        self._target, self._is_whole = target, False

    async def file(self) -> UploadFile:
        """The file, with its name and its type, once it is whole.

        `MultiPartException`: the body is no form, or holds no whole file or several.
        """
        if "Content-Type" not in self.headers:
            raise MultiPartException("The body has no type.")
        (found,) = (await self.parse()).values() or [None]
        if not isinstance(found, UploadFile) or not self._is_whole:
            raise MultiPartException("The body holds no whole file.")
        return found

    def on_headers_finished(self) -> None:
        """A file begins: not in `/tmp`, which may be small."""
        super().on_headers_finished()
        if (file := self._current_part.file) is not None:
            file.file.close()
            file.file = self._target

    def on_end(self) -> None:
        """The last boundary has come."""
        self._is_whole = True


async def _put(request: Request) -> Response:
    """Takes a file. Where it is refused, the box says so, see `upload_box`.

    `HTTPException`: 403, 400 as Streamlit's own; 413 where this is too much for one
    visitor, 503 where there is no room for it now.
    """
    session, file_id = request.path_params["session"], request.path_params["file"]
    token = request.headers.get("X-Xsrftoken")
    if is_xsrf_enabled() and not validate_xsrf_token(
        token, request.cookies.get(XSRF_COOKIE_NAME)
    ):
        raise HTTPException(403)
    runtime = st.runtime.get_instance()
    if not runtime.is_active_session(session):
        raise HTTPException(400)
    declared = request.headers.get("content-length", "")
    _require_room(session, int(declared) if declared.isdecimal() else 0)
    try:
        with ExitStack() as on_error:
            stored = _Stored(session)
            on_error.callback(stored.remove)
            name, kind = await _receive(request, stored)
            on_error.pop_all()
    except (MultiPartException, ClientDisconnect) as error:
        raise HTTPException(400) from error
    except (OSError, BertVizError) as error:  # the disk is full
        raise HTTPException(503) from error
    record = UploadedFileRec(file_id, name, kind, _OnDisk.of(stored))
    manager = cast("MemoryUploadedFileManager", runtime.uploaded_file_mgr)
    manager.add_file(session, record)
    return Response(status_code=204)


async def _receive(request: Request, stored: _Stored) -> tuple[str, str]:
    """Writes a file to the disk; returns its name and its type."""

    async def body() -> AsyncGenerator[bytes, None]:
        async for chunk in request.stream():
            _require_room(stored.session, stored.num_bytes + len(chunk), stored)
            stored.num_bytes += len(chunk)
            yield chunk

    with stored.path.open("wb") as target:
        file = await _Body(request.headers, body(), target).file()
    stored.num_bytes = stored.path.stat().st_size
    return file.filename or "", file.content_type or "application/octet-stream"


def _require_room(session: str, num_sent: int, own: _Stored | None = None) -> None:
    """Refuses a request of `num_sent` bytes where other files leave no room for it."""
    size, most = num_sent - _FRAME_BYTES, largest_megabytes() * 2**20
    others = [one for one in _ALL if one is not own]
    of_session = [one.weight for one in others if one.session == session]
    if size > most or sum(of_session) + size > _PER_SESSION * most:
        raise HTTPException(413)
    if sum(one.weight for one in others) + size > _IN_ALL * most:
        raise HTTPException(503)


def _context() -> ScriptRunContext:
    context = get_script_run_ctx()
    if context is None:
        raise RuntimeError("Files belong to the session of a page.")
    return context


# `st.App` takes no route below "/_stcore", which is Streamlit's own.
ROUTES = [Route("/{core:path}/upload_file/{session}/{file}", _put, methods=["PUT"])]


_WORDS = """<style>
.st-key-{key} [data-testid="stFileUploaderDropzone"] > span button p {{
  font-size: 0;
}}
.st-key-{key} [data-testid="stFileUploaderDropzoneInstructions"] * {{
  display: none;
}}
.st-key-{key} [data-testid="stFileUploaderDropzone"] > span
[data-testid="stMarkdownContainer"]::after {{
  content: "{button}";
}}
.st-key-{key} [data-testid="stFileUploaderDropzoneInstructions"]::after {{
  content: "{limit}";
  font-size: 0.875rem;
}}
.st-key-{key}:has([aria-invalid="true"])::after {{
  content: "{refusal}";
  display: block;
  padding-top: 0.5rem;
}}
.st-key-{key} [role="alert"],
body:has(.st-key-{key} [aria-invalid="true"]) [data-testid="stTooltipErrorContent"] {{
  display: none;
}}
</style>"""


def upload_box(
    label: str,
    *,
    key: str,
    limit: str,
    refusal: str,
    megabytes: int | None = None,
    endings: Sequence[str] | None = None,
    help: str | None = None,
    on_change: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
) -> Upload | None:
    """Draws the box.

    `limit` says what it takes; `refusal`, below it, that a file was not taken: mostly
    by the box itself, which lets `megabytes` and `endings` through. Where the server
    has no room, see `uploads`, the box looks the same, so that this is said as well.
    """
    most = largest_megabytes()
    file = st.file_uploader(
        label,
        type=endings,
        key=key,
        max_upload_size=min(megabytes or most, most),
        help=help,
        on_change=on_change,
        args=args,
    )
    words = {
        "button": plain("app.choose_file"),
        "limit": limit,
        "refusal": in_a_row([refusal, plain("app.no_room_for_file")]),
    }
    words = {name: quoted(said) for name, said in words.items()}
    st.html(_WORDS.format(key=key, **words))
    return None if file is None else Upload(file)
