"""Every response of the hosted app carries the security headers."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pages.shared.security import SecurityHeaders, security_headers


async def answer(request):
    return PlainTextResponse("x", headers={"X-Frame-Options": "DENY"})


async def headers_of(path, *asked):
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
        "headers": [(b"host", b"here.org:8501"), *asked],
        "query_string": b"",
    }
    app = SecurityHeaders(Starlette(routes=[Route("/here", answer)]))
    await app(scope, receive, send)
    pairs = sent[0]["headers"]
    return {name.decode(): value.decode() for name, value in pairs}, len(pairs)


@pytest.mark.parametrize("path", ["/here", "/missing"])
def test_every_response_has_every_header_once(path):
    headers, count = asyncio.run(headers_of(path))
    for name, value in security_headers("here.org:8501", False).items():
        assert headers[name.lower()] == value
    assert count == len(headers)


def test_the_policy_names_no_other_machine():
    policy = security_headers("", False)["Content-Security-Policy"]
    assert "http" not in policy
    assert "*" not in policy
    assert "'unsafe-eval'" not in policy
    for part in ("base-uri 'self'", "form-action 'self'", "object-src 'none'"):
        assert part in policy


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("me.org:80", "connect-src 'self' ws://me.org:80 wss://me.org:80;"),
        ("[::1]:8501", "connect-src 'self' ws://[::1]:8501 wss://[::1]:8501;"),
        ("x; script-src *", "connect-src 'self';"),
        ("*", "connect-src 'self';"),
    ],
)
def test_sockets_go_to_the_host_that_was_asked(host, said):
    assert said in security_headers(host, False)["Content-Security-Policy"]


def test_a_page_behind_tls_asks_for_tls_from_then_on():
    asked = (b"x-forwarded-proto", b"https")
    name = "strict-transport-security"
    assert name in asyncio.run(headers_of("/here", asked))[0]
    assert name not in asyncio.run(headers_of("/here"))[0]


def test_a_host_may_let_pages_of_others_show_the_app(monkeypatch):
    assert "X-Frame-Options" in security_headers("me.org", False)
    monkeypatch.setenv("BERTVIZ_FRAME_ANCESTORS", "https://school.org 'none'; x")
    headers = security_headers("me.org", False)
    assert "X-Frame-Options" not in headers
    policy = headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'self' https://school.org")
