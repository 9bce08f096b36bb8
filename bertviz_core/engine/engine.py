"""The interface that both engines have."""

from __future__ import annotations

import abc
import logging
import threading
from typing import Any, TypeVar

from bertviz_core.engine.dispatch import Outcome
from bertviz_core.engine.finetune_engine import FinetuneEngine
from bertviz_core.engine.jobs import Job, JobBoard, JobStatus
from bertviz_core.engine.lease_keeper import LeaseKeeper
from bertviz_core.engine.questions import Asker, Question
from bertviz_core.engine.training_desk import TrainingDesk
from bertviz_core.errors import BertVizError
from bertviz_core.explorer import Explorer

R = TypeVar("R")
# By name: what trains is imported where it does.
TRAIN = "bertviz_core.engine.training_tasks:train"
LOGGER = logging.getLogger(__name__)


class Engine(FinetuneEngine, abc.ABC):
    """Answers questions somewhere. Safe to use from several threads and sessions.

    A call waits for its answer. A job runs on while its caller asks now and then
    how far it is, and is cancelled when nobody has for `jobs.LEASE_SECONDS`; jobs run
    one at a time, so that they leave room for calls, but that downloads hold up none.

    Args:
        train: where the function is that trains a run, given its id.

    Attributes:
        ask: asks a function of the core: `engine.ask(Explorer.info)("bert-mini-en")`.
    """

    def __init__(self, train: str = TRAIN) -> None:
        self.ask = Asker(self.call)
        self._train_task = train
        self._jobs = JobBoard()
        self._keeper = LeaseKeeper(
            "job-keeper", self._jobs.cancel_abandoned, self._jobs.renew_all
        )
        self.trainings = TrainingDesk(self._train, self._rest)

    def call(self, question: Question[R]) -> R:
        """Waits for an answer.

        Raises:
            BertVizError: the one that the task raised.
            EngineError: the task could not be run, or broke.
        """
        return self._run(question).unwrap()

    def start(self, question: Question[Any]) -> str:
        """Starts a job.

        Returns:
            Its id, all that a page has to keep.

        Raises:
            EngineError: too many jobs wait already.
        """
        job = self._jobs.add()
        self._keeper.open()
        in_background(f"job-{question.name}", self._work, question, job)
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
        question = self.ask(Explorer.warm_up).about(model)
        in_background("engine-warm-up", self._warm_up, question)

    def close(self) -> None:
        """Stops jobs and processes. Calls after this raise `EngineError`."""
        self._keeper.close()
        self._jobs.cancel_all()
        self.trainings.close()

    @abc.abstractmethod
    def _run(self, question: Question[Any], job: Job | None = None) -> Outcome:
        """Runs a task, as a job if one is given; tells errors in the outcome."""

    @abc.abstractmethod
    def _run_training(self, question: Question[None]) -> Outcome:
        """Runs a training where trainings run, to its end."""

    def _rest(self) -> None:
        """Called now and then while nothing trains."""
        return

    def _train(self, run_id: str) -> BertVizError | None:
        return self._run_training(Question(self._train_task, (run_id,))).error

    def _work(self, question: Question[Any], job: Job) -> None:
        outcome = self._run(question, job)
        if outcome.error is not None:
            job.fail(outcome.error)
        elif outcome.is_cancelled:
            job.cancel()
        else:
            job.finish(outcome.value)

    def _warm_up(self, question: Question[None]) -> None:
        error = self._run(question).error
        if error is not None:
            LOGGER.warning("The warm-up did not succeed: %s", error)


def in_background(name: str, target: Any, *arguments: Any) -> None:
    """Runs `target` in a thread that does not keep a server from ending."""
    # Daemon threads: a server that ends does not wait for an answer.
    threading.Thread(target=target, args=arguments, name=name, daemon=True).start()
