"""Runs that wait, train, stop, go on and go, with a worker that does as it is told."""

import os
import threading
import time

import pytest

from bertviz_core import visitor_files
from bertviz_core.engine import run_store
from bertviz_core.engine import trainings as module
from bertviz_core.engine.jobs import JobBoard
from bertviz_core.engine.training_tasks import train
from bertviz_core.engine.trainings import Trainings
from bertviz_core.errors import DatasetError, EngineError, TrainingError
from bertviz_core.training.finetune import run_files
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.request import (
    DataChoice,
    TableSource,
    TrainingRequest,
)
from bertviz_core.training.finetune.run_history import RunHistory
from bertviz_core.training.finetune.visitor_tables import keep_table, table_path
from bertviz_core.training.run_folder import lock
from bertviz_core.visitor_files import RUNS, place_of, run_folder
from tests.core.engine_waiting import wait_until

CHOICE = ColumnChoice("message", "topic")
REQUEST = TrainingRequest("m", DataChoice(TableSource("sample:library_en"), CHOICE))


class Worker:
    """Trains a run until its gate opens, then the one that waits for longest."""

    def __init__(self):
        self.queue, self.begun = [], []
        self.found = []  # the history that each one goes on from
        self.gates = {}
        self.errors = {}

    def __call__(self, question, job):
        if not job.await_turn():
            return None
        self.queue.append(job.job_id)
        while self.queue[0] != job.job_id:  # a lock may be taken out of turn
            time.sleep(0.005)
        try:
            if job.status.is_finished:
                return None
            job.report(0.0)
            error = self._try(job.job_id)
        finally:
            self.queue.pop(0)
        if error is None:
            job.finish(None)
        else:
            job.fail(error)
        return error

    def _try(self, run_id):
        try:
            folder = run_folder(run_id)
            self.found.append(run_files.read_progress(folder).get("history"))
            self.begun.append(run_id)
            return self._run(run_id, folder)
        except (OSError, TrainingError):  # removed meanwhile
            return EngineError("There is nowhere to write.")

    def _run(self, run_id, folder):
        history = RunHistory()
        run_files.write_progress(folder, history)
        gate = self.gates.setdefault(run_id, threading.Event())
        while not gate.wait(0.01):
            if run_files.reason_to_stop(folder):
                run_files.write_progress(folder, history, "stopped")
                return None
        error = self.errors.get(run_id)
        if error is None:
            run_files.write_progress(folder, history, "done")
        return error

    def end(self, run_id):
        self.gates.setdefault(run_id, threading.Event()).set()


