import logging
import time
from types import SimpleNamespace

import pytest

from bertviz_core.engine import engine as engine_module
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.jobs import LEASE_SECONDS
from bertviz_core.engine.questions import Question
from bertviz_core.errors import EngineError
from tests.core import engine_fake_tasks as tasks
from tests.core.engine_waiting import ended, running, start, wait_until


@pytest.fixture
def engine():
    engine = InlineEngine()
    yield engine
    engine.close()


def test_a_defect_becomes_a_sentence_and_its_traceback_goes_to_the_log(engine, caplog):
    with pytest.raises(EngineError) as caught:
        engine.ask(tasks.break_on)(secret="hunter2")
    assert caught.value.details == {"task": "break_on", "kind": "KeyError"}
    assert "hunter2" not in str(caught.value)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "in break_on" in caplog.text


@pytest.mark.parametrize("name", ["no_such_task", "wait_until"])
def test_a_task_that_is_none_is_a_defect(engine, name):
    with pytest.raises(EngineError) as caught:
        engine.call(Question(f"{tasks.__name__}:{name}"))
    assert caught.value.details["task"] == name


def test_a_job_reports_and_ends_with_its_result(engine, tmp_path):
    job_id = start(engine, tasks.count, 3, tmp_path / "gate")
    status = wait_until(lambda: running(engine, job_id))
    assert (status.fraction, status.message) == (0.5, "half")
    assert status.so_far == {"seen": [1, 2.5], "word": "猫"}
    (tmp_path / "gate").touch()
    status = ended(engine, job_id)
    assert (status.state, status.fraction, status.result) == ("done", 1.0, 3)


@pytest.mark.parametrize("task", [tasks.run_for_ever, tasks.swallow])
def test_a_cancelled_job_stops_even_where_exceptions_are_swallowed(
    engine, tmp_path, task
):
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    question = engine.ask(task).about(str(started), str(stopped))
    job_id = engine.start(question)
    wait_until(started.exists)
    engine.cancel(job_id)
    assert engine.job(job_id).state == "cancelled"
    wait_until(stopped.exists)
    assert engine.job(job_id).state == "cancelled"


def test_a_job_that_nobody_asks_for_is_stopped(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "LOOK_SECONDS", 0.01)
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    job_id = start(engine, tasks.run_for_ever, started, stopped)
    wait_until(started.exists)
    job = engine._jobs.get(job_id)

    def is_stopped():
        # Each time, as the first look of all renews the leases.
        job.asked_at = time.monotonic() - LEASE_SECONDS - 1.0
        return job.status.is_finished

    wait_until(is_stopped)
    assert "no page had been waiting" in str(engine.job(job_id).error)
    wait_until(stopped.exists)


def test_a_sleep_of_the_machine_renews_the_leases_of_jobs(
    engine, tmp_path, monkeypatch
):
    clock = SimpleNamespace(now=time.time())
    clock.time = lambda: clock.now
    monkeypatch.setattr(engine_module, "time", clock)
    monkeypatch.setattr(engine_module, "LOOK_SECONDS", 0.01)
    job_id = start(engine, tasks.count, 2, tmp_path / "gate")
    wait_until(lambda: running(engine, job_id))
    job = engine._jobs.get(job_id)
    asked_at = job.asked_at
    clock.now += 3600.0
    wait_until(lambda: job.asked_at > asked_at)
    (tmp_path / "gate").touch()
    assert ended(engine, job_id).result == 2


def test_jobs_run_one_at_a_time_and_a_waiting_one_can_be_cancelled(engine, tmp_path):
    gate = tmp_path / "gate"
    first = start(engine, tasks.count, 2, gate)
    wait_until(lambda: running(engine, first))
    second = start(engine, tasks.count, 4, gate)
    third = start(engine, tasks.run_for_ever, tmp_path / "a", tmp_path / "b")
    assert engine.job(second).state == "waiting"
    engine.cancel(third)
    gate.touch()
    assert [ended(engine, job).result for job in (first, second, third)] == [2, 4, None]
    assert not (tmp_path / "a").exists()


def test_a_job_ends_while_a_download_is_slow(engine, tmp_path):
    line, gate = tmp_path / "line", tmp_path / "gate"
    gate.touch()
    download = start(engine, tasks.download_model, line)
    wait_until(lambda: running(engine, download))
    assert ended(engine, start(engine, tasks.count, 3, gate)).result == 3
    assert engine.job(download).state == "running"
    line.touch()
    assert ended(engine, download).result == str(line)


def test_a_closed_engine_stops_its_jobs_and_says_so(tmp_path):
    engine = InlineEngine()
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    job_id = start(engine, tasks.run_for_ever, started, stopped)
    wait_until(started.exists)
    engine.close()
    engine.close()
    wait_until(stopped.exists)
    assert engine.job(job_id).state == "cancelled"
    with pytest.raises(EngineError, match="shutting down"):
        engine.ask(tasks.echo)(value=5)
