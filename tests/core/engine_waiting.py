"""Waiting for what other processes and threads do."""

import os
import subprocess
import sys
import time
from pathlib import Path

from bertviz_core.tasks import TRAIN_RESOURCE

ROOT = Path(__file__).parents[2]
# Far above what anything takes; a test that gets there has failed.
DEADLINE_SECONDS = 60.0


def wait_until(is_so, what="it"):
    """Returns the first true answer of `is_so`."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not (answer := is_so()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return answer


def ended(engine, job_id):
    """The status of a job when it has ended."""

    def status():
        now = engine.job(job_id)
        return now if now.is_finished else None

    return wait_until(status, "the end of a job")


def trainers(engine):
    """Addresses of workers that train."""
    workers = engine._connection().client.scheduler_info(n_workers=-1)["workers"]
    return [a for a, found in workers.items() if TRAIN_RESOURCE in found["resources"]]


def run_python(*arguments, **environment):
    """A Python of its own that has ended well, with what it wrote."""
    inherited = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=inherited | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done


def start(engine, task, *given):
    """The id of a job that is asked about plain values and paths."""
    plain = (one if isinstance(one, int) else str(one) for one in given)
    return engine.start(engine.ask(task).about(*plain))


def running(engine, job_id):
    """The status of a job that has told how far it is."""
    status = engine.job(job_id)
    return status if status.state == "running" and status.fraction else None
