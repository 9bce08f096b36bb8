"""Tasks that tests of the engine run in workers, in place of those on models."""

import gc
import os
import signal
import time
from pathlib import Path

# So that a worker has this module as its preload.
from bertviz_core.engine.without_spans import dask_setup  # noqa: F401
from bertviz_core.environment import models_policy
from bertviz_core.errors import TextError
from bertviz_core.free_memory import SHARE_VARIABLE
from bertviz_core.tasks import (
    DOWNLOAD_RESOURCE,
    GRADIENT_RESOURCE,
    PREDICT_RESOURCE,
    TRAIN_RESOURCE,
    UPLOAD_RESOURCE,
    task,
)
from bertviz_core.visitor_files import run_folder


@task()
def echo(value):
    return value


@task()
def process_id():
    return os.getpid()


class Refused(Exception):
    """One that cannot be made anew of what it holds."""

    def __init__(self, limit, reason):
        super().__init__()


@task()
def refuse(limit):
    try:
        raise Refused(limit, "too many")
    except Refused:
        raise TextError("No more than {limit} of them.", limit=limit) from None


@task()
def break_on(secret):
    raise KeyError(secret)


@task()
def die_once_there(path, deaths):
    """Kills its process when the file is there, and notes it before."""
    wait_for(path)
    with Path(deaths).open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)


@task()
def wait_for(path, started=None):
    """Ends as soon as the file is there; the file `started` says that it waits."""
    if started is not None:
        Path(started).touch()
    while not Path(path).exists():
        time.sleep(0.01)
    return path


@task()
def hang(started):
    Path(started).touch()
    while True:
        time.sleep(1)


@task(is_kept=False)
def hang_as_job(started, progress):
    """One that never tells how far it is, and so never hears that it shall stop."""
    return hang(started)


@task()
def memory_facts():
    """How soon the kernel ends this process, and what it may take."""
    score = int(Path("/proc/self/oom_score_adj").read_text())
    return score, int(os.environ[SHARE_VARIABLE])


@task(GRADIENT_RESOURCE)
def memory_facts_of_trainer():
    return memory_facts()


@task(UPLOAD_RESOURCE)
def add_upload(path, started):
    """A zip file that takes its time."""
    return wait_for(path, started)


@task(is_kept=False)
def count(steps, gate, progress):
    """Goes half the way, and on when the gate is there."""
    progress(0.5, "half", {"seen": [1, 2.5], "word": "猫"})
    wait_for(gate)
    for step in range(steps):
        progress(0.5 + step / steps / 2, "more")
    return steps


@task(DOWNLOAD_RESOURCE, is_kept=False)
def download_model(name, progress):
    """A slow line: the name is the file that is waited for."""
    progress(0.5, "half")
    return wait_for(name)


@task(PREDICT_RESOURCE, is_kept=False)
def predict_table(name, progress):
    """A long table: the name is the file that is waited for."""
    progress(0.5, "half")
    return wait_for(name)


@task(is_kept=False)
def policy(progress=None):
    return models_policy()


@task(is_kept=False)
def run_for_ever(started, stopped, progress):
    try:
        Path(started).touch()
        while True:
            progress(0.25, "on and on")
            time.sleep(0.01)
    finally:
        Path(stopped).touch()


@task(is_kept=False)
def fail(progress):
    progress(0.75, "nearly")
    raise TextError("Only {number} of them.", number=3)


@task(is_kept=False)
def swallow(started, stopped, progress):
    """A job that turns every exception into a result."""
    try:
        return run_for_ever(started, stopped, progress)
    except Exception:  # noqa: BLE001
        return "swallowed"


@task(TRAIN_RESOURCE)
def train(run_id):
    """Dies as long as the run's folder lacks a file."""
    folder = run_folder(run_id)
    with (folder / "deaths").open("a") as deaths:
        deaths.write("x")
    if not (folder / "enough").exists():
        os.kill(os.getpid(), signal.SIGKILL)


def num_remembered():
    """How many objects of Dask know a call of `echo`, in the process that runs this."""
    kinds = ("TaskState", "TaskGroup", "Span")
    found = [one for one in gc.get_objects() if type(one).__name__ in kinds]
    return len(found)