@pytest.fixture
def worker(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    worker = Worker()
    yield worker
    for run_id in [path.name for path in place_of(RUNS).iterdir()]:
        worker.end(run_id)


@pytest.fixture
def board():
    board = JobBoard()
    yield board
    board.close()


@pytest.fixture
def trainings(worker, board):
    return Trainings(board, worker, "train")


def state(trainings, run_id):
    return trainings.status(run_id).state


def reach(trainings, run_id, wanted):
    wait_until(lambda: state(trainings, run_id) == wanted, wanted)


def grow_old(folder, seconds=3700):
    then = time.time() - seconds
    os.utime(folder / "lease", (then, then))


def test_runs_go_one_after_the_other_and_each_sees_its_place(trainings, worker):
    runs = [trainings.start(REQUEST, owner) for owner in ("ann", "ann", "ann")]
    wait_until(lambda: worker.begun == runs[:1])
    assert [trainings.status(run).place for run in runs] == [0, 1, 2]
    assert [state(trainings, run) for run in runs] == ["running", "waiting", "waiting"]
    worker.end(runs[0])
    wait_until(lambda: worker.begun == runs[:2])
    assert [trainings.status(run).place for run in runs] == [0, 0, 1]
    worker.end(runs[1])
    worker.end(runs[2])
    for run in runs:
        reach(trainings, run, "done")
    assert len(set(runs)) == 3


def test_a_visitor_who_asks_for_many_leaves_a_turn_to_others(trainings, worker):
    own = [trainings.start(REQUEST, "ann") for _ in range(3)]
    wait_until(lambda: worker.begun)
    other = trainings.start(REQUEST, "bob")
    with pytest.raises(EngineError, match="too many unfinished tasks"):
        trainings.start(REQUEST, "ann")
    assert len(list(place_of(RUNS).glob("?" * 32))) == 4
    wait_until(lambda: other in worker.queue)
    worker.end(own[0])
    wait_until(lambda: other in worker.begun)
    assert worker.begun == [own[0], other]


def test_a_run_that_waits_is_stopped_without_ever_beginning(trainings, worker):
    first, second, third = (trainings.start(REQUEST) for _ in range(3))
    wait_until(lambda: worker.begun == [first])
    trainings.stop(second)
    assert state(trainings, second) == "stopped"
    assert not trainings.status(second).has_model
    worker.end(first)
    wait_until(lambda: third in worker.begun)
    assert second not in worker.begun


def test_a_process_that_died_is_told_and_the_run_can_go_on(trainings, worker):
    run = trainings.start(REQUEST)
    worker.errors[run] = EngineError("It died {count} times.", count=2)
    worker.end(run)
    reach(trainings, run, "failed")
    assert trainings.status(run).error.details == {"count": 2}
    worker.errors.clear()
    trainings.resume(run)
    reach(trainings, run, "done")
    assert trainings.status(run).error is None
    assert worker.begun == [run, run]


def test_a_run_goes_on_only_where_it_broke_off(trainings, worker):
    run = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    with pytest.raises(TrainingError, match="not broken off"):
        trainings.resume(run)
    worker.end(run)
    reach(trainings, run, "done")
    with pytest.raises(TrainingError, match="not broken off"):
        trainings.resume(run)


def test_a_run_that_was_stopped_goes_on_while_it_has_time(
    trainings, worker, monkeypatch
):
    run = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    trainings.stop(run)
    reach(trainings, run, "stopped")
    trainings.stop(run)
    assert trainings.status(run).can_go_on
    assert not trainings.status(visitor_files.reading_name(run)).can_go_on
    trainings.resume(run)
    wait_until(lambda: worker.begun == [run, run])
    assert state(trainings, run) == "running"
    trainings.stop(run)
    reach(trainings, run, "stopped")
    monkeypatch.setenv("BERTVIZ_MAX_TRAINING_MINUTES", "5")
    history = RunHistory(seconds=300.0)
    run_files.write_progress(run_folder(run), history, "stopped")
    assert not trainings.status(run).can_go_on
    with pytest.raises(TrainingError, match="all the time"):
        trainings.resume(run)
    # There was no room for what it would go on from.
    run_files.write_progress(run_folder(run), RunHistory(), "stopped")
    assert trainings.status(run).can_go_on
    (run_folder(run) / run_files.MODEL).mkdir()
    assert not trainings.status(run).can_go_on


def test_a_run_that_goes_on_is_not_answered_with_how_it_ended_before():
    assert not train.task.is_kept


def left_by_a_server_that_is_gone(trainings, board, worker):
    run = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    board.close()
    worker.end(run)
    wait_until(lambda: not run_files.has_care(run_folder(run)))
    run_files.write_progress(run_folder(run), RunHistory())
    return run


def test_a_run_of_a_server_that_is_gone_goes_on_where_somebody_looks(
    trainings, board, worker
):
    run = left_by_a_server_that_is_gone(trainings, board, worker)
    second = Trainings(JobBoard(), worker, "train")
    reach(second, run, "done")
    assert RunHistory(**worker.found[-1]).is_asked


def test_a_run_that_another_server_has_ended_meanwhile_is_left_alone(
    trainings, board, worker, monkeypatch
):
    run = left_by_a_server_that_is_gone(trainings, board, worker)
    seen = run_files.status_of(run_folder(run))
    run_files.write_progress(run_folder(run), RunHistory(), "done")
    second = Trainings(JobBoard(), worker, "train")
    monkeypatch.setattr(run_files, "status_of", lambda *_: seen)
    with pytest.raises(TrainingError, match="not broken off"):
        second.resume(run)
    assert worker.begun == [run]
    assert not run_files.has_care(run_folder(run))


def test_a_run_that_breaks_off_again_and_again_waits_for_a_word(
    trainings, board, worker
):
    run = left_by_a_server_that_is_gone(trainings, board, worker)
    history = RunHistory(num_restarts=module.MAX_RESTARTS)
    run_files.write_progress(run_folder(run), history)
    second = Trainings(JobBoard(), worker, "train")
    assert [state(second, run) for _ in range(3)] == ["interrupted"] * 3
    second.resume(run)
    reach(second, run, "done")


def test_two_servers_never_train_in_one_folder(trainings, worker):
    run = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    second = Trainings(JobBoard(), worker, "train")
    assert state(second, run) == "running"
    held = lock(run_folder(run) / run_files.TRAINING)
    with pytest.raises(TrainingError, match="under way in another process"):
        lock(run_folder(run) / run_files.TRAINING, 0.0)
    held.release()
    lock(run_folder(run) / run_files.TRAINING, 0.0).release()
    assert worker.begun == [run]


def test_nobody_looks_for_longer_than_the_lease_and_the_run_is_stopped(
    trainings, worker
):
    running, waiting, watched = (trainings.start(REQUEST) for _ in range(3))
    wait_until(lambda: worker.begun)
    for run in (running, waiting):
        grow_old(run_folder(run))
    trainings._swept_at = time.monotonic()  # what has ended by then would be gone
    trainings.look()
    reach(trainings, running, "stopped")
    assert run_files.reason_to_stop(run_folder(running)) == run_files.ABANDONED
    assert state(trainings, waiting) == "stopped"
    wait_until(lambda: watched in worker.begun)
    assert state(trainings, watched) == "running"


def test_a_training_has_a_time_limit(trainings, worker, monkeypatch):
    monkeypatch.setenv("BERTVIZ_MAX_TRAINING_MINUTES", "5")
    run = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    for seconds, reason in ((299.0, None), (301.0, run_files.TIME_UP)):
        run_files.write_progress(run_folder(run), RunHistory(seconds=seconds))
        trainings.look()
        assert run_files.reason_to_stop(run_folder(run)) == reason
    reach(trainings, run, "stopped")


def test_a_run_that_is_looked_after_is_never_swept_and_one_that_ended_is(
    trainings, worker
):
    run = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    folder = run_folder(run)
    grow_old(folder)
    visitor_files.sweep(RUNS, run_files.has_care)
    assert state(trainings, run) == "running"
    worker.end(run)
    wait_until(lambda: not run_files.has_care(folder))
    grow_old(folder)
    visitor_files.sweep(RUNS, run_files.has_care)
    with pytest.raises(TrainingError, match="no longer here"):
        trainings.status(run)


def test_who_reads_a_run_changes_nothing_and_learns_no_id(trainings, worker):
    table = keep_table(b"message,topic\na b,x\n")
    data = DataChoice(TableSource(table), CHOICE)
    before = trainings.start(REQUEST)  # whose model the run begins with
    run = trainings.start(TrainingRequest(f"run:{before}", data))
    worker.end(before)
    wait_until(lambda: run in worker.begun)
    name = visitor_files.reading_name(run)
    grow_old(run_folder(run))
    status = trainings.status(name)
    assert (status.state, status.run_id, status.is_own) == ("running", name, False)
    own = trainings.status(run)
    assert own.is_own
    assert not status.request.is_of(table)
    said = repr(status)
    assert not any(hidden in said for hidden in (run, before, table))
    assert status.request.model == f"run:{visitor_files.reading_name(before)}"
    grow_old(run_folder(run))
    assert run_store.run_request(name) == status.request
    lent = status.request.data.source.table
    assert table_path(lent) == run_folder(run) / "table"
    for change in (trainings.stop, trainings.resume):
        with pytest.raises(TrainingError, match="reading only"):
            change(name)
    trainings.remove(name)
    visitor_files.renew_named(f"run:{name}")
    (run_folder(run) / "model").mkdir()
    assert visitor_files.model_of_run(f"run:{name}") == run_folder(run) / "model"
    assert visitor_files.is_abandoned(run_folder(run))
    assert state(trainings, run) == "running"
    assert not visitor_files.is_abandoned(run_folder(run))


@pytest.mark.parametrize("is_running", [True, False])
def test_a_removed_run_leaves_nothing(trainings, worker, is_running):
    first = trainings.start(REQUEST)
    wait_until(lambda: worker.begun)
    run = first if is_running else trainings.start(REQUEST)
    folder = run_folder(run)
    trainings.remove(run)
    with pytest.raises(TrainingError, match="no longer here"):
        trainings.status(run)
    wait_until(lambda: not folder.exists())
    trainings.remove(run)


def test_a_table_that_is_gone_makes_no_run(trainings, board):
    data = DataChoice(TableSource("file:" + "0" * 32), CHOICE)
    with pytest.raises(DatasetError, match="no longer here"):
        trainings.start(TrainingRequest("m", data))
    assert not list(place_of(RUNS).glob("?" * 32))
    assert not board.unfinished("train")


def test_no_run_begins_without_room_on_the_disk(trainings, monkeypatch):
    monkeypatch.setattr(run_files, "MIN_FREE_BYTES", 2**62)
    with pytest.raises(TrainingError, match="too little room"):
        trainings.start(REQUEST)
    assert not list(place_of(RUNS).glob("?" * 32))


def test_a_closed_engine_takes_no_run(trainings, board):
    board.close()
    with pytest.raises(EngineError, match="shutting down"):
        trainings.start(REQUEST)
    assert not list(place_of(RUNS).glob("?" * 32))
