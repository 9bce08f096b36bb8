"""Jobs: tasks that take long, report how far they are and can be stopped.

What is here is the caller's side: a table of jobs by id. It lives as long as the
server, so that a page that is loaded again finds its job by the id alone. A job that
no page asks for any more is stopped, because it may be in the way of others'.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from bertviz_core.errors import BertVizError, EngineError
from bertviz_core.tasks import JOB_RESOURCE, TRAIN_RESOURCE


class JobProgress(Protocol):
    """Where a job reports its progress, and learns that it must stop."""

    def __call__(self, fraction: float, message: str, so_far: Any = None) -> None:
        """Takes a report; `JobCancelled` where nobody wants the result any more.

        Args:
            fraction: done, 0 to 1.
            message: what is going on, in English.
            so_far: what there is to look at already: numbers, text, lists and
                dictionaries.
        """


# Enough for a class of thirty that opens the same page at once.
MAX_UNFINISHED_JOBS = 60
# Of one owner and one kind, beside the one that runs.
MAX_WAITING = 2
# Those that have ended are remembered so long; beyond so many with a result the oldest
# are forgotten, and beyond ten times as many without one, which take no room.
KEEP_FINISHED_SECONDS = 3600.0
MAX_FINISHED_JOBS = 100
# Browsers let a hidden tab ask once a minute.
LEASE_SECONDS = 300.0


def is_closed_error() -> EngineError:
    """The error for a question that comes after `close`."""
    return EngineError(
        "The server is shutting down, so nothing can be computed. Restart the server "
        "and reload the page."
    )


def in_background(name: str, target: Any, *arguments: Any) -> None:
    """Runs `target` in a thread that does not keep a server from ending."""
    threading.Thread(target=target, args=arguments, name=name, daemon=True).start()


class JobCancelled(BaseException):
    """Raised inside a job that must stop.

    Not an `Exception`, like `asyncio.CancelledError`: code that turns every
    exception into a sentence must not turn this one into a failure.
    """


@dataclass(frozen=True)
class JobStatus:
    """Where a job stands."""

    job_id: str  # what `start` returned
    state: str  # "waiting", "running", "done", "failed" or "cancelled"
    fraction: float = 0.0  # how much is done, 0 to 1
    so_far: Any = None  # what the task showed of its work last; `None` for most tasks
    result: Any = None  # what the task returned, when it is done
    error: BertVizError | None = None  # why it failed, or was cancelled by no visitor
    num_before: int = 0  # jobs of its kind that one which waits has before it

    @property
    def is_finished(self) -> bool:
        return self.state in ("done", "failed", "cancelled")


class Job:
    """One job as its caller sees it. Safe to use from several threads.

    It begins when the job `before` has ended.
    """

    def __init__(
        self,
        job_id: str,
        owner: str = "",
        kind: str = JOB_RESOURCE,
        before: Job | None = None,
    ) -> None:
        self.job_id = job_id
        self.owner, self.kind = owner, kind
        self._before = before
        self._ended = threading.Event()
        self.finished_at: float | None = None
        self.asked_at = time.monotonic()
        self._lock = threading.Lock()
        self._status = JobStatus(job_id, "waiting")
        self._on_cancel: list[Callable[[], Any]] = []

    @property
    def status(self) -> JobStatus:
        with self._lock:
            return self._status

    def report(self, fraction: float, so_far: Any = None) -> None:
        """Takes a progress report; one that comes after the end is dropped."""
        self._change(state="running", fraction=fraction, so_far=so_far)

    def finish(self, result: Any) -> None:
        self._change(state="done", fraction=1.0, result=result)

    def fail(self, error: BertVizError) -> None:
        self._change(state="failed", error=error)

    def cancel(self, why: BertVizError | None = None) -> None:
        """Stops the job, unless it has ended; without a `why` a visitor wanted it."""
        for callback in self._change(state="cancelled", error=why):
            callback()

    def await_turn(self) -> bool:
        """Waits for the owner's job before; whether this one is still wanted then."""
        while self._before is not None and not self._before._ended.wait(1.0):
            if self.status.is_finished:
                break
        self._before = None
        return not self.status.is_finished

    def renew(self) -> None:
        """Begins the lease anew: somebody asked."""
        self.asked_at = time.monotonic()

    def when_cancelled(self, callback: Callable[[], Any]) -> None:
        """Has `callback` called once at `cancel`; at once if that was before."""
        with self._lock:
            if not self._status.is_finished:
                self._on_cancel.append(callback)
            is_late = self._status.state == "cancelled"
        if is_late:
            callback()

    def _change(self, **fields: Any) -> list[Callable[[], Any]]:
        """Takes a new status; at the end returns what waits for a cancellation."""
        with self._lock:
            if self._status.is_finished:
                return []
            self._status = dataclasses.replace(self._status, **fields)
            if not self._status.is_finished:
                return []
            self.finished_at = time.monotonic()
            self._ended.set()
            # Dropped: they may keep a result alive in a worker.
            callbacks, self._on_cancel = self._on_cancel, []
            return callbacks


