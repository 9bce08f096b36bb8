"""The interface that both engines have."""

from __future__ import annotations

import abc
import logging
import threading
from typing import Any

from bertviz_core.engine.dispatch import (
    TASKS_MODULE,
    TRAINING_MODULE,
    Outcome,
    Request,
)
from bertviz_core.engine.jobs import Job, JobBoard, JobStatus
from bertviz_core.engine.lease_keeper import LeaseKeeper
from bertviz_core.engine.training_desk import TrainingDesk
from bertviz_core.errors import BertVizError

LOGGER = logging.getLogger(__name__)


class Engine(abc.ABC):
    """Runs tasks by name. Safe to use from several threads.

    A call waits for its answer. A job runs on while its caller asks now and then
    how far it is, and is cancelled when nobody has for `jobs.LEASE_SECONDS`; jobs run
    one at a time, so that they leave room for calls, but that downloads hold up none.

    Args:
        module: defines the tasks, as the dicts `TASKS` and `JOB_TASKS`.
        training_module: defines the task "train" of a run's id.
    """

    def __init__(
        self, module: str = TASKS_MODULE, training_module: str = TRAINING_MODULE
    ) -> None:
        self._module = module
        self._training_module = training_module
        self._jobs = JobBoard()
        self._keeper = LeaseKeeper(
            "job-keeper", self._jobs.cancel_abandoned, self._jobs.renew_all
        )
        self.trainings = TrainingDesk(self._train, self._rest)

    def call(self, task: str, **arguments: Any) -> Any:
        """Runs a task and waits for its value.

        Args:
            task: its name.
            arguments: plain values.

        Raises:
            BertVizError: the one that the task raised.
            EngineError: the task could not be run, or broke.
        """
        return self._run(Request(task, arguments, self._module)).unwrap()

    def start(self, task: str, **arguments: Any) -> str:
        """Starts a job.

        Returns:
            Its id, all that a page has to keep.

        Raises:
            EngineError: too many jobs wait already.
        """
        job = self._jobs.add()
        self._keeper.open()
        request = Request(task, arguments, self._module)
        in_background(f"job-{task}", self._work, request, job)
        return job.job_id

    def job(self, job_id: str) -> JobStatus:
        """Where a job stands; asking renews its lease.

        Raises:
            EngineError: no such job, or it ended long ago.
        """
        job = self._jobs.get(job_id)
        job.renew()
        return job.status

    def cancel(self, job_id: str) -> None:
        """Stops a job; one that has ended stays as it is.

        Raises:
            EngineError: no such job, or it ended long ago.
        """
        self._jobs.get(job_id).cancel()

    def warm_up(self, model: str) -> None:
        """Has a model loaded and run once, without waiting.

        Whoever asks for a model that cannot be loaded gets the error then.
        """
        request = Request("warm_up", {"model": model}, self._module)
        in_background("engine-warm-up", self._warm_up, request)

    def close(self) -> None:
        """Stops jobs and processes. Calls after this raise `EngineError`."""
        self._keeper.close()
        self._jobs.cancel_all()
        self.trainings.close()

    @abc.abstractmethod
    def _run(self, request: Request, job: Job | None = None) -> Outcome:
        """Runs a task, as a job if one is given; tells errors in the outcome."""

    @abc.abstractmethod
    def _run_training(self, request: Request) -> Outcome:
        """Runs a training where trainings run, to its end."""

    def _rest(self) -> None:
        """Called now and then while nothing trains."""
        return

    def _train(self, run_id: str) -> BertVizError | None:
        request = Request("train", {"run_id": run_id}, self._training_module)
        return self._run_training(request).error

    def _work(self, request: Request, job: Job) -> None:
        outcome = self._run(request, job)
        if outcome.error is not None:
            job.fail(outcome.error)
        elif outcome.is_cancelled:
            job.cancel()
        else:
            job.finish(outcome.value)

    def _warm_up(self, request: Request) -> None:
        error = self._run(request).error
        if error is not None:
            LOGGER.warning("The warm-up did not succeed: %s", error)


def in_background(name: str, target: Any, *arguments: Any) -> None:
    """Runs `target` in a thread that does not keep a server from ending."""
    # Daemon threads: a server that ends does not wait for an answer.
    threading.Thread(target=target, args=arguments, name=name, daemon=True).start()
