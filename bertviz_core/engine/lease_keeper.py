"""Looks now and then whether anybody still wants what is kept or runs.

A tab that is closed tells nobody. So whatever works or lies here for a visitor has a
lease: it begins anew whenever a page asks, and what nobody asked for in all its time
ends. Trainings and jobs have their own times, and one way to look after them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

# How often leases are looked at.
LOOK_SECONDS = 5.0
# Between two looks, by the clock on the wall: more, and the machine was not running.
ASLEEP_SECONDS = LOOK_SECONDS + 60.0

LOGGER = logging.getLogger(__name__)


class LeaseKeeper:
    """Looks after leases in a thread of its own. Safe to use from several threads.

    Args:
        name: of the thread.
        look: ends what nobody asked for in the time of its lease.
        renew_all: begins every lease anew: where the machine slept, nobody could ask
            for anything.
    """

    def __init__(
        self, name: str, look: Callable[[], object], renew_all: Callable[[], object]
    ) -> None:
        self._name = name
        self._look = look
        self._renew_all = renew_all
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Begins to look; once it was closed, nothing happens."""
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(
                    target=self._keep, name=self._name, daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Looks no more."""
        self._closed.set()

    def _keep(self) -> None:
        looked_at = time.time()
        while True:
            try:
                if time.time() - looked_at > ASLEEP_SECONDS:
                    self._renew_all()
                looked_at = time.time()
                self._look()
            except Exception:  # whatever it is, the next round may do better
                LOGGER.exception("The round of %s failed.", self._name)
            if self._closed.wait(LOOK_SECONDS):
                return
