import asyncio
import io
import os
import time
from pathlib import Path

import dask
import distributed
import numpy as np
import psutil
import pytest
from distributed import worker_memory

from bertviz_core.engine import local_cluster
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.worker_specs import (
    CALL_RESOURCE,
    TRAIN_RESOURCE,
    environment,
    reading_spec,
    training_spec,
)
from bertviz_core.free_memory import SHARE_VARIABLE, free_memory
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.request import (
    DataChoice,
    TableSource,
    TrainingRequest,
)
from bertviz_core.visitor_files import run_folder
from tests.core import engine_fake_tasks as tasks
from tests.core.engine_waiting import trainers, wait_until

SAMPLE = DataChoice(TableSource("sample:library_en"), ColumnChoice("message", "topic"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        engine = ClusterEngine(train=f"{tasks.__name__}:train")
        yield engine
        engine.close()


def test_a_training_that_kills_its_process_again_and_again_fails_and_can_go_on(engine):
    reader = engine.ask(tasks.process_id)()
    assert trainers(engine) == []
    run_id = engine.trainings.start(TrainingRequest("m", SAMPLE))
    status = wait_until(lambda: _failed(engine, run_id), "the last death")
    assert "unexpectedly several times" in str(status.error)
    folder = run_folder(run_id)
    assert (folder / "deaths").read_text() == "xxx"
    assert engine.ask(tasks.process_id)() == reader
    (folder / "enough").touch()
    engine.trainings.resume(run_id)
    wait_until(lambda: (folder / "deaths").read_text() == "xxxx", "another go")
    wait_until(lambda: not engine._jobs.unfinished(TRAIN_RESOURCE), "its end")
    assert engine.ask(tasks.process_id)() == reader


def _failed(engine, run_id):
    status = engine.trainings.status(run_id)
    return status if status.state == "failed" else None


def test_calls_never_run_where_trainings_do(monkeypatch):
    assert TRAIN_RESOURCE not in reading_spec()["resources"]
    training = training_spec()
    assert CALL_RESOURCE not in training["resources"]
    assert training["nthreads"] == 3
    assert environment(7)["TF_NUM_INTRAOP_THREADS"] == "7"
    monkeypatch.setenv("BERTVIZ_TRAINING_SLOTS", "4")
    assert training_spec()["resources"][TRAIN_RESOURCE] == 4


def test_where_memory_runs_out_the_pages_are_last_to_go(engine):
    server = int(Path("/proc/self/oom_score_adj").read_text())
    scores, shares = zip(
        engine.ask(tasks.memory_facts)(),
        engine.ask(tasks.memory_facts_of_trainer)(),
        strict=True,
    )
    assert server < scores[0] < scores[1]
    assert 0 < shares[0] < shares[1]
    assert sum(shares) <= distributed.system.MEMORY_LIMIT


def test_the_memory_of_a_container_is_what_workers_share(monkeypatch):
    def open_in_container(path, *arguments, **options):
        limit = path == "/sys/fs/cgroup/memory.max"
        return io.StringIO("1000") if limit else open(path, *arguments, **options)

    monkeypatch.setattr(distributed.system, "open", open_in_container, raising=False)
    monkeypatch.setattr(
        distributed.system, "MEMORY_LIMIT", distributed.system.memory_limit()
    )
    # Bound when Dask is imported: what it takes for the number of cores.
    monkeypatch.setattr(worker_memory.parse_memory_limit, "__defaults__", (64,))
    security = distributed.Security.temporary()

    async def limits():
        return [
            local_cluster._nanny("tls://127.0.0.1:9", security, spec).memory_manager
            for spec in (reading_spec(), training_spec())
        ]

    assert [manager.memory_limit for manager in asyncio.run(limits())] == [400, 600]


def test_what_is_free_to_a_worker_is_the_rest_of_its_share(monkeypatch):
    share = psutil.Process().memory_info().rss + 50_000_000
    monkeypatch.setenv(SHARE_VARIABLE, str(share))
    assert 10_000_000 < free_memory(()) < 60_000_000
    monkeypatch.setenv(SHARE_VARIABLE, "1")
    assert free_memory(()) == 0


def fill_memory(num_bytes):
    held = np.ones(num_bytes, np.uint8)
    time.sleep(60)
    return held.size


async def _try_on_demand():
    """What becomes of tasks in a worker of 300 MB that goes soon after."""
    share = 300e6 / distributed.system.MEMORY_LIMIT
    takes = {"train": 1}
    spec = {"name": "small", "nthreads": 1, "memory_limit": share, "resources": takes}
    security = distributed.Security.temporary()
    listening = {"port": 0, "security": security, **local_cluster.LISTENING}
    async with distributed.Scheduler(**listening) as scheduler:
        wanted = local_cluster._demand(scheduler, takes)
        keeping = asyncio.create_task(
            local_cluster._keep(scheduler, security, spec, wanted)
        )
        client = distributed.Client(
            scheduler.address, security=security, asynchronous=True
        )
        async with client:
            assert not scheduler.workers
            with pytest.raises(distributed.KilledWorker):
                await client.submit(fill_memory, 10**9, resources=takes)
            pid = await client.submit(os.getpid, resources=takes)
            while scheduler.workers:
                await asyncio.sleep(0.05)
            again = await client.submit(os.getppid, resources=takes)
        keeping.cancel()
        await asyncio.wait([keeping])
    return pid, again


def test_a_worker_comes_on_demand_ends_at_its_share_and_goes_when_idle(monkeypatch):
    monkeypatch.setattr(local_cluster, "IDLE_SECONDS", 0.3)
    monkeypatch.setattr(local_cluster, "PRELOAD", tasks.__name__)
    with dask.config.set(local_cluster.DASK_CONFIG):
        pid, parent = asyncio.run(asyncio.wait_for(_try_on_demand(), 60))
    assert pid != os.getpid() == parent
    assert not psutil.pid_exists(pid)
