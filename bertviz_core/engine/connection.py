"""The wire between a server and its cluster: opened, used, watched, closed."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import distributed

from bertviz_core.engine import worker
from bertviz_core.engine.dispatch import Outcome
from bertviz_core.engine.jobs import Job
from bertviz_core.engine.local_cluster import LocalCluster
from bertviz_core.engine.questions import Question
from bertviz_core.engine.training_worker import TrainingWorker
from bertviz_core.engine.worker_specs import ON_TENSORFLOW, PRIORITIES
from bertviz_core.environment import models_policy
from bertviz_core.errors import EngineError
from bertviz_core.tasks import CALL_RESOURCE, JOB_RESOURCE, TRAIN_RESOURCE

START_SECONDS = 60.0
CLOSE_SECONDS = 5.0
# To load the largest BERT from a slow disk and run it on the longest text.
CALL_SECONDS = 300.0
# Of work that takes long: it may meet, at each of its two tries, a task that kills.
LONG_TRIES = 3


class Connection:
    """A Dask client and, where it was started here, the cluster behind it.

    Args:
        client: connected.
        cluster: what `client` talks to; `None` where it runs elsewhere.
    """

    def __init__(
        self, client: distributed.Client, cluster: LocalCluster | None
    ) -> None:
        self.client = client
        self.cluster = cluster
        self.training_worker = TrainingWorker(cluster)
        self._second_try = threading.Lock()

    @classmethod
    def to_local_cluster(cls, cluster: LocalCluster, address: str) -> Connection:
        """Reaches processes on this machine whose scheduler listens.

        The worker needs some seconds more; tasks wait for it there.

        Args:
            cluster: belongs to the connection, which closes it.
            address: of its scheduler.

        Raises:
            EngineError: the processes do not answer.
        """
        with contextlib.ExitStack() as on_error:
            on_error.callback(cluster.close)
            try:
                # The worker is on this machine too: results need not pass
                # through the scheduler.
                client = _client(address, direct_to_workers=True)
            except OSError as error:
                raise EngineError(
                    "The processes that run the models started but do not answer. "
                    "Received: {reason}. Try again in a moment.",
                    reason=type(error).__name__,
                ) from error
            on_error.pop_all()
        return cls(client, cluster)

    @classmethod
    def to_scheduler(cls, address: str) -> Connection:
        """Reaches a cluster that runs already.

        Args:
            address: such as "tcp://10.0.0.5:8786".

        Raises:
            EngineError: nothing answers there, or no worker belongs to it.
        """
        try:
            client = _client(address)
        except (OSError, ValueError) as error:
            raise EngineError(
                "The cluster at {address} does not answer. Start its scheduler, or "
                "remove BERTVIZ_SCHEDULER to run the models on this machine.",
                address=address,
            ) from error
        connection = cls(client, None)
        if not connection._workers():
            connection.close()
            raise EngineError(
                "The cluster at {address} has no worker. Start one with `dask worker "
                '{address} --nthreads 5 --resources "call=2 job=1 download=1 upload=1" '
                "--memory-limit 1.0 --preload bertviz_core.engine.worker`.",
                address=address,
            )
        return connection

    def subscribe(self, topic: str, handler: Callable[[Any], None]) -> None:
        """Has `handler` called with `(time, event)` for the events of a topic."""
        self.client.subscribe_topic(topic, handler)

    def call(self, question: Question[Any]) -> Outcome:
        """Runs a task in a worker and waits; once more where the worker died.

        Dask suspects every task that was with a process that died. Tasks are tried
        again one at a time: the one that kills dies alone then, and is refused.

        Raises:
            EngineError: no answer came.
        """
        with _sentences():
            resource = question.resource(CALL_RESOURCE)
            if resource != CALL_RESOURCE:
                self._require_worker(resource)

            def ask() -> Outcome:
                future = self._submit(question, resource, worker.run_call)
                return future.result(timeout=CALL_SECONDS)

            try:
                return ask()
            except distributed.KilledWorker:
                with self._second_try:
                    return ask()

    def run_job(self, question: Question[Any], job: Job, topic: str) -> Outcome:
        """Runs a task in a worker that takes jobs, and waits as long as it takes.

        Where the worker died, the task runs again from its beginning, up to
        `LONG_TRIES` times; nobody can be made to wait for its turn.

        Args:
            question: what is asked.
            job: `cancel` on it ends the wait and the task.
            topic: where the worker reports.

        Raises:
            EngineError: no answer came.
        """
        with _sentences(), contextlib.ExitStack() as held:
            resource = question.resource(JOB_RESOURCE)
            self._require_worker(resource)
            if resource in ON_TENSORFLOW:
                held.enter_context(self.training_worker.held())

            def ask() -> Outcome:
                future = self._submit(
                    question, resource, worker.run_job, job.job_id, topic
                )
                job.when_cancelled(future.cancel)
                return future.result()

            try:
                return _outlast(ask)
            except CancelledError:
                if job.status.state != "cancelled":
                    raise
                # Dask has forgotten the task; its thread runs on until told.
                self.client.run(worker.stop_job, job.job_id, on_error="ignore")
                return Outcome(is_cancelled=True)

    def train(self, question: Question[Any]) -> Outcome:
        """Runs a training in the worker for it, and waits as long as it takes.

        Where the worker died, the run goes on after its last epoch, see
        `LONG_TRIES`.

        Raises:
            EngineError: no answer came.
        """
        with _sentences(), self.training_worker.held():
            self._require_worker(TRAIN_RESOURCE)

            def ask() -> Outcome:
                future = self._submit(question, TRAIN_RESOURCE, worker.run_call)
                return future.result()

            try:
                return _outlast(ask)
            except distributed.KilledWorker as error:
                raise EngineError(
                    "The process that trains died repeatedly, most likely for want of "
                    "memory. Choose smaller batches, shorter texts or fewer layers "
                    "that learn; or free memory and let the training go on."
                ) from error

    def is_alive(self) -> bool:
        """Whether the scheduler is there."""
        has_cluster = self.cluster is None or self.cluster.is_alive()
        return has_cluster and self.client.status == "running"

    def close(self) -> None:
        """Lets go of the cluster; ends it if it was started here."""
        try:
            with contextlib.suppress(OSError):
                self.client.close(CLOSE_SECONDS)
        finally:
            if self.cluster is not None:
                self.cluster.close()

    def _submit(
        self, question: Question[Any], resource: str, function: Any, *arguments: Any
    ) -> distributed.Future:
        # A key of its own: equal questions are answered from the worker's cache,
        # and Dask need not hold on to answers.
        key = f"{question.name}-{uuid.uuid4().hex}"
        return self.client.submit(
            function,
            question,
            models_policy(),
            *arguments,
            key=key,
            pure=False,
            resources={resource: 1},
            priority=PRIORITIES[resource],
        )

    def _workers(self) -> list[dict[str, Any]]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"].values())

    def _require_worker(self, resource: str) -> None:
        """Refuses a task that would wait for ever."""
        if self.cluster is not None:
            return
        if not any(resource in worker["resources"] for worker in self._workers()):
            raise EngineError(
                "No worker of the cluster takes this kind of task. Start one with the "
                'option --resources "{resource}=1".',
                resource=resource,
            )


def _outlast(ask: Callable[[], Outcome]) -> Outcome:
    """Asks for what takes long, again where the worker died."""
    for _ in range(LONG_TRIES - 1):
        with contextlib.suppress(distributed.KilledWorker):
            return ask()
    return ask()


def _client(address: str, **options: Any) -> distributed.Client:
    # Never the default client: other code in the process may have its own.
    return distributed.Client(
        address, timeout=START_SECONDS, set_as_default=False, **options
    )


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Says in a sentence why Dask brought no answer."""
    try:
        yield
    except distributed.KilledWorker as error:
        raise EngineError(
            "The process that runs the models died repeatedly over this, most likely "
            "for want of memory. It is starting again. Try a shorter text or a smaller "
            "model."
        ) from error
    except TimeoutError as error:
        raise EngineError(
            "No answer came within {seconds} seconds. Try a shorter text or a "
            "smaller model, or try again when fewer people use the app.",
            seconds=int(CALL_SECONDS),
        ) from error
    except (CancelledError, OSError) as error:
        raise EngineError(
            "The connection to the processes that run the models was lost. They are "
            "started again with your next click."
        ) from error
