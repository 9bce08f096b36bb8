"""Who trains when: the queue, the leases, and what is tidied up.

What is here is the side of the process that serves pages. A run itself lies in a
folder, see `finetune.run_files`: the process that trains reads and writes there, so
nothing about a run is lost with either process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bertviz_core.engine.dispatch import is_closed_error
from bertviz_core.engine.lease_keeper import LeaseKeeper
from bertviz_core.engine.worker_specs import training_slots
from bertviz_core.errors import BertVizError, EngineError, TrainingError
from bertviz_core.finetune import run_files, workplace
from bertviz_core.finetune.request import TrainingRequest
from bertviz_core.finetune.training_status import TrainingStatus

MAX_WAITING = 20
# How often the disk is looked at.
SWEEP_SECONDS = 60.0

LOGGER = logging.getLogger(__name__)


class TrainingDesk:
    """Takes runs, lets them run one after the other, and knows how far they are.

    Safe to use from several threads.

    Args:
        train: runs the run of this id to its end, somewhere; returns why it failed.
        on_idle: called now and then while no run waits or runs.
        slots: runs at the same time; `None` asks the environment.
    """

    def __init__(
        self,
        train: Callable[[str], BertVizError | None],
        on_idle: Callable[[], None] = lambda: None,
        slots: int | None = None,
    ) -> None:
        self._train = train
        self._on_idle = on_idle
        self._slots = training_slots() if slots is None else slots
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._running: set[str] = set()
        self._unwanted: set[str] = set()
        self._tables: set[str] = set()
        self._closed = threading.Event()
        self._swept_at = float("-inf")
        self._keeper = LeaseKeeper("training-keeper", self._round, workplace.renew_all)

    def open(self) -> None:
        """Begins to look after leases; removes what nobody came back for."""
        self._keeper.open()

    def close(self) -> None:
        """Removes the tables of visitors; runs can be resumed while they last."""
        self._closed.set()
        self._keeper.close()
        with self._lock:
            tables, self._tables = self._tables, set()
            self._waiting.clear()
        for table in tables:
            workplace.forget_table(table)

    def keep(self, table: str) -> None:
        """Remembers a visitor's table, to be removed at `close`."""
        self.open()
        with self._lock:
            self._tables.add(table)

    def forget(self, table: str) -> None:
        """Removes a visitor's table."""
        with self._lock:
            self._tables.discard(table)
        workplace.forget_table(table)

    def start(self, request: TrainingRequest) -> str:
        """Takes a run into the queue and returns its id.

        Raises:
            DatasetError: a table is gone.
            EngineError: too many runs wait already.
        """
        self._require_room()
        run_id = run_files.create_run(request)
        self._queue(run_id)
        return run_id

    def resume(self, run_id: str) -> None:
        """Lets a run that failed or was interrupted go on from its last epoch.

        Raises:
            TrainingError: no such run, or it has not broken off.
            EngineError: too many runs wait already.
        """
        if self.status(run_id).state not in ("failed", "interrupted"):
            raise TrainingError(
                "This training has not broken off, so it cannot go on. Start a new one."
            )
        self._require_room()
        folder = workplace.run_folder(run_id)
        run_files.ask_to_go_on(folder)  # while it waits, its place says so
        self._queue(run_id)

    def status(self, run_id: str) -> TrainingStatus:
        """Where a run stands; asking renews its lease.

        Raises:
            TrainingError: no such run, or nobody asked for it in a long time.
        """
        folder = self._folder(run_id)
        workplace.renew(folder)
        with self._lock:
            is_ours = run_id in self._running or run_id in self._waiting
        if is_ours:  # though the keeper may be late, after a laptop slept
            run_files.take_care(folder)
        return run_files.status_of(folder, self._place(run_id))

    def stop(self, run_id: str) -> None:
        """Ends a run with the best it has; one that has ended stays as it is.

        Raises:
            TrainingError: no such run, or nobody asked for it in a long time.
        """
        folder = workplace.run_folder(run_id)
        run_files.ask_to_stop(folder)
        if self._withdraw(run_id):
            run_files.set_state(folder, "stopped")

    def remove(self, run_id: str) -> None:
        """Removes a run with its model and texts, now; ends it if it trains.

        A process that trains ends when it finds nowhere to write; what it has
        written meanwhile is removed then.
        """
        self._withdraw(run_id)
        with self._lock:
            if run_id in self._running:
                self._unwanted.add(run_id)
        workplace.remove_run(run_id)

    def _queue(self, run_id: str) -> None:
        run_files.take_care(workplace.run_folder(run_id))
        self.open()
        with self._lock:
            self._waiting.append(run_id)
        self._begin_next()

    def _begin_next(self) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            while self._waiting and len(self._running) < self._slots:
                run_id = self._waiting.pop(0)
                self._running.add(run_id)
                threading.Thread(
                    target=self._work, args=(run_id,), name="training", daemon=True
                ).start()

    def _work(self, run_id: str) -> None:
        try:
            error = self._train(run_id)
            if error is not None and not self._closed.is_set():
                self._tell(run_id, error)
        finally:
            with self._lock:
                self._running.discard(run_id)
                is_unwanted = run_id in self._unwanted
                self._unwanted.discard(run_id)
            if is_unwanted:
                workplace.remove_run(run_id)
            self._begin_next()

    def _tell(self, run_id: str, error: BertVizError) -> None:
        """Notes why a run failed where its process could not do so itself."""
        try:
            folder = workplace.run_folder(run_id)
            if run_files.read_progress(folder).get("state") != "failed":
                run_files.set_state(folder, "failed", error)
        except (TrainingError, OSError):
            LOGGER.info("A training failed whose folder is gone: %s", error)

    def renew(self, run_id: str) -> bool:
        """Keeps a run for another lease; false where it is gone."""
        try:
            workplace.renew(self._folder(run_id))
        except TrainingError:
            return False
        return True

    def _folder(self, run_id: str) -> Path:
        with self._lock:
            is_unwanted = run_id in self._unwanted
        return workplace.run_folder("" if is_unwanted else run_id)

    def _place(self, run_id: str) -> int:
        with self._lock:
            if run_id not in self._waiting:
                return 0
            return self._waiting.index(run_id) + 1

    def _withdraw(self, run_id: str) -> bool:
        """Takes a run out of the queue; whether it was there."""
        with self._lock:
            if run_id not in self._waiting:
                return False
            self._waiting.remove(run_id)
            return True

    def _require_room(self) -> None:
        if self._closed.is_set():
            raise is_closed_error()
        with self._lock:
            number = len(self._waiting)
        if number >= MAX_WAITING:
            raise EngineError(
                "Too many trainings are waiting already. Received: {number}. Try again "
                "when some of them have ended.",
                number=number,
            )

    def _round(self) -> None:
        self.look()
        if time.monotonic() - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = time.monotonic()
            workplace.sweep(run_files.has_owner)

    def look(self) -> None:
        """Stops runs that nobody has looked at for longer than the lease."""
        with self._lock:
            runs = [*self._waiting, *self._running]
        for run_id in runs:
            try:
                folder = workplace.run_folder(run_id)
            except TrainingError:  # removed by its owner
                self._withdraw(run_id)
                continue
            run_files.take_care(folder)
            if workplace.is_abandoned(folder):
                run_files.ask_to_stop(folder, run_files.ABANDONED)
                if self._withdraw(run_id):
                    run_files.set_state(folder, "stopped")
        if not runs:
            self._on_idle()
