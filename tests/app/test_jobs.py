"""Long work on a page, whatever stage it is at."""

import functools

import pytest

from bertviz_core.engine import JobStatus
from bertviz_core.errors import EngineError
from tests.app.real_pages import run_function

FULL = EngineError("The engine did not answer. Try again.")
REASON = "The engine did not answer"


def with_button(at_once=False, question="download_model"):
    import streamlit as st

    from bertviz_core.engine.model_tasks import download_model
    from bertviz_core.engine.training_tasks import pretrain_tiny
    from pages.shared.answers import ask, ask_job

    asked = {
        "download_model": ask(download_model).about("a"),
        "pretrain_tiny": ask(pretrain_tiny).about("a page", "a [MASK]"),
    }
    question = asked[question]
    st.session_state["answer"] = ask_job("place", "Begin", question, at_once=at_once)
    st.write("the rest of the page")


@pytest.fixture
def page(client):
    return functools.partial(run_function, with_button)


def starts(client):
    return [call for call in client.calls if call[0] == "start"]


def rest_is_there(app):
    return "the rest of the page" in [text.value for text in app.markdown]


def test_a_button_starts_the_work(client, page):
    app = page()
    assert not starts(client)
    app.button(key="job_place_start").click().run()
    assert starts(client) == [("start", "download_model", "a")]
    assert app.button(key="job_place_cancel").label == "Cancel"
    assert rest_is_there(app)


def test_whoever_waits_for_others_is_told_so(client, page):
    app = page()
    app.button(key="job_place_start").click().run()
    client.jobs["job-1"] = JobStatus("job-1", "waiting", num_before=1)
    app.run()
    assert "Waiting for its turn" in app.get("progress")[0].proto.text
    client.jobs["job-1"] = JobStatus("job-1", "running", 0.25)
    app.run()
    assert app.get("progress")[0].proto.text == "Working: 25%"


@pytest.mark.parametrize(
    ("question", "said"),
    [("pretrain_tiny", "starts TensorFlow, too"), ("download_model", "Working: 0%")],
)
def test_whoever_is_alone_is_not_told_to_wait_for_others(client, page, question, said):
    app = page(False, question)
    app.button(key="job_place_start").click().run()
    client.jobs["job-1"] = JobStatus("job-1", "waiting")
    app.run()
    assert said in app.get("progress")[0].proto.text


@pytest.mark.parametrize("at_once", [False, True])
def test_where_too_many_wait_the_page_says_so_and_goes_on(client, page, at_once):
    client.broken["start"] = FULL
    app = page(at_once)
    if not at_once:
        app.button(key="job_place_start").click().run()
    assert [REASON in error.value for error in app.error] == [True]
    assert rest_is_there(app)
    del client.broken["start"]
    app.button(key="job_place_start").click().run()
    assert not app.error
    assert app.button(key="job_place_cancel")


def test_the_answer_stays_until_the_question_changes(client, page):
    app = page(True)
    client.jobs["job-1"] = JobStatus("job-1", "done", 1.0, result="a folder")
    app.run()
    assert app.session_state["answer"] == "a folder"
    app.run()
    assert app.session_state["answer"] == "a folder"
    assert len(starts(client)) == 1
