"""What `app.py` and `server.py` give to the server that runs them.

Among it `/ready`: whether this server can answer now, for a load balancer.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from ipaddress import ip_address

import psutil
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from streamlit import config
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.environment import models_policy
from bertviz_core.errors import BertVizError
from bertviz_core.explorer import Explorer
from pages.shared import file_download, uploads
from pages.shared.admission import Admission, max_sessions
from pages.shared.engine import client, close, warm_up
from pages.shared.errors import shown_to_user
from pages.shared.security import KnownHosts, SecurityHeaders
from pages.shared.visitor import VisitorCookie

_M_ARENA_MAX = -8  # malloc.h

MIDDLEWARE = [
    Middleware(SecurityHeaders),
    Middleware(KnownHosts),
    Middleware(Admission),
    Middleware(VisitorCookie),
]
# Of a zip file that the owner of this machine brings: BERT-base in 32-bit floats has
# 440 MB. Streamlit's 200 are for strangers.
_OWN_MEGABYTES = 500


@contextlib.asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Starts the engine with the server, and stops it with the server."""
    # Streamlit takes a folder of this name for its older kind of navigation until
    # `st.navigation` has run once: without this line, a link to any page but the
    # first, opened first on a fresh server, shows "Page not found".
    PagesManager.uses_pages_directory = False
    AppSession.request_rerun = _request_rerun  # type: ignore[method-assign, assignment]
    send_at_once()
    share_arenas()
    warm_up()
    yield
    await asyncio.to_thread(close)


_REQUEST_RERUN = AppSession.request_rerun


def _request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    """Passes over what a part of a page says once the visitor is on another.

    A box that is left by a click on a link says what was typed after the link does.
    Streamlit would then run a part that is gone, and the browser would show the old
    page's address and none of what the new page has drawn; or the link would be lost.
    """
    if client_state is not None and client_state.fragment_id:
        open_page = session._pages_manager.current_page_script_hash
        if client_state.page_script_hash not in ("", open_page):
            return
    _REQUEST_RERUN(session, client_state)


def require_decision() -> None:
    """Ends a server that others can reach, unless its owner said what they may open.

    `server.py` has said so; `app.py` is for its owner alone, who may open any folder.
    What is said must make sense, or it would be found out by visitors: `SystemExit` has
    the sentence.
    """
    try:
        models_policy()
        max_sessions()
    except BertVizError as error:
        sys.exit(str(error))
    address = st.get_option("server.address")  # `None` for all of this machine
    is_own = address == "localhost" or (address and ip_address(address).is_loopback)
    if not is_own and not os.environ.get("BERTVIZ_MODELS", "").strip():
        sys.exit(
            "Others can reach this server, and with app.py they could open any folder "
            f"of this machine. Received: server.address = {address or 'all'}. Run "
            "`streamlit run server.py`, or set BERTVIZ_MODELS to listed or any."
        )


def prepare_own_machine() -> None:
    """Has `app.py` answer by this machine's addresses, and take larger files.

    Unless its owner has set otherwise. By which names others reach a server that is
    for them is not known: `server.py` answers by any.
    """
    if not st.get_option("server.allowedHosts"):
        addresses = (
            one.address for all_ in psutil.net_if_addrs().values() for one in all_
        )
        own = [st.get_option("server.address") or "localhost", "localhost", *addresses]
        config.set_option("server.allowedHosts", own)
    if not config.is_manually_set("server.maxUploadSize"):
        config.set_option("server.maxUploadSize", _OWN_MEGABYTES)


def send_at_once() -> None:
    """Has the server send small messages when they are there, not 40 ms later.

    Streamlit makes its listening socket without naming TCP, and asyncio then leaves
    Nagle's algorithm on: the second message of an answer waits until the browser has
    confirmed the first, which browsers put off by 40 ms. Connections take the setting
    from the socket that they came through.

    Source: CPython, `asyncio/base_events.py`, `_set_nodelay`; streamlit 1.67,
        `starlette_server.py`, `_bind_socket`.
    """
    for listening in psutil.Process().net_connections(kind="tcp"):
        if listening.status == psutil.CONN_LISTEN and listening.fd != -1:
            with socket.socket(fileno=os.dup(listening.fd)) as same:
                same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def share_arenas() -> None:
    """Has the threads of all pages take their memory from two places.

    With one for each thread, as glibc has it, what pages gave back lies in 16 places
    and fits nowhere: 58 MB with 20 visitors, instead of 40.

    Source: mallopt(3); glibc, `malloc/arena.c`.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # no glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def show_uncaught(error: Exception) -> bool:
    """Shows an error that no page caught; Streamlit need not show it again."""
    with shown_to_user(stop=False):
        raise error
    return True


_SECONDS = 5.0  # that a worker has to split a text
_GOOD_FOR = 1.0  # seconds, so that polling does not keep a worker busy


class Readiness:
    """Answers 200 if a worker has split a text in time, else 503."""

    def __init__(self) -> None:
        self._asked: asyncio.Task[bool] | None = None
        self._since = 0.0

    async def answer(self, _: Request) -> Response:
        """Asks a worker, unless another request has just done so or still waits."""
        now = time.monotonic()
        if self._asked is None or (
            self._asked.done() and now - self._since > _GOOD_FOR
        ):
            self._asked = asyncio.create_task(asyncio.to_thread(_has_answered))
            self._since = now
        left = max(0.0, self._since + _SECONDS - now)
        await asyncio.wait({self._asked}, timeout=left)
        is_ready = self._asked.done() and self._asked.result()
        return PlainTextResponse(*(("ready", 200) if is_ready else ("not ready", 503)))


def _has_answered() -> bool:
    try:
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, "ready")
    except BertVizError:
        return False
    return True


_READY = Route("/ready", Readiness().answer)
ROUTES = [*file_download.ROUTES, *uploads.ROUTES, _READY]
