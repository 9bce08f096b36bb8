"""The worker that trains, as the process that asks sees it: held, or let go."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from bertviz_core.engine.local_cluster import (
    START_TRAINING,
    STOP_TRAINING,
    LocalCluster,
)

# A worker that nobody held for so long is ended, and its memory comes back.
IDLE_SECONDS = 300.0


class TrainingWorker:
    """Has the worker started when it is needed. Safe to use from several threads.

    Args:
        cluster: `None` where it runs elsewhere: its workers are others' business.
    """

    def __init__(self, cluster: LocalCluster | None) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._num_holders = 0
        self._idle_since: float | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the worker while something runs in it; does not wait for it.

        Raises:
            OSError: the cluster is gone.
        """
        with self._lock:
            self._num_holders += 1
            self._idle_since = None
            self._tell(START_TRAINING)
        try:
            yield
        finally:
            with self._lock:
                self._num_holders -= 1
                if not self._num_holders:
                    self._idle_since = time.monotonic()

    def release(self, idle_seconds: float = IDLE_SECONDS) -> None:
        """Ends the worker if nobody has held it for so long."""
        with self._lock:
            if self._idle_since is None or self._num_holders:
                return
            if time.monotonic() - self._idle_since >= idle_seconds:
                self._idle_since = None
                with contextlib.suppress(OSError):
                    self._tell(STOP_TRAINING)

    def _tell(self, line: bytes) -> None:
        if self._cluster is not None:
            self._cluster.tell(line)
