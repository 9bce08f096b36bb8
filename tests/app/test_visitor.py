"""Who visits, and what is kept while any page of the app is open."""

import asyncio

import pytest

from bertviz_core.engine import JobStatus
from bertviz_core.engine.jobs import LEASE_SECONDS
from pages.shared import visitor
from tests.app.real_pages import click
from tests.app.requests import headers_in, request, sent_by


@pytest.fixture
def downloading(open_app):
    """The page of models, with a job under way."""
    app = open_app("models", model="someone/a-model")
    return app.button(key="job_download_start").click().run()


def is_asked(app, client):
    """Whether a page that does not show the job keeps it."""
    before = len(client.calls)
    app.switch_page("pages/pretraining/pretraining.py").run()
    assert not app.exception
    return ("renew", "job-1") in client.calls[before:]


def test_another_page_keeps_a_job_that_is_under_way(downloading, client):
    assert downloading.button(key="job_download_cancel")
    assert is_asked(downloading, client)
    assert not [call for call in client.calls if call[0] == "cancel"]


def test_a_job_is_kept_until_its_end_was_seen(downloading, client):
    client.jobs["job-1"] = JobStatus("job-1", "done", 1.0, result=None)
    downloading.run()
    assert not is_asked(downloading, client)


def test_a_job_that_was_stopped_is_let_go(downloading, client):
    click(downloading, "job_download_cancel")
    downloading.run()
    assert not is_asked(downloading, client)


def test_a_visitor_without_jobs_keeps_none(open_app, client):
    assert not is_asked(open_app(), client)


def test_a_lease_survives_some_times_that_went_wrong():
    assert 60 <= visitor.BEAT_SECONDS <= LEASE_SECONDS / 3
    assert LEASE_SECONDS >= 180


def answered(kind, asked=(), scheme="http"):
    """The headers of an answer of some content type."""

    async def app(scope, receive, send):
        headers = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    scope = request("/", asked) | {"scheme": scheme}
    (start,) = asyncio.run(sent_by(visitor.VisitorCookie(app), scope))
    return headers_in(start)


def test_a_browser_gets_a_name_that_no_script_and_no_other_site_reads():
    first, second = (answered("text/html; charset=utf-8") for _ in range(2))
    name, *rules = first["set-cookie"].split("; ")
    assert name.startswith(f"{visitor.COOKIE}=")
    assert name != second["set-cookie"].split("; ")[0]
    assert rules == ["Path=/", "HttpOnly", "SameSite=Lax"]
    assert answered("text/html", scheme="https")["set-cookie"].endswith("; Secure")


def test_who_has_a_name_keeps_it_and_files_bring_none():
    asked = [(b"cookie", f"a=b; {visitor.COOKIE}={'0' * 32}".encode())]
    assert "set-cookie" not in answered("text/html", asked)
    assert "set-cookie" not in answered("application/json")
