import threading

import pytest

from bertviz_core.engine import jobs as limits
from bertviz_core.engine.jobs import Job, JobBoard
from bertviz_core.errors import EngineError, TextError
from bertviz_core.tasks import TRAIN_RESOURCE


class Clock:
    def __init__(self):
        self.seconds = 7.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def job(clock):
    return Job("j", clock)


@pytest.fixture
def board(clock, monkeypatch):
    monkeypatch.setattr(limits, "LEASE_SECONDS", 100.0)
    return JobBoard(clock)


def test_a_job_waits_then_runs_then_is_done(job):
    states = [job.status.state]
    job.report(0.5, "half")
    states.append((job.status.state, job.status.fraction, job.status.message))
    assert not job.status.is_finished
    job.finish("value")
    states.append((job.status.state, job.status.fraction, job.status.result))
    assert job.status.is_finished
    assert states == ["waiting", ("running", 0.5, "half"), ("done", 1.0, "value")]


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda job: job.finish(3), "done"),
        (lambda job: job.fail(TextError("No.")), "failed"),
        (lambda job: job.cancel(), "cancelled"),
    ],
)
def test_what_comes_after_the_end_changes_nothing(job, clock, end, state):
    end(job)
    before = job.status
    clock.seconds += 2
    job.report(0.1, "late")
    job.finish("late")
    job.fail(TextError("Late."))
    job.cancel()
    assert job.status == before
    assert job.status.state == state
    assert job.finished_at == 7.0


def test_cancelling_tells_those_who_asked_once(job):
    told = []
    job.when_cancelled(lambda: told.append("early"))
    job.cancel()
    job.cancel()
    job.when_cancelled(lambda: told.append("late"))
    assert told == ["early", "late"]


def test_the_end_of_a_job_is_no_cancellation(job):
    told = []
    job.when_cancelled(lambda: told.append("early"))
    job.finish(3)
    job.cancel()
    job.when_cancelled(lambda: told.append("late"))
    assert told == []


def test_a_job_is_found_by_its_id(board):
    first, second = board.add(), board.add()
    assert board.get(first.job_id) is first
    assert board.get(second.job_id) is second


def test_an_unknown_job_is_a_sentence(board):
    with pytest.raises(EngineError, match="no longer exists") as caught:
        board.get("x" * 99)
    assert caught.value.details == {"job_id": "x" * 60}


def test_ended_jobs_are_forgotten_after_their_time(board, clock, monkeypatch):
    monkeypatch.setattr(limits, "KEEP_FINISHED_SECONDS", 11.0)
    ended, running = board.add(), board.add()
    ended.finish(3)
    clock.seconds += 11.0
    board.get(ended.job_id)
    clock.seconds += 0.5
    with pytest.raises(EngineError):
        board.get(ended.job_id)
    board.get(running.job_id)


def test_beyond_a_number_the_oldest_ended_jobs_are_forgotten(board, clock, monkeypatch):
    monkeypatch.setattr(limits, "MAX_FINISHED_JOBS", 2)
    jobs = [board.add() for _ in range(4)]
    for job in reversed(jobs[1:]):
        job.finish(3)
        clock.seconds += 1
    for job in jobs[:3]:
        board.get(job.job_id)
    with pytest.raises(EngineError):
        board.get(jobs[3].job_id)


def test_jobs_without_a_result_push_none_with_a_result_out(board, clock, monkeypatch):
    monkeypatch.setattr(limits, "MAX_FINISHED_JOBS", 2)
    done = board.add()
    done.finish(3)
    for _ in range(15):
        clock.seconds += 1
        board.add().cancel()
    assert board.get(done.job_id).status.result == 3
    failed = board.add()
    failed.fail(EngineError("It failed."))
    for _ in range(20):
        clock.seconds += 1
        board.add().cancel()
    with pytest.raises(EngineError, match="no longer exists"):
        board.get(failed.job_id)


def test_too_many_unfinished_jobs_are_refused(board, monkeypatch):
    monkeypatch.setattr(limits, "MAX_UNFINISHED_JOBS", 2)
    first, _ = board.add(), board.add()
    with pytest.raises(EngineError, match="Too many") as caught:
        board.add()
    assert caught.value.details == {"number": 2}
    first.cancel()
    board.add()


def test_all_can_be_cancelled_at_once(board):
    running, done = board.add(), board.add()
    done.finish(3)
    board.close()
    assert (running.status.state, done.status.state) == ("cancelled", "done")
    with pytest.raises(EngineError, match="shutting down"):
        board.add()


def test_an_owner_has_one_job_at_work_and_two_that_wait(board):
    first, second, _ = (board.add("ann") for _ in range(3))
    with pytest.raises(EngineError, match="too many unfinished tasks") as caught:
        board.add("ann")
    assert caught.value.details == {"number": 3}
    board.add("bob")
    board.add("ann", TRAIN_RESOURCE)  # of another kind
    assert first.await_turn()
    turns = []
    waiting = threading.Thread(target=lambda: turns.append(second.await_turn()))
    waiting.start()
    assert not turns
    first.finish(3)
    waiting.join(10)
    assert turns == [True]
    board.add("ann")


def test_a_job_that_is_cancelled_waits_for_no_turn(board):
    board.add("ann")
    second = board.add("ann")
    second.cancel()
    assert not second.await_turn()


def test_those_that_wait_know_their_place(board):
    first, other, second, third = (
        board.add(kind=kind) for kind in ("job", "train", "job", "job")
    )
    first.report(0.1, "")
    jobs = (first, other, second, third)
    assert [board.place_of(job.job_id) for job in jobs] == [0, 1, 1, 2]
    assert board.place_of("none") == 0


def test_a_job_that_nobody_asks_for_is_stopped_and_says_why(board, clock):
    told = []
    job = board.add()
    job.report(0.5, "half")
    job.when_cancelled(lambda: told.append("stop"))
    clock.seconds += 100
    board.cancel_abandoned()
    assert not job.status.is_finished
    clock.seconds += 1
    board.cancel_abandoned()
    job.cancel()  # as the engine does when the work has ended
    assert told == ["stop"]
    assert job.status.state == "cancelled"
    assert "no page had been waiting for it for 2 minutes" in str(job.status.error)


def test_asking_renews_a_lease(board, clock):
    waiting, running = board.add(), board.add()
    running.report(0.5, "half")
    for _ in range(5):
        clock.seconds += 60
        waiting.renew()
        running.renew()
        board.cancel_abandoned()
    assert not waiting.status.is_finished
    assert not running.status.is_finished


def test_a_job_that_has_ended_stays_as_it_is(board, clock):
    job = board.add()
    job.finish("value")
    clock.seconds += 1000
    board.cancel_abandoned()
    assert (job.status.state, job.status.result) == ("done", "value")
    assert board.get(job.job_id) is job


def test_every_lease_begins_anew_after_a_sleep(board, clock):
    jobs = [board.add(), board.add()]
    clock.seconds += 1000
    board.renew_all()
    board.cancel_abandoned()
    assert not any(job.status.is_finished for job in jobs)
