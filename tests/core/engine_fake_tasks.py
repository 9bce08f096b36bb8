"""Tasks that tests of the engine run in workers, in place of those on models."""

import os
import signal
import time
from pathlib import Path

from bertviz_core.errors import TextError


def echo(value):
    return value


def process_id():
    return os.getpid()


def refuse(limit):
    raise TextError("No more than {limit} of them.", limit=limit)


def break_on(secret):
    raise KeyError(secret)


def die_until(marker):
    """Kills its process; the second time it finds the marker and lives."""
    if Path(marker).exists():
        return os.getpid()
    Path(marker).write_text(str(os.getpid()))
    return die()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_once_there(path, deaths):
    """Kills its process when the file is there, and notes it before."""
    wait_for(path)
    with Path(deaths).open("a") as file:
        file.write("x")
    return die()


def wait_for(path, started=None):
    """Ends as soon as the file is there; the file `started` says that it waits."""
    if started is not None:
        Path(started).touch()
    while not Path(path).exists():
        time.sleep(0.01)
    return path


def add_upload(path, started):
    """A zip file that takes its time."""
    return wait_for(path, started)


def warm_up(model):
    Path(model).touch()


def count(progress, steps, gate):
    """Goes half the way, and on when the gate is there."""
    progress(0.5, "half", {"seen": [1, 2.5], "word": "猫"})
    wait_for(gate)
    for step in range(steps):
        progress(0.5 + step / steps / 2, "more")
    return steps


def download_model(progress, name):
    """A slow line: the name is the file that is waited for."""
    progress(0.5, "half")
    return wait_for(name)


def run_for_ever(progress, started, stopped):
    try:
        Path(started).touch()
        while True:
            progress(0.25, "on and on")
            time.sleep(0.01)
    finally:
        Path(stopped).touch()


def fail(progress):
    progress(0.75, "nearly")
    raise TextError("Only {number} of them.", number=3)


def swallow(progress, started, stopped):
    """A job that turns every exception into a result."""
    try:
        return run_for_ever(progress, started, stopped)
    except Exception:  # noqa: BLE001
        return "swallowed"


TASKS = {
    task.__name__: task
    for task in (
        echo, process_id, refuse, break_on, die_until, die, die_once_there, wait_for,
        add_upload, warm_up,
    )
}  # fmt: skip
JOB_TASKS = {
    task.__name__: task for task in (count, download_model, run_for_ever, fail, swallow)
}
