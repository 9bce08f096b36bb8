"""Every response carries the security headers, and other sites get none."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit import config

from pages.shared.security import KnownHosts, SecurityHeaders, security_headers
from tests.app.requests import headers_in, request, sent_by


async def answer(request):
    return PlainTextResponse("x", headers={"X-Frame-Options": "DENY"})


def headers_of(path, *asked):
    """Those of an answer, and how many they are."""
    app = SecurityHeaders(Starlette(routes=[Route("/here", answer)]))
    scope = request(path, [(b"host", b"here.org:8501"), *asked])
    start, *_ = asyncio.run(sent_by(app, scope))
    return headers_in(start), len(start["headers"])


@pytest.mark.parametrize("path", ["/here", "/missing"])
def test_every_response_has_every_header_once(path):
    headers, count = headers_of(path)
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
    assert name in headers_of("/here", asked)[0]
    assert name not in headers_of("/here")[0]


def test_a_host_may_let_pages_of_others_show_the_app(monkeypatch):
    assert "X-Frame-Options" in security_headers("me.org", False)
    monkeypatch.setenv("BERTVIZ_FRAME_ANCESTORS", "https://school.org 'none'; x")
    headers = security_headers("me.org", False)
    assert "X-Frame-Options" not in headers
    policy = headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'self' https://school.org")


@pytest.fixture
def options(monkeypatch):
    """Settings of Streamlit, as `app.py` makes them."""
    changed = {"server.allowedHosts": ["localhost", "127.0.0.1", "::1", "my-lan"]}
    ask = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: changed.get(name, ask(name)))
    return changed


def answer_to(kind, host, **asked):
    """What a request with this host gets."""

    async def passed(scope, receive, send):
        await send({"type": "passed on"})

    headers = {"host": host, **asked}
    pairs = [(k.encode(), v.encode()) for k, v in headers.items() if v is not None]
    scope = {"type": kind, "headers": pairs}
    return asyncio.run(sent_by(KnownHosts(passed), scope))


OWN = ["localhost", "localhost:8501", "LOCALHOST:1", "127.0.0.1:8501", "[::1]:8501"]
FOREIGN = ["evil.org", "evil.org:8501", "localhost.evil.org", "127.0.0.1.evil.org"]
FOREIGN += ["evil.org@localhost", "localhost/x", "", None, "10.0.0.9:8501", "[::1"]


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_site_that_takes_this_machines_address_gets_no_answer(options, kind):
    for host in [*OWN, "my-lan:8501"]:
        assert answer_to(kind, host) == [{"type": "passed on"}], host
    for host in FOREIGN:
        first, *rest = answer_to(kind, host)
        if kind == "websocket":
            assert (first["type"], first["code"]) == ("websocket.close", 1008), host
        else:
            assert first["status"] == 400, host
            said = rest[0]["body"].decode()
            assert "STREAMLIT_SERVER_ALLOWED_HOSTS" in said
            assert "不能访问" in said


def test_a_server_for_others_answers_by_any_name(options):
    options["server.allowedHosts"] = []
    assert answer_to("http", "school.org") == [{"type": "passed on"}]


def test_only_its_own_pages_open_a_socket(options):
    host = "localhost:8501"
    own, other = "http://localhost:8501", "http://localhost:3000"
    for origin in (own, "https://localhost:8501", None):
        assert answer_to("websocket", host, origin=origin)[0]["type"] == "passed on"
    for origin in (
        other,
        "http://127.0.0.1:8501",
        "null",
        "http://[",
        "http://evil.org",
    ):
        assert answer_to("websocket", host, origin=origin)[0]["code"] == 1008, origin
    options["server.corsAllowedOrigins"] = [other]
    assert answer_to("websocket", host, origin=other)[0]["type"] == "passed on"
