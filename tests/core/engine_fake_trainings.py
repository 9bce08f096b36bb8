"""A training that kills its process, in place of the one on models."""

import os
import signal

from bertviz_core.tasks import TRAIN_RESOURCE, task
from bertviz_core.visitor_files import run_folder


@task(TRAIN_RESOURCE)
def train(run_id):
    """Dies as long as the run's folder lacks a file."""
    folder = run_folder(run_id)
    with (folder / "deaths").open("a") as deaths:
        deaths.write("x")
    if not (folder / "enough").exists():
        os.kill(os.getpid(), signal.SIGKILL)
