"""The worker that trains: it comes when it is needed, dies alone, and goes again."""

import os

import pytest

from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.worker_specs import (
    CALL_RESOURCE,
    TRAIN_RESOURCE,
    training_spec,
    worker_specs,
)
from bertviz_core.finetune import workplace
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.request import DataChoice, TableSource, TrainingRequest
from tests.core import engine_fake_tasks as tasks
from tests.core import engine_fake_trainings
from tests.core.engine_waiting import wait_until

SAMPLE = DataChoice(TableSource("sample:library_en"), ColumnChoice("message", "topic"))


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    engine = ClusterEngine(
        train=f"{engine_fake_trainings.__name__}:train",
    )
    yield engine
    engine.close()


def trainers(engine):
    """Addresses of workers that train."""
    workers = engine._connection().client.scheduler_info(n_workers=-1)["workers"]
    return [a for a, found in workers.items() if TRAIN_RESOURCE in found["resources"]]


def test_a_training_that_kills_its_process_again_and_again_fails_and_can_go_on(engine):
    reader = engine.ask(tasks.process_id)()
    assert trainers(engine) == []
    run_id = engine.trainings.start(TrainingRequest("m", SAMPLE))
    status = wait_until(lambda: _failed(engine, run_id), "the last death")
    assert "died repeatedly" in str(status.error)
    folder = workplace.run_folder(run_id)
    assert (folder / "deaths").read_text() == "xxx"
    assert engine.ask(tasks.process_id)() == reader
    (folder / "enough").touch()
    engine.trainings.resume(run_id)
    wait_until(lambda: (folder / "deaths").read_text() == "xxxx", "another go")
    wait_until(lambda: not engine.trainings._running, "its end")
    worker = engine._connection().training_worker
    worker.release(idle_seconds=3600.0)
    assert len(trainers(engine)) == 1
    worker.release(idle_seconds=0.0)
    wait_until(lambda: trainers(engine) == [], "the end of the worker")
    assert engine.ask(tasks.process_id)() == reader


def _failed(engine, run_id):
    status = engine.trainings.status(run_id)
    return status if status.state == "failed" else None


def test_calls_never_run_where_trainings_do(monkeypatch):
    (reading,) = worker_specs(3)
    assert TRAIN_RESOURCE not in reading.resources
    training = training_spec(3)
    assert CALL_RESOURCE not in training.resources
    assert training.num_threads == 3
    assert training.environment["TF_NUM_INTRAOP_THREADS"] == "3"
    monkeypatch.setenv("BERTVIZ_TRAINING_SLOTS", "4")
    assert training_spec(3).resources[TRAIN_RESOURCE] == 4


def test_only_the_one_who_reads_the_pipe_understands_its_lines(engine):
    cluster = engine._connection().cluster
    cluster.tell(b"make coffee\n")
    cluster.tell(b"stop training\n")
    assert engine.ask(tasks.echo)(value=os.getpid()) == os.getpid()
    assert trainers(engine) == []
