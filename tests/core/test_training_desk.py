"""The queue, the leases and the tidying up, with trainings that do as they are told."""

import os
import threading
import time
from types import SimpleNamespace

import pytest

from bertviz_core.engine import lease_keeper, training_desk
from bertviz_core.engine.training_desk import TrainingDesk
from bertviz_core.errors import DatasetError, EngineError, TrainingError
from bertviz_core.finetune import run_files, workplace
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.request import DataChoice, TableSource, TrainingRequest
from bertviz_core.finetune.run_history import RunHistory
from tests.core.engine_waiting import wait_until

CHOICE = ColumnChoice("message", "topic")
REQUEST = TrainingRequest("m", DataChoice(TableSource("sample:library_en"), CHOICE))


class Trainings:
    """Run until their gate opens, then end as the real ones do."""

    def __init__(self):
        self.begun = []
        self.found = []  # the history that each one goes on from
        self.gates = {}
        self.errors = {}

    def __call__(self, run_id):
        progress = run_files.read_progress(workplace.run_folder(run_id)) or {}
        self.found.append(progress.get("history"))
        self.begun.append(run_id)
        try:
            return self._run(run_id)
        except (OSError, TrainingError):  # removed meanwhile
            return EngineError("There is nowhere to write.")

    def _run(self, run_id):
        folder = workplace.run_folder(run_id)
        run_files.write_progress(folder, RunHistory())
        gate = self.gates.setdefault(run_id, threading.Event())
        while not gate.wait(0.01):
            if run_files.reason_to_stop(folder):
                run_files.write_progress(folder, RunHistory(), "stopped")
                return None
        error = self.errors.get(run_id)
        if error is None:
            run_files.write_progress(folder, RunHistory(), "done")
        return error

    def end(self, run_id):
        self.gates.setdefault(run_id, threading.Event()).set()


