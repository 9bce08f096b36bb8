"""Jobs, and the cache of answers, without any process."""

import threading
import time
import types

import pytest

from bertviz_core.engine import jobs as limits
from bertviz_core.engine.cache import BoundedCache
from bertviz_core.engine.jobs import Job, JobBoard, JobCancelled
from bertviz_core.errors import EngineError, TextError
from bertviz_core.tasks import TRAIN_RESOURCE


@pytest.fixture
def clock(monkeypatch):
    shown = types.SimpleNamespace(seconds=7.0)
    clock = types.SimpleNamespace(monotonic=lambda: shown.seconds)
    monkeypatch.setattr(limits, "time", clock)
    return shown


@pytest.fixture
def job(clock):
    return Job("j")


@pytest.fixture
def board(clock, monkeypatch):
    monkeypatch.setattr(limits, "LEASE_SECONDS", 100.0)
    return JobBoard()


def test_a_job_waits_then_runs_then_is_done(job):
    states = [job.status.state]
    job.report(0.5, "so far")
    states.append((job.status.state, job.status.fraction, job.status.so_far))
    assert not job.status.is_finished
    job.finish("value")
    states.append((job.status.state, job.status.fraction, job.status.result))
    assert job.status.is_finished
    assert states == ["waiting", ("running", 0.5, "so far"), ("done", 1.0, "value")]


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
    job.report(0.1)
    job.finish("late")
    job.fail(TextError("Late."))
    job.cancel()
    assert job.status == before
    assert job.status.state == state
    assert job.finished_at == 7.0


@pytest.mark.parametrize("ends_first", [False, True])
def test_cancelling_tells_those_who_asked_once_and_the_end_of_a_job_nobody(
    job, ends_first
):
    told = []
    job.when_cancelled(lambda: told.append("early"))
    if ends_first:
        job.finish(3)
    job.cancel()
    job.cancel()
    job.when_cancelled(lambda: told.append("late"))
    assert told == ([] if ends_first else ["early", "late"])


def is_known(board, job):
    return board.find(job.job_id) is job


def test_ended_jobs_are_forgotten_after_their_time(board, clock, monkeypatch):
    monkeypatch.setattr(limits, "KEEP_FINISHED_SECONDS", 11.0)
    ended, running = board.add(), board.add()
    ended.finish(3)
    clock.seconds += 11.0
    assert is_known(board, ended)
    clock.seconds += 0.5
    assert not is_known(board, ended)
    assert is_known(board, running)
    with pytest.raises(EngineError, match="no longer exists") as caught:
        board.get("x" * 99)
    assert caught.value.details == {"job_id": "x" * 60}


def test_beyond_a_number_the_oldest_go_and_none_without_a_result_pushes_one_out(
    board, clock, monkeypatch
):
    monkeypatch.setattr(limits, "MAX_FINISHED_JOBS", 2)
    jobs = [board.add() for _ in range(4)]
    for job in reversed(jobs[1:]):
        job.finish(3)
        clock.seconds += 1
    assert [is_known(board, job) for job in jobs] == [True, True, True, False]
    failed = board.add()
    failed.fail(EngineError("It failed."))
    for _ in range(20):
        clock.seconds += 1
        board.add().cancel()
    assert board.get(jobs[1].job_id).status.result == 3
    assert not is_known(board, failed)


def test_too_many_unfinished_jobs_are_refused_and_all_can_be_cancelled(
    board, monkeypatch
):
    monkeypatch.setattr(limits, "MAX_UNFINISHED_JOBS", 2)
    first, second = board.add(), board.add()
    with pytest.raises(EngineError, match="Too many") as caught:
        board.add()
    assert caught.value.details == {"number": 2}
    first.finish(3)
    board.add()
    board.close()
    assert (first.status.state, second.status.state) == ("done", "cancelled")
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
    cancelled = board.add("ann")
    cancelled.cancel()
    assert not cancelled.await_turn()


def test_those_that_wait_know_their_place(board):
    first, other, second, third = (
        board.add(kind=kind) for kind in ("job", "train", "job", "job")
    )
    first.report(0.1)
    jobs = (first, other, second, third)
    assert [board.place_of(job.job_id) for job in jobs] == [0, 1, 1, 2]
    assert board.place_of("none") == 0
    assert [board.num_before(job) for job in jobs] == [0, 0, 1, 2]
    first.finish(3)
    assert [board.num_before(job) for job in jobs] == [0, 0, 0, 1]


