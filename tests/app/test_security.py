"""Every response of the hosted app carries the security headers."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pages.shared.security import HEADERS, SecurityHeaders


async def answer(request):
    return PlainTextResponse("x", headers={"X-Frame-Options": "DENY"})


async def headers_of(path):
    """One request through the middleware, without a server."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [],
        "query_string": b"",
    }
    app = SecurityHeaders(Starlette(routes=[Route("/here", answer)]))
    await app(scope, receive, send)
    pairs = sent[0]["headers"]
    return {name.decode(): value.decode() for name, value in pairs}, len(pairs)


@pytest.mark.parametrize("path", ["/here", "/missing"])
def test_every_response_has_every_header_once(path):
    import asyncio

    headers, count = asyncio.run(headers_of(path))
    for name, value in HEADERS.items():
        assert headers[name.lower()] == value
    assert count == len(headers)


def test_the_policy_names_no_other_machine():
    policy = HEADERS["Content-Security-Policy"]
    assert "http" not in policy
    assert "*" not in policy
    assert "'unsafe-eval'" not in policy
