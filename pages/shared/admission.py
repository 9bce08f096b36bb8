"""Limits the number of visitors at a time; further ones wait."""

import time
import uuid
from collections import Counter

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from bertviz_core.environment import whole_number
from bertviz_core.free_memory import free_memory
from pages.shared.language import text
from pages.shared.visitor import COOKIE

MAX_SESSIONS = "BERTVIZ_MAX_SESSIONS"
_LEAST_FREE_BYTES = 256 * 2**20  # of memory, for somebody else to come in
_KEPT_SECONDS = 60.0  # keeps the place of a visitor who reloads or loses the connection
_TABS = 4  # of one visitor, even where all places are taken
_AGAIN_SECONDS = 10
_TOO_BUSY = 1013  # RFC 6455, registry of close codes: "try again later"
_WAITING = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta http-equiv="refresh" content="{seconds}">
<meta name="viewport" content="width=device-width">
<title>BERT Explorer</title>
<style>
:root {{ color-scheme: light dark; font: 1.125rem/1.6 system-ui, sans-serif; }}
main {{ max-width: 36rem; margin: 20vh auto 0; padding: 0 1.5rem; }}
</style>
<main><h1>{title}</h1><p>{explained}</p></main>
"""


def max_sessions() -> int:
    """Tabs that may be open at a time; 0 for any. No number is an `EngineError`."""
    return whole_number(MAX_SESSIONS, 0)


class Admission:
    """Middleware that admits a new visitor if there is room, else shows a waiting page.

    A tab of a visitor is a socket. Visitors are told apart by their cookie; without
    one, each request is a new visitor.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._most = max_sessions()
        # By visitor: the tabs that are open, and when the last one closed.
        self._tabs: Counter[str] = Counter()
        self._left: dict[str, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._most:  # nobody is counted
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope) if "headers" in scope else Headers()
        is_page = scope["type"] == "http" and "text/html" in asked.get("accept", "")
        is_tab = scope["type"] == "websocket"
        cookies = cookie_parser(asked.get("cookie", ""))
        visitor = cookies.get(COOKIE) or uuid.uuid4().hex
        # A tab that reloads still counts as open when it asks.
        tabs = _TABS if is_tab else _TABS + 1
        if (is_page or is_tab) and not self._has_room_for(visitor, tabs):
            refuse = WebSocketClose(_TOO_BUSY) if is_tab else _waiting_page(asked)
            await refuse(scope, receive, send)
        elif is_tab:
            await self._with_tab(visitor, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _with_tab(
        self, visitor: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._tabs[visitor] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._tabs[visitor] -= 1
            if not self._tabs[visitor]:
                del self._tabs[visitor]
                self._left[visitor] = time.monotonic()

    def _has_room_for(self, visitor: str, tabs: int) -> bool:
        since = time.monotonic() - _KEPT_SECONDS
        self._left = {
            one: left
            for one, left in self._left.items()
            if left > since and one not in self._tabs
        }
        if visitor in self._left or 0 < self._tabs[visitor] < tabs:
            return True
        taken = self._tabs.total() + len(self._left)
        if not taken:  # who would wait for nobody
            return True
        return taken < self._most and free_memory() >= _LEAST_FREE_BYTES


def _waiting_page(asked: Headers) -> HTMLResponse:
    prefers_chinese = asked.get("accept-language", "").lower().startswith("zh")
    language = "zh" if prefers_chinese else "en"
    content = _WAITING.format(
        language=language,
        seconds=_AGAIN_SECONDS,
        title=text("app.full", language),
        explained=text("app.full_explained", language, seconds=_AGAIN_SECONDS),
    )
    again = {"Retry-After": str(_AGAIN_SECONDS), "Cache-Control": "no-store"}
    return HTMLResponse(content, 503, again)