def test_a_job_that_nobody_asks_for_is_stopped_and_says_why(board, clock):
    told = []
    job = board.add()
    job.report(0.5)
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


def test_asking_renews_a_lease_and_after_a_sleep_all_begin_anew(board, clock):
    waiting, running = board.add(), board.add()
    running.report(0.5)
    for _ in range(5):
        clock.seconds += 60
        waiting.renew()
        running.renew()
        board.cancel_abandoned()
    clock.seconds += 1000
    board.renew_all()
    board.cancel_abandoned()
    assert not waiting.status.is_finished
    assert not running.status.is_finished


def made(value, log):
    def make():
        log.append(value)
        return value

    return make


@pytest.mark.parametrize(
    ("cache", "asked", "were_made", "kept"),
    [
        (BoundedCache(2), "a b a c a", "a b c", "c a"),  # what was used last stays
        (BoundedCache(10, len), "aaa bbbb ccc", "aaa bbbb ccc", "aaa bbbb ccc"),
        (BoundedCache(10, len), "aaa bbbb ccc d", "aaa bbbb ccc d", "bbbb ccc d"),
        # Each key weighs as much as its value.
        (BoundedCache(10, len, len), "aa bbb c", "aa bbb c", "bbb c"),
        # The newest stays however heavy, and alone.
        (BoundedCache(3, len), "aa long long", "aa long", "long"),
        (BoundedCache(3, len), "aa long b", "aa long b", "b"),
        (BoundedCache(0, len), "aa aa", "aa aa", ""),
    ],
)
def test_what_is_kept_weighs_no_more_than_the_limit(cache, asked, were_made, kept):
    log = []
    for value in asked.split():
        assert cache.get(value, made(value, log)) == value
    assert log == were_made.split()
    assert cache.values() == kept.split()


def test_room_is_made_before_a_value_of_weight_one_is_made():
    cache = BoundedCache(2)
    for value in (1, 2):
        cache.get(value, made(value, []))
    seen = []
    cache.get(3, lambda: seen.append(cache.values()) or 3)
    assert seen == [[2]]


def test_a_failure_is_not_kept():
    cache = BoundedCache(3)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 7) == 7


def test_forgotten_values_are_made_again():
    log = []
    cache = BoundedCache(5)
    for value in (1, 2, 3):
        cache.get(value, made(value, log))
    cache.forget(lambda key: key != 2)
    for value in (1, 2, 3):
        cache.get(value, made(value, log))
    assert log == [1, 2, 3, 1, 3]


class Crowd:
    """One thread that makes a value, and four that come while it does."""

    def __init__(self, cache, outcome):
        self.made, self.answers, self.errors, self.stopped = 0, [], [], []
        self._cache, self._outcome = cache, outcome
        self._inside, self._gate = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(5)]

    def run(self):
        self._threads[0].start()
        self._inside.wait()
        for thread in self._threads[1:]:
            thread.start()
        pending = self._cache._pending["key"]
        while len(pending._condition._waiters) < 4:
            time.sleep(0.001)
        self._gate.set()
        for thread in self._threads:
            thread.join()

    def _ask(self):
        try:
            self.answers.append(self._cache.get("key", self._make))
        except ZeroDivisionError as error:
            self.errors.append(error)
        except JobCancelled as stopped:
            self.stopped.append(stopped)

    def _make(self):
        self.made += 1
        self._inside.set()
        self._gate.wait()
        return self._outcome()


@pytest.mark.parametrize("limit", [5, 0])
def test_a_crowd_that_misses_together_computes_once(limit):
    crowd = Crowd(BoundedCache(limit, weight_of=lambda value: 4), object)
    crowd.run()
    assert crowd.made == 1
    assert len(crowd.answers) == 5
    assert len(set(map(id, crowd.answers))) == 1


def test_a_crowd_gets_the_error_of_the_one_attempt():
    crowd = Crowd(BoundedCache(3), lambda: 1 // 0)
    crowd.run()
    assert crowd.made == 1
    assert len(crowd.errors) == 5


def test_who_waited_for_a_job_that_was_stopped_tries_again():
    attempts = []

    def outcome():
        attempts.append(None)
        if len(attempts) == 1:
            raise JobCancelled
        return object()

    crowd = Crowd(BoundedCache(3), outcome)
    crowd.run()
    assert len(crowd.stopped) == 1
    assert len(crowd.answers) == 4
    assert len(set(map(id, crowd.answers))) == 1
    assert crowd.made == 2
