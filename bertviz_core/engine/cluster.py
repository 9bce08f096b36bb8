"""The engine on Dask: worker processes here, or a cluster elsewhere."""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
import uuid
from concurrent.futures import Future as Promise
from typing import TYPE_CHECKING, Any

from bertviz_core.engine.engine import TRAIN, Engine
from bertviz_core.engine.jobs import Job, in_background, is_closed_error
from bertviz_core.engine.local_cluster import LocalCluster
from bertviz_core.engine.questions import Outcome, Question, unexpected
from bertviz_core.errors import EngineError

if TYPE_CHECKING:
    from bertviz_core.engine.connection import Connection

# Longer than `connection.START_SECONDS`.
CONNECT_SECONDS = 90.0

LOGGER = logging.getLogger(__name__)


class ClusterEngine(Engine):
    """Runs tasks in the workers of a Dask cluster.

    Making one returns at once and starts or reaches the cluster in the background; the
    first call waits for it. A worker that dies is restarted by its nanny, and what it
    was doing is tried again, see `connection`. A cluster that dies is replaced at the
    next call.

    Args:
        scheduler: address of a running cluster, such as "tls://10.0.0.5:8786", see
            `worker` for the options of its workers; `None` starts one on this machine.
            Whoever can connect to a scheduler can run code there, so both ask for
            certificates, see `connection`.
        train: see `Engine`; workers must be able to import it.
        begun: processes on this machine that have been started already, to be used and
            closed; `None` starts them, where there is no scheduler.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        train: str = TRAIN,
        begun: LocalCluster | None = None,
    ) -> None:
        super().__init__(train)
        self._scheduler = scheduler
        self._topic = f"bertviz-jobs-{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._connecting = self._connect(begun=begun)
        atexit.register(self.close)

    def close(self) -> None:
        atexit.unregister(self.close)
        with self._lock:
            was_closed = self._closed.is_set()
            self._closed.set()
        super().close()
        if not was_closed:
            _close(self._connecting)

    def _run(self, question: Question[Any], job: Job | None = None) -> Outcome:
        try:
            wire = self._connection()
            if job is None:
                return wire.call(question)
            return wire.run_job(question, job, self._topic)
        except EngineError as error:
            return Outcome(error=is_closed_error() if self._closed.is_set() else error)
        except Exception as error:
            LOGGER.exception("Dask could not run the task %s.", question.name)
            return Outcome(error=unexpected(question.name, error))

    def _connection(self) -> Connection:
        with self._lock:
            if self._closed.is_set():
                raise is_closed_error()
            if _is_dead(self._connecting):
                self._connecting = self._connect(self._connecting)
            connecting = self._connecting
        return connecting.result(CONNECT_SECONDS)

    def _connect(
        self, dead: Promise[Connection] | None = None, begun: LocalCluster | None = None
    ) -> Promise[Connection]:
        promise: Promise[Connection] = Promise()

        def connect() -> None:
            try:
                if dead is not None:
                    _close(dead)
                connection = _reach(self._scheduler, begun)
                connection.client.subscribe_topic(self._topic, self._on_report)
            except EngineError as error:
                promise.set_exception(error)
            except Exception as error:
                LOGGER.exception("The engine could not start.")
                promise.set_exception(unexpected("connect", error))
            else:
                promise.set_result(connection)
                self.open()

        in_background("engine-connect", connect)
        return promise

    def _on_report(self, event: tuple[float, dict[str, Any]]) -> None:
        _, report = event
        # A job that was forgotten meanwhile has nobody who wants to know.
        with contextlib.suppress(EngineError):
            job = self._jobs.get(report["job_id"])
            job.report(report["fraction"], report["so_far"])


def _reach(scheduler: str | None, begun: LocalCluster | None) -> Connection:
    if scheduler is None:
        cluster = begun or LocalCluster()
        listening = cluster.listening()
    # Dask takes a third of a second to import: not in the page's thread, and not while
    # the first page and the processes that have just begun need the cores.
    from bertviz_core.engine.connection import Connection

    if scheduler is None:
        return Connection.to_local_cluster(cluster, listening)
    return Connection.to_scheduler(scheduler)


def _is_dead(connecting: Promise[Connection]) -> bool:
    if not connecting.done():
        return False
    return connecting.exception() is not None or not connecting.result().is_alive()


def _close(connecting: Promise[Connection]) -> None:
    """Closes what a promise has brought, or will bring."""
    with contextlib.suppress(EngineError, TimeoutError):
        connecting.result(CONNECT_SECONDS).close()
