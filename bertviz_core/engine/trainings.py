"""Trainings: jobs that outlive the process, each with all that it knows in a folder.

The process that trains reads and writes there, see `finetune.run_files`, so nothing
about a run is lost with any process.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

import filelock

from bertviz_core import visitor_files
from bertviz_core.engine.jobs import Job, JobBoard, in_background
from bertviz_core.engine.questions import Question
from bertviz_core.errors import BertVizError, TrainingError, reason_of
from bertviz_core.tasks import TRAIN_RESOURCE
from bertviz_core.training.finetune import run_files
from bertviz_core.training.finetune.request import (
    RESUMABLE,
    TrainingRequest,
    TrainingStatus,
)
from bertviz_core.training.run_folder import lock
from bertviz_core.visitor_files import (
    RUNS,
    TABLES,
    own_run_folder,
    run_folder,
    visited_run,
)

# How often the disk is looked at.
SWEEP_SECONDS = 60.0
# A run that is interrupted more often waits for somebody to say that it shall go on.
MAX_RESTARTS = 3

LOGGER = logging.getLogger(__name__)


class Trainings:
    """Starts, follows, stops and removes trainings. Safe to use from several threads.

    Args:
        jobs: where a run is a job of the same id while it waits or trains.
        work: answers a question as a job, and returns why that failed.
        task: name of the function that trains the run of an id.
    """

    def __init__(
        self,
        jobs: JobBoard,
        work: Callable[[Question[Any], Job], BertVizError | None],
        task: str,
    ) -> None:
        self._jobs = jobs
        self._work = work
        self._task = task
        self._swept_at = float("-inf")

    def start(self, request: TrainingRequest, owner: str = "") -> str:
        """Takes a training into the queue; it runs on while nobody looks.

        It is stopped with its best so far when nobody has asked for it for the time of
        a lease, and removed when nobody has for another. It keeps its own copies of the
        tables. Its id is 32 hexadecimal digits that nobody can guess.

        Raises:
            DatasetError: a table is gone.
            EngineError: too many trainings wait already.
            StorageError: the owner, or everybody, keeps too much already.
            TrainingError: no room on the disk.
        """
        job = self._jobs.add(owner, TRAIN_RESOURCE)
        try:
            folder = run_files.create_run(request, job.job_id, owner)
            in_background("training", self._train, job, lock(folder / run_files.CARE))
        except BaseException:
            job.cancel()
            raise
        return job.job_id

    def resume(self, run_id: str) -> None:
        """Lets a run go on that was stopped, failed or was interrupted.

        Raises:
            TrainingError: it has not broken off, or its time is up.
            EngineError: too many trainings wait already.
        """
        folder = own_run_folder(run_id)
        _require_one_of(RESUMABLE, run_files.status_of(folder).state)
        care = lock(folder / run_files.CARE)
        try:
            # Another server may have let it go on meanwhile, to its end.
            told = run_files.read_progress(folder).get("state", "running")
            _require_one_of(("stopped", "failed", "running"), told)
            if not run_files.has_time(folder):
                raise TrainingError(
                    "This training has had all the time that this server gives one, so "
                    "it cannot go on. Train on your own computer, or choose fewer "
                    "epochs."
                )
            (owner, *_) = visitor_files.owners_of(folder) or ("",)
            job = self._jobs.add(owner, TRAIN_RESOURCE, run_id)
            run_files.ask_to_go_on(folder)  # while it waits, its place says so
        except BaseException:
            care.release()
            raise
        in_background("training", self._train, job, care)

    def status(self, run_id: str) -> TrainingStatus:
        """Where a training stands, and all that it has told; asks no worker.

        Its owner's asking renews its lease, and lets one go on that a server has left.
        """
        folder = visited_run(run_id)
        place = self._jobs.place_of(folder.name)
        found = run_files.status_of(folder, place, run_id)
        if found.state == "interrupted" and found.num_restarts < MAX_RESTARTS:
            with contextlib.suppress(BertVizError):  # it can be asked to, all the same
                self.resume(run_id)
                return run_files.status_of(folder, self._jobs.place_of(run_id))
        return found

    def stop(self, run_id: str, why: str = run_files.ASKED) -> None:
        """Ends a training soon, with the best so far; returns at once.

        One that waits, or has not made a step, ends without a model; one that has ended
        stays as it is.
        """
        folder = own_run_folder(run_id)
        run_files.ask_to_stop(folder, why)
        job = self._jobs.find(run_id)
        if job is not None and job.status.state == "waiting":
            job.cancel()
            run_files.set_state(folder, "stopped")

    def remove(self, run_id: str) -> None:
        """Removes a training with its model and texts, now; ends it if it runs.

        The process that trains ends when it finds nowhere to write.
        """
        job = self._jobs.find(run_id)
        if job is not None:
            job.cancel()
        with contextlib.suppress(TrainingError):
            visitor_files.remove(own_run_folder(run_id))

    def bundle(self, run_id: str) -> str:
        """Path of the zip file to take away; `add_upload` takes it back."""
        return _file(run_id, run_files.BUNDLE)

    def log(self, run_id: str) -> str:
        """Path of a zip file with the log for TensorBoard, of a run that has ended.

        Raises:
            TrainingError: it has no such log, or there is no room on the disk.
        """
        try:
            run_files.pack_log_of(run_folder(run_id))
        except OSError as error:
            raise TrainingError(
                "The log for TensorBoard cannot be packed on the disk of the server. "
                "Received: {reason}. Make room there, then open this page again.",
                reason=reason_of(error),
            ) from error
        return _file(run_id, run_files.LOG_BUNDLE)

    def look(self) -> None:
        """Stops runs that nobody looks at or whose time is up; tidies the disk."""
        for job in self._jobs.unfinished(TRAIN_RESOURCE):
            try:
                folder = run_folder(job.job_id)
            except TrainingError:  # removed by its owner
                job.cancel()
                continue
            if visitor_files.is_abandoned(folder):
                self.stop(job.job_id, run_files.ABANDONED)
            elif not run_files.has_time(folder):
                self.stop(job.job_id, run_files.TIME_UP)
        if time.monotonic() - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = time.monotonic()
            visitor_files.sweep(TABLES)
            visitor_files.sweep(RUNS, run_files.has_care)

    def _train(self, job: Job, care: filelock.FileLock) -> None:
        try:
            error = self._work(Question(self._task, (job.job_id,)), job)
            if error is not None and job.status.state == "failed":
                self._tell(job.job_id, error)
        finally:
            care.release()

    def _tell(self, run_id: str, error: BertVizError) -> None:
        """Notes why a run failed where its process could not do so itself."""
        try:
            folder = run_folder(run_id)
            if run_files.read_progress(folder).get("state") != "failed":
                run_files.set_state(folder, "failed", error)
        except (TrainingError, OSError):
            LOGGER.info("A training failed whose folder is gone: %s", error)


def _require_one_of(states: tuple[str, ...], state: str) -> None:
    if state not in states:
        raise TrainingError(
            "This training has not broken off, so it cannot go on. Start a new one."
        )


def _file(run_id: str, name: str) -> str:
    folder = visited_run(run_id)
    if not (folder / name).is_file():
        raise TrainingError(
            "This training has left no such file. Received: {name}. Wait for its "
            "end, or stop it.",
            name=name,
        )
    return str(folder / name)
