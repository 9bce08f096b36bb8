"""The connection of a server to its cluster: opened, used, watched, closed."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import distributed
from distributed.comm import parse_address, parse_host_port
from distributed.scheduler import NoValidWorkerError

from bertviz_core.engine import worker
from bertviz_core.engine.jobs import Job
from bertviz_core.engine.local_cluster import Listening, LocalCluster
from bertviz_core.engine.questions import Outcome, Question
from bertviz_core.engine.worker_specs import PRIORITIES
from bertviz_core.environment import models_policy
from bertviz_core.errors import EngineError
from bertviz_core.tasks import CALL_RESOURCE, TRAIN_RESOURCE

START_SECONDS = 60.0
CLOSE_SECONDS = 5.0
# To load the largest BERT from a slow disk and run it on the longest text.
CALL_SECONDS = 300.0
TLS_VARIABLES = ("BERTVIZ_TLS_CA", "BERTVIZ_TLS_CERT", "BERTVIZ_TLS_KEY")
# Of work that takes long: it may meet, at each of its two tries, a task that kills.
LONG_TRIES = 3


class Connection:
    """A Dask client and, where it was started here, the cluster behind it."""

    def __init__(
        self, client: distributed.Client, cluster: LocalCluster | None
    ) -> None:
        self.client = client
        self.cluster = cluster
        self._second_try = threading.Lock()
        self._seen: set[str] = set()

    @classmethod
    def to_local_cluster(
        cls, cluster: LocalCluster, listening: Listening
    ) -> Connection:
        """Reaches, and later closes, processes on this machine whose scheduler listens.

        The worker needs some seconds more; tasks wait for it there.
        """
        address, certificate, key = listening
        with contextlib.ExitStack() as on_error:
            on_error.callback(cluster.close)
            try:
                # The worker is on this machine too: results need not pass
                # through the scheduler.
                client = _client(
                    address, _security(certificate, certificate, key), True
                )
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
        """Reaches a cluster that runs already, at "tls://10.0.0.5:8786" or the like.

        Raises:
            EngineError: nothing answers there, or no worker belongs to it, or it would
                be asked without certificates.
        """
        security = _security_of(address)
        try:
            client = _client(address, security)
        except (OSError, ValueError) as error:
            raise EngineError(
                "The cluster at {address} does not answer. Start its scheduler (if it "
                "uses TLS, with certificates from the same authority), or unset "
                "BERTVIZ_SCHEDULER to run the models on this machine.",
                address=address,
            ) from error
        connection = cls(client, None)
        if not connection._workers():
            connection.close()
            raise EngineError(
                "The cluster at {address} has no worker. Start one with `dask worker "
                '{address} --nthreads 6 --resources "call=2 job=1 predict=1 download=1 '
                'upload=1" --memory-limit 1.0 --preload bertviz_core.engine.worker` '
                "and, for tls://, --tls-ca-file, --tls-cert and --tls-key.",
                address=address,
            )
        return connection

    def call(self, question: Question[Any]) -> Outcome:
        """Runs a task in a worker and waits; once more where the worker died.

        Dask suspects every task that was with a process that died. Tasks are tried
        again one at a time: the one that kills dies alone then, and is refused. One
        that hangs is not tried again; its worker ends, see `worker.run_call`.
        """
        with _sentences():
            resource = question.resource(CALL_RESOURCE)
            if resource != CALL_RESOURCE:
                self._require_worker(resource)

            def ask() -> Outcome:
                future = self._submit(question, resource, worker.run_call, CALL_SECONDS)
                try:
                    return future.result(timeout=CALL_SECONDS)
                except TimeoutError:
                    future.cancel()  # if it still waits, it need not run any more
                    raise

            began = time.monotonic()
            try:
                return ask()
            except distributed.KilledWorker as error:
                if time.monotonic() - began >= CALL_SECONDS:  # this side cancelled it
                    raise TimeoutError from error
                with self._second_try:
                    return ask()

    def run_job(self, question: Question[Any], job: Job, topic: str) -> Outcome:
        """Runs a task in a worker that takes jobs, and waits as long as it takes.

        Where the worker died, the task runs again from its beginning, a training after
        its last epoch, up to `LONG_TRIES` times; nobody can be made to wait for its
        turn. The worker reports to `topic`; `cancel` on the job ends the wait and the
        task.
        """
        with _sentences():
            resource = job.kind
            self._require_worker(resource)

            def ask() -> Outcome:
                future = self._submit(
                    question, resource, worker.run_job, job.job_id, topic
                )
                job.when_cancelled(future.cancel)
                return future.result()

            try:
                return _outlast(ask)
            except distributed.KilledWorker as error:
                if resource != TRAIN_RESOURCE:
                    raise
                raise EngineError(
                    "The training ended unexpectedly several times, probably because "
                    "memory ran out. Choose smaller batches, shorter texts or fewer "
                    "layers that learn; or free memory, then let the training go on."
                ) from error
            except CancelledError:
                if job.status.state != "cancelled":
                    raise
                # Dask has forgotten the task; its thread runs on until told.
                self.client.run(
                    worker.stop_job, job.job_id, CALL_SECONDS, on_error="ignore"
                )
                return Outcome(is_cancelled=True)

    def is_alive(self) -> bool:
        has_cluster = self.cluster is None or self.cluster.is_alive()
        return has_cluster and self.client.status == "running"

    def close(self) -> None:
        """Disconnects from the cluster, and stops it if it was started here."""
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
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        self._seen.update(name for one in workers for name in one["resources"])
        return workers

    def _require_worker(self, resource: str) -> None:
        """Refuses a task that would wait for ever; a worker that died may come back."""
        if self.cluster is not None:
            return
        deadline = time.monotonic() + START_SECONDS
        while not any(resource in one["resources"] for one in self._workers()):
            if resource not in self._seen or time.monotonic() > deadline:
                raise EngineError(
                    "No worker of the cluster accepts this kind of task. Start one "
                    'with the option --resources "{resource}=1".',
                    resource=resource,
                )
            time.sleep(1)


def _outlast(ask: Callable[[], Outcome]) -> Outcome:
    """Asks for what takes long, again where the worker died."""
    for _ in range(LONG_TRIES - 1):
        with contextlib.suppress(distributed.KilledWorker):
            return ask()
    return ask()


def _client(
    address: str, security: distributed.Security | None, is_local: bool = False
) -> distributed.Client:
    return distributed.Client(
        address,
        timeout=START_SECONDS,
        security=security,
        direct_to_workers=is_local,
        # Other code in the process may have a default client of its own.
        set_as_default=False,
    )


def _security_of(address: str) -> distributed.Security | None:
    """The operator's certificates; nothing where only this machine can listen."""
    scheme, location = parse_address(address)
    if scheme == "tcp" and _is_loopback(location):
        return None
    if scheme != "tls":
        raise EngineError(
            "The cluster at {address} is on another machine and does not use TLS, so "
            "anyone who can reach it could run code there. Start its scheduler and "
            "workers with certificates, and set BERTVIZ_SCHEDULER to a tls:// "
            "address.",
            address=address,
        )
    files = {name: os.environ.get(name, "").strip() for name in TLS_VARIABLES}
    try:
        security = _security(*files.values())
        if security.get_connection_args("client")["ssl_context"] is None:
            raise ValueError("no files")
    except (OSError, ValueError) as error:
        raise EngineError(
            "The cluster at {address} needs certificates. Received: {received}. Set "
            "each of these variables to the path of a readable PEM file.",
            address=address,
            received=", ".join(f"{name}={file}" for name, file in files.items()),
        ) from error
    return security


def _is_loopback(location: str) -> bool:
    host, _ = parse_host_port(location, default_port=0)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _security(authority: str, certificate: str, key: str) -> distributed.Security:
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=authority,
        tls_client_cert=certificate,
        tls_client_key=key,
    )


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Turns errors of Dask into sentences."""
    try:
        yield
    except (distributed.KilledWorker, NoValidWorkerError) as error:
        raise EngineError(
            "The process that runs the models crashed repeatedly on this request, "
            "most likely because it ran out of memory. It is restarting. Try a "
            "shorter text or a smaller model."
        ) from error
    except TimeoutError as error:
        raise EngineError(
            "No answer came within {seconds} seconds. Try a shorter text or a "
            "smaller model, or try again when fewer people use the app.",
            seconds=int(CALL_SECONDS),
        ) from error
    except (CancelledError, OSError) as error:
        raise EngineError(
            "The connection to the processes that run the models was lost. Your next "
            "click restarts them."
        ) from error
