"""The interface that both engines have."""

import abc
import dataclasses
import logging
import threading
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from bertviz_core import visitor_files
from bertviz_core.engine.jobs import Job, JobBoard, JobStatus, in_background
from bertviz_core.engine.questions import Asker, Outcome, Question
from bertviz_core.engine.trainings import Trainings
from bertviz_core.errors import BertVizError
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import JOB_RESOURCE

R = TypeVar("R")
# By name: what trains is imported where it does.
TRAIN = "bertviz_core.engine.training_tasks:train"
# How often leases are looked at.
LOOK_SECONDS = 5.0
# Wall-clock time between two looks: more means that the machine was asleep.
ASLEEP_SECONDS = LOOK_SECONDS + 60.0
LOGGER = logging.getLogger(__name__)


class Engine(abc.ABC):
    """Answers questions somewhere. Safe to use from several threads and sessions.

    A call waits for its answer. A job runs on while its caller asks now and then how
    far it is, and is cancelled when nobody has for `jobs.LEASE_SECONDS`; a worker runs
    one of each kind at a time, so that they leave room for calls. `train` is where the
    function is that trains a run, given its id.

    Attributes:
        ask: asks a function of the core: `engine.ask(Explorer.info)("bert-mini-en")`.
        trainings: jobs that outlive this process.
    """

    def __init__(self, train: str = TRAIN) -> None:
        self.ask = Asker(self.call)
        self._jobs = JobBoard()
        self.trainings = Trainings(self._jobs, self._work, train)
        self._keeping = threading.Lock()
        self._closed = threading.Event()

    def call(self, question: Question[R]) -> R:
        """Waits for an answer, or the `BertVizError` that the task raised."""
        return self._run(question).unwrap()

    def start(self, question: Question[Any], owner: str = "") -> str:
        """Starts a job, of which a page keeps the id; too many are an `EngineError`."""
        job = self._jobs.add(owner, question.resource(JOB_RESOURCE))
        self.open()
        in_background(f"job-{question.name}", self._work, question, job)
        return job.job_id

    def job(self, job_id: str) -> JobStatus:
        """Where a job stands; asking renews its lease.

        Raises:
            EngineError: no such job, or it ended long ago.
        """
        job = self._jobs.get(job_id)
        job.renew()
        status = job.status
        if status.state != "waiting":
            return status
        return dataclasses.replace(status, num_before=self._jobs.num_before(job))

    def renew(self, names: Iterable[str]) -> None:
        """Begins leases anew, by ids of jobs or names of `visitor_files.renew_named`.

        What is gone stays so.
        """
        for name in names:
            job = self._jobs.find(name)
            if job is not None:
                job.renew()
            visitor_files.renew_named(name)

    def cancel(self, job_id: str) -> None:
        """Stops a job that `job` knows; one that has ended stays as it is."""
        self._jobs.get(job_id).cancel()

    def warm_up(self, model: str) -> None:
        """Has a model loaded and run once, without waiting.

        Whoever asks for a model that cannot be loaded gets the error then.
        """
        question = self.ask(Explorer.warm_up).about(model)

        def run() -> None:
            error = self._run(question).error
            if error is not None:
                LOGGER.warning("The warm-up did not succeed: %s", error)

        in_background("engine-warm-up", run)

    def open(self) -> None:
        """Begins to look after what has a lease; nothing happens a second time."""
        if self._keeping.acquire(blocking=False):
            in_background("lease-keeper", self._keep)

    def close(self) -> None:
        """Stops jobs and processes. Calls after this raise `EngineError`.

        Tables, models and trainings stay on the disk until their leases end.
        """
        self._closed.set()
        self._jobs.close()

    @abc.abstractmethod
    def _run(self, question: Question[Any], job: Job | None = None) -> Outcome:
        """Runs a task, as a job if one is given; tells errors in the outcome."""

    def _work(self, question: Question[Any], job: Job) -> BertVizError | None:
        if not job.await_turn():
            return None
        outcome = self._run(question, job)
        if outcome.error is not None:
            job.fail(outcome.error)
        elif outcome.is_cancelled:
            job.cancel()
        else:
            job.finish(outcome.value)
        return outcome.error

    def _keep(self) -> None:
        looked_at = float("-inf")  # nobody could ask while the server was away
        while not self._closed.is_set():
            try:
                if time.time() - looked_at > ASLEEP_SECONDS:
                    visitor_files.renew_all()
                    self._jobs.renew_all()
                looked_at = time.time()
                self._jobs.cancel_abandoned()
                self.trainings.look()
            except Exception:  # whatever it is, the next round may succeed
                LOGGER.exception("Leases could not be looked at.")
            self._closed.wait(LOOK_SECONDS)
