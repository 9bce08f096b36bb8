"""Security headers for every response, and the hosts and origins that are answered."""

import os
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.web.server.server_util import (
    allow_all_cross_origin_requests,
    is_allowed_origin,
)
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from pages.shared.language import LANGUAGES, text

# Origins whose pages may show this app in a frame, with blanks between.
FRAMES = "BERTVIZ_FRAME_ANCESTORS"
_HOST = re.compile(r"[\w.\-]+(:\d+)?|\[[\da-fA-F:.]+\](:\d+)?")
_ORIGIN = re.compile(r"https?://[\w.*\-]+(:\d+)?")
_NOT_ALLOWED = 1008  # RFC 6455, 7.4.1: against the policy
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}


def security_headers(host: str, over_tls: bool) -> dict[str, str]:
    """The headers of a response; of sockets, that of the `host` alone may be opened."""
    frames = filter(_ORIGIN.fullmatch, os.environ.get(FRAMES, "").split())
    ancestors = ("frame-ancestors 'self'", *frames)
    # Browsers differ in whether 'self' holds for sockets.
    sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    policy = (
        # Streamlit's own front end needs the inline parts, blob workers and
        # WebAssembly; nothing comes from another machine.
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' blob: 'wasm-unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        f"connect-src 'self'{sockets}",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        " ".join(ancestors),
    )
    headers = {**_HEADERS, "Content-Security-Policy": "; ".join(policy)}
    if len(ancestors) == 1:
        headers["X-Frame-Options"] = "SAMEORIGIN"
    if over_tls:
        headers["Strict-Transport-Security"] = "max-age=31536000"
    return headers


def is_secure(scope: Scope, asked: Headers) -> bool:
    """Whether a request came over TLS, perhaps through a proxy."""
    return asked.get("x-forwarded-proto", scope.get("scheme", "http")) == "https"


class SecurityHeaders:
    """Middleware that adds `security_headers` to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        headers = security_headers(asked.get("host", ""), is_secure(scope, asked))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class KnownHosts:
    """Middleware that answers only pages of this server, not those of other sites.

    A site may give its name this machine's address, and its pages then ask this server
    as their own (DNS rebinding): the host that they name is theirs. A socket is opened
    from any site, and says from which. Streamlit looks at the host of sockets only, and
    trusts every server of this machine. Its `server.allowedHosts` and
    `server.corsAllowedOrigins` say who may besides.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it in a sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        asked, is_socket = Headers(scope=scope), scope["type"] == "websocket"
        host = asked.get("host")
        is_own = not is_socket or _is_own_origin(asked.get("origin"), host)
        if is_own and is_host_allowed(host):
            await self.app(scope, receive, send)
        elif is_socket:
            await WebSocketClose(_NOT_ALLOWED)(scope, receive, send)
        else:
            # The visitor, and so the language, is not known here.
            said = [text("app.unknown_host", language) for language in LANGUAGES]
            await PlainTextResponse("\n".join(said), 400)(scope, receive, send)


def _is_own_origin(origin: str | None, host: str | None) -> bool:
    if origin is None:  # no browser
        return True
    is_same = origin.partition("://")[2] == host
    return is_same or allow_all_cross_origin_requests() or is_allowed_origin(origin)
