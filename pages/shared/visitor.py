"""The visitor: owns what is kept and computed, and renews it while they are there.

A browser has a name that only the server knows, in a cookie that lasts as long as the
browser runs. It says nothing about the visitor and is sent to nobody else.
"""

import re
import uuid
from collections.abc import Iterable

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertviz_core.visitor_files import lease_seconds
from pages.shared.engine import client
from pages.shared.security import is_secure

COOKIE = "bert_explorer_visitor"
_NAME = re.compile(r"[0-9a-f]{32}")
# Keys of the session: its name where the browser sent none, and what it holds, by
# the place on a page that needs it.
_OWNER, _HELD = "visitor_owner", "visitor_held"
# A lease survives some failed renewals; that of a job is five minutes.
BEAT_SECONDS = 60.0


class VisitorCookie:
    """Middleware that gives each browser its name."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = Headers(scope=scope) if scope["type"] == "http" else Headers()
        if scope["type"] != "http" or f"{COOKIE}=" in asked.get("cookie", ""):
            await self.app(scope, receive, send)
            return

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    said = (
                        f"{COOKIE}={uuid.uuid4().hex}; Path=/; HttpOnly; SameSite=Lax"
                    )
                    said += "; Secure" if is_secure(scope, asked) else ""
                    headers.append("set-cookie", said)
            await send(message)

        await self.app(scope, receive, send_with_cookie)


def owner() -> str:
    """The name of this visitor's browser; of the session where it has none."""
    name = str(st.context.cookies.get(COOKIE, ""))
    if _NAME.fullmatch(name):
        return name
    made: str = st.session_state.setdefault(_OWNER, uuid.uuid4().hex)
    return made


def hold(place: str, names: Iterable[str]) -> None:
    """Keeps what a place on a page needs, as long as this visitor has the app open.

    What the place held before is let go; `names`: see `Engine.renew`.
    """
    held = st.session_state.setdefault(_HELD, {})
    held[place] = frozenset(filter(None, names))
    if not held[place]:
        del held[place]


def say_that_one_is_here() -> None:
    """Tells the engine now and then that what this session holds is needed."""
    st.fragment(_say, run_every=min(BEAT_SECONDS, lease_seconds() / 3))()


def _say() -> None:
    held: dict[str, frozenset[str]] = st.session_state.get(_HELD, {})
    if held:
        client().renew(frozenset().union(*held.values()))