@pytest.fixture
def trainings(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(lease_keeper, "LOOK_SECONDS", 3600.0)
    return Trainings()


@pytest.fixture
def desk(trainings):
    desk = TrainingDesk(trainings, slots=1)
    yield desk
    for run_id in [*trainings.begun, *desk._waiting]:
        trainings.end(run_id)
    desk.close()


def state(desk, run_id):
    return desk.status(run_id).state


def reach(desk, run_id, wanted):
    wait_until(lambda: state(desk, run_id) == wanted, wanted)


def grow_old(folder, seconds=3700):
    then = time.time() - seconds
    os.utime(folder / "lease", (then, then))


def test_runs_go_one_after_the_other_and_each_sees_its_place(desk, trainings):
    runs = [desk.start(REQUEST) for _ in range(3)]
    wait_until(lambda: trainings.begun == runs[:1])
    assert [desk.status(run).place for run in runs] == [0, 1, 2]
    assert [state(desk, run) for run in runs] == ["running", "waiting", "waiting"]
    trainings.end(runs[0])
    wait_until(lambda: trainings.begun == runs[:2])
    assert [desk.status(run).place for run in runs] == [0, 0, 1]
    trainings.end(runs[1])
    trainings.end(runs[2])
    for run in runs:
        reach(desk, run, "done")
    assert len(set(runs)) == 3


def test_more_slots_run_more_at_a_time(trainings):
    desk = TrainingDesk(trainings, slots=2)
    runs = [desk.start(REQUEST) for _ in range(3)]
    wait_until(lambda: len(trainings.begun) == 2)
    assert [desk.status(run).place for run in runs] == [0, 0, 1]
    for run in runs:
        trainings.end(run)
    reach(desk, runs[2], "done")
    desk.close()


@pytest.mark.parametrize("received", ["0", "-1", "two", "1.5"])
def test_a_number_of_slots_that_is_none_is_refused(trainings, monkeypatch, received):
    monkeypatch.setenv("BERTVIZ_TRAINING_SLOTS", received)
    with pytest.raises(EngineError, match="BERTVIZ_TRAINING_SLOTS"):
        TrainingDesk(trainings)


def test_a_stop_reaches_the_run_that_trains(desk, trainings):
    run = desk.start(REQUEST)
    wait_until(lambda: trainings.begun)
    desk.stop(run)
    reach(desk, run, "stopped")
    desk.stop(run)
    assert state(desk, run) == "stopped"


def test_a_run_that_waits_is_stopped_without_ever_beginning(desk, trainings):
    first, second, third = (desk.start(REQUEST) for _ in range(3))
    desk.stop(second)
    assert state(desk, second) == "stopped"
    assert not desk.status(second).has_model
    trainings.end(first)
    wait_until(lambda: third in trainings.begun)
    assert second not in trainings.begun


def test_a_process_that_died_is_told_and_the_run_can_go_on(desk, trainings):
    run = desk.start(REQUEST)
    trainings.errors[run] = EngineError("It died {count} times.", count=2)
    trainings.end(run)
    reach(desk, run, "failed")
    assert desk.status(run).error.details == {"count": 2}
    trainings.errors.clear()
    desk.resume(run)
    reach(desk, run, "done")
    assert desk.status(run).error is None
    assert trainings.begun == [run, run]


def test_a_stopped_run_goes_on_only_where_it_broke_off(desk, trainings):
    run = desk.start(REQUEST)
    wait_until(lambda: trainings.begun)
    with pytest.raises(TrainingError, match="not broken off"):
        desk.resume(run)
    trainings.end(run)
    reach(desk, run, "done")
    with pytest.raises(TrainingError, match="not broken off"):
        desk.resume(run)


def test_a_run_of_a_server_that_is_gone_can_be_taken_up(trainings, monkeypatch):
    first = TrainingDesk(trainings, slots=1)
    run = first.start(REQUEST)
    wait_until(lambda: trainings.begun)
    first.close()
    trainings.end(run)
    wait_until(lambda: not first._running)
    run_files.write_progress(workplace.run_folder(run), RunHistory())
    (workplace.run_folder(run) / run_files.OWNER).unlink()
    second = TrainingDesk(trainings, slots=1)
    assert state(second, run) == "interrupted"
    second.resume(run)
    reach(second, run, "done")
    assert RunHistory(**trainings.found[-1]).is_asked
    second.close()


def test_nobody_looks_for_longer_than_the_lease_and_the_run_is_stopped(desk, trainings):
    running, waiting, watched = (desk.start(REQUEST) for _ in range(3))
    wait_until(lambda: trainings.begun)
    for run in (running, waiting):
        grow_old(workplace.run_folder(run))
    desk.look()
    reach(desk, running, "stopped")
    reason = run_files.reason_to_stop(workplace.run_folder(running))
    assert reason == run_files.ABANDONED
    assert state(desk, waiting) == "stopped"
    wait_until(lambda: watched in trainings.begun)
    assert state(desk, watched) == "running"


def test_a_run_that_is_looked_after_is_never_swept_and_one_that_ended_is(
    desk, trainings
):
    run = desk.start(REQUEST)
    wait_until(lambda: trainings.begun)
    grow_old(workplace.run_folder(run))
    workplace.sweep(run_files.has_owner)
    assert state(desk, run) == "running"
    trainings.end(run)
    reach(desk, run, "done")
    folder = workplace.run_folder(run)
    grow_old(folder)
    os.utime(folder / run_files.OWNER, (1.0, 1.0))
    workplace.sweep(run_files.has_owner)
    with pytest.raises(TrainingError, match="no longer here"):
        desk.status(run)
    assert not desk.renew(run)


def test_a_run_of_a_late_keeper_is_not_taken_for_interrupted(desk, trainings):
    run = desk.start(REQUEST)
    os.utime(workplace.run_folder(run) / run_files.OWNER, (1.0, 1.0))
    assert state(desk, run) == "running"


def test_asking_and_renewing_keep_a_run(desk, trainings):
    run = desk.start(REQUEST)
    folder = workplace.run_folder(run)
    for ask in (desk.status, desk.renew):
        grow_old(folder)
        assert ask(run)
        assert not workplace.is_abandoned(folder)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_removed_run_leaves_nothing(desk, trainings, is_running):
    first = desk.start(REQUEST)
    run = first if is_running else desk.start(REQUEST)
    wait_until(lambda: trainings.begun)
    folder = workplace.run_folder(run)
    desk.remove(run)
    with pytest.raises(TrainingError, match="no longer here"):
        desk.status(run)
    wait_until(lambda: not folder.exists())
    desk.remove(run)


def test_a_visitors_tables_go_with_the_desk(trainings):
    desk = TrainingDesk(trainings, slots=1)
    kept, forgotten = workplace.keep_table(b"1"), workplace.keep_table(b"2")
    desk.keep(kept)
    desk.keep(forgotten)
    desk.forget(forgotten)
    assert workplace.table_path(kept)
    desk.close()
    assert list(workplace.tables_folder().iterdir()) == []


def test_a_table_that_is_gone_makes_no_run(desk):
    data = DataChoice(TableSource("file:" + "0" * 32), CHOICE)
    with pytest.raises(DatasetError, match="no longer here"):
        desk.start(TrainingRequest("m", data))
    assert list(workplace.runs_folder().iterdir()) == []


def test_too_many_runs_that_wait_are_refused(desk, monkeypatch):
    monkeypatch.setattr(training_desk, "MAX_WAITING", 2)
    for _ in range(3):
        desk.start(REQUEST)
    with pytest.raises(EngineError, match="Too many trainings"):
        desk.start(REQUEST)
    assert len(list(workplace.runs_folder().iterdir())) == 3


def test_after_a_sleep_of_the_machine_every_lease_begins_anew(trainings, monkeypatch):
    hour = 3600.0
    clock = SimpleNamespace(now=time.time(), monotonic=time.monotonic)
    clock.time = lambda: clock.now
    monkeypatch.setattr(lease_keeper, "time", clock)
    monkeypatch.setattr(lease_keeper, "LOOK_SECONDS", 0.01)
    renewed = []
    monkeypatch.setattr(workplace, "renew_all", lambda: renewed.append(clock.now))
    desk = TrainingDesk(trainings, slots=1)
    looked = []
    monkeypatch.setattr(desk, "look", lambda: looked.append(clock.now))
    run = desk.start(REQUEST)
    wait_until(lambda: len(looked) > 2)
    assert not renewed
    clock.now += hour
    wait_until(lambda: renewed)
    count = len(looked)
    wait_until(lambda: len(looked) > count + 2)
    trainings.end(run)
    desk.close()
    assert renewed == [clock.now]


def test_a_round_that_fails_is_not_the_last(trainings, monkeypatch):
    monkeypatch.setattr(lease_keeper, "LOOK_SECONDS", 0.01)
    desk = TrainingDesk(trainings, slots=1)
    rounds = []

    def look():
        rounds.append(None)
        raise ValueError("The file is damaged.")

    monkeypatch.setattr(desk, "look", look)
    run = desk.start(REQUEST)
    wait_until(lambda: len(rounds) > 2)
    trainings.end(run)
    desk.close()


def test_all_leases_are_renewed_together(trainings):
    folders = [workplace.table_path(workplace.keep_table(b"1")).parent]
    folders.append(workplace.new_run_folder())
    for folder in folders:
        for path in (folder, *folder.iterdir()):
            os.utime(path, (0, 0))
        assert workplace.is_abandoned(folder)
    workplace.renew_all()
    assert not any(map(workplace.is_abandoned, folders))


def test_an_idle_desk_says_so(trainings):
    idle = []
    desk = TrainingDesk(trainings, lambda: idle.append(True), slots=1)
    desk.look()
    assert idle == [True]
    run = desk.start(REQUEST)
    count = len(idle)
    desk.look()
    assert len(idle) == count
    trainings.end(run)
    desk.close()


def test_a_closed_desk_takes_nothing(trainings):
    desk = TrainingDesk(trainings, slots=1)
    desk.close()
    with pytest.raises(EngineError, match="closed"):
        desk.start(REQUEST)
    assert list(workplace.runs_folder().iterdir()) == []
