"""Security headers for every response of the server."""

from __future__ import annotations

import os
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Origins whose pages may show this app in a frame, with blanks between.
FRAMES = "BERTVIZ_FRAME_ANCESTORS"
_HOST = re.compile(r"[\w.\-]+(:\d+)?|\[[\da-fA-F:.]+\](:\d+)?")
_ORIGIN = re.compile(r"https?://[\w.*\-]+(:\d+)?")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}


def security_headers(host: str, is_secure: bool) -> dict[str, str]:
    """The headers of a response.

    Args:
        host: that the browser asked; only its socket may be opened from the page.
        is_secure: whether it asked over TLS, perhaps through a proxy.
    """
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
    if is_secure:
        headers["Strict-Transport-Security"] = "max-age=31536000"
    return headers


class SecurityHeaders:
    """Middleware that adds `security_headers` to every HTTP response.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and the response back with its headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        scheme = asked.get("x-forwarded-proto", scope.get("scheme", "http"))
        headers = security_headers(asked.get("host", ""), scheme == "https")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await self.app(scope, receive, send_with_headers)