class JobBoard:
    """The jobs of a server, by id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._is_closed = False

    def add(
        self, owner: str = "", kind: str = JOB_RESOURCE, job_id: str | None = None
    ) -> Job:
        """Makes a job that waits, or, by its id, one that goes on.

        An owner's jobs of a kind, see `tasks`, run one after the other, so that those
        of all owners are served in turn. Nobody in particular has no limit.

        Raises:
            EngineError: too many have not ended yet, or the engine is closed.
        """
        with self._lock:
            if self._is_closed:
                raise is_closed_error()
            self._forget_old()
            others = [j for j in self._jobs.values() if not j.status.is_finished]
            others = [other for other in others if other.kind == kind]
            if len(others) >= MAX_UNFINISHED_JOBS:
                raise EngineError(
                    "Too many tasks are already waiting. Received: {number}. Try "
                    "again when some of them have finished.",
                    number=len(others),
                )
            own = [other for other in others if owner and other.owner == owner]
            if len(own) > MAX_WAITING:
                raise EngineError(
                    "You have too many unfinished tasks. Received: {number}. Wait for "
                    "one to finish, or stop one.",
                    number=len(own),
                )
            before = own[-1] if own else None
            job = Job(job_id or uuid.uuid4().hex, owner, kind, before)
            self._jobs.pop(job.job_id, None)  # it moves to the end of the queue
            self._jobs[job.job_id] = job
            return job

    def find(self, job_id: str) -> Job | None:
        with self._lock:
            self._forget_old()
            return self._jobs.get(job_id)

    def unfinished(self, kind: str) -> list[Job]:
        """Jobs of a kind that wait or run, in the order in which they came."""
        jobs = [job for job in self._all() if job.kind == kind]
        return [job for job in jobs if not job.status.is_finished]

    def place_of(self, job_id: str) -> int:
        """The place of a job among those of its kind that wait, from 1; else 0."""
        job = self.find(job_id)
        others = [] if job is None else self.unfinished(job.kind)
        waiting = [one.job_id for one in others if one.status.state == "waiting"]
        return waiting.index(job_id) + 1 if job_id in waiting else 0

    def num_before(self, job: Job) -> int:
        """How many jobs of its kind came before it and have not ended."""
        unfinished = self.unfinished(job.kind)
        return unfinished.index(job) if job in unfinished else 0

    def get(self, job_id: str) -> Job:
        """The job of this id; an `EngineError` where it ended long ago."""
        job = self.find(job_id)
        if job is None:
            raise EngineError(
                "This task no longer exists: it ended long ago, or the server was "
                "restarted. Received: {job_id}. Start it again.",
                job_id=job_id[:60],
            )
        return job

    def close(self) -> None:
        """Stops every job that has not ended, and takes no other."""
        with self._lock:
            self._is_closed = True
        for job in self._all():
            job.cancel()

    def cancel_abandoned(self) -> None:
        """Stops the jobs that nobody has asked for in the time of a lease."""
        now = time.monotonic()
        for job in self._all():
            # A training has a lease on the disk, and ends with the best that it has.
            is_kept = job.kind == TRAIN_RESOURCE
            if now - job.asked_at > LEASE_SECONDS and not is_kept:
                job.cancel(
                    EngineError(
                        "This task was stopped because no page had been waiting for "
                        "it for {minutes} minutes. Start it again.",
                        minutes=round(LEASE_SECONDS / 60),
                    )
                )

    def renew_all(self) -> None:
        for job in self._all():
            job.renew()

    def _all(self) -> list[Job]:
        with self._lock:
            return list(self._jobs.values())

    def _forget_old(self) -> None:
        now = time.monotonic()
        for has_result, most in ((True, 1), (False, 10)):
            ended = sorted(
                (job.finished_at, job.job_id)
                for job in self._jobs.values()
                if job.finished_at is not None
                and (job.status.state == "done") == has_result
            )
            excess = len(ended) - most * MAX_FINISHED_JOBS
            for index, (finished_at, job_id) in enumerate(ended):
                if index < excess or now - finished_at > KEEP_FINISHED_SECONDS:
                    del self._jobs[job_id]
