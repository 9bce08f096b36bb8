"""Work goes on while any page of the app is open, not just the one that shows it."""

import pytest

from bertviz_core.engine import JobStatus
from bertviz_core.engine.jobs import LEASE_SECONDS
from bertviz_core.errors import EngineError
from pages.shared.jobs import RENEW_SECONDS

GONE = EngineError("The engine did not answer. Try again.")


@pytest.fixture
def downloading(open_app):
    """The page of models, with a job under way."""
    app = open_app("models", model="someone/a-model")
    return app.button(key="job_download_start").click().run()


def is_asked(app, client):
    """Whether a page that does not show the job asks for it when it opens."""
    before = client.count("job")
    app.switch_page("pages/pretraining/pretraining.py").run()
    assert not app.exception
    return client.count("job") > before


def test_another_page_asks_for_a_job_that_is_under_way(downloading, client):
    assert downloading.button(key="job_download_cancel")
    assert is_asked(downloading, client)
    assert is_asked(downloading, client)
    assert not [call for call in client.calls if call[0] == "cancel"]


def test_a_job_is_asked_for_until_its_end_was_seen(downloading, client):
    client.jobs["job-1"] = JobStatus("job-1", "done", 1.0, result=None)
    assert is_asked(downloading, client)
    assert not is_asked(downloading, client)


def test_a_job_that_the_engine_has_forgotten_is_forgotten_here_too(downloading, client):
    client.broken["job"] = GONE
    assert is_asked(downloading, client)
    assert not is_asked(downloading, client)


def test_a_visitor_without_jobs_asks_for_none(open_app, client):
    assert not is_asked(open_app(), client)


def test_a_lease_survives_some_times_that_went_wrong():
    assert 60 <= RENEW_SECONDS <= LEASE_SECONDS / 3
    assert LEASE_SECONDS >= 180
