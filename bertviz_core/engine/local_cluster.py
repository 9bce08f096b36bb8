"""A Dask cluster on this machine, in processes that end with this one.

One child process runs the scheduler and the nanny, and the nanny runs the worker.
Dask's own `SubprocessCluster` takes a process for each of the first two (60 MB and
0.4 s more), waits for the scheduler before it starts the rest, leaves its processes
behind when the server is killed, and does not run on Windows.

The child reads from a pipe that only this process writes to: a line asks for the
worker that trains, or lets it go. When this process ends, in whatever way, the pipe
closes and the child stops the workers and itself; when the child is killed, Dask ends
the workers through pipes of the same kind. Windows has such pipes too, but nobody has
tried this there.

Run as a program, this module is that child.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertviz_core.engine.worker_specs import (
    WorkerSpec,
    training_spec,
    worker_specs,
)
from bertviz_core.errors import EngineError

HOST = "127.0.0.1"
PRELOAD = "bertviz_core.engine.worker"
STOP_SECONDS = 10.0
# A worker that is restarted needs some seconds; one that is away for longer will
# not come back.
WORKER_LOST_SECONDS = 30.0
# What a nanny is given to restart a dead worker before another nanny is made.
RESTART_SECONDS = 5.0

# What Dask does for batch work and what costs an idle server processor time.
DASK_CONFIG = {
    # What was with a worker that died is tried again by `connection`.
    "distributed.scheduler.allowed-failures": 0,
    # Reports of jobs, with all that they show: nobody reads them a second time.
    "distributed.admin.low-level-log-length": 20,
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    # The worker's memory is models, not data that Dask could move or spill.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
# Lines of the pipe.
START_TRAINING, STOP_TRAINING = b"start training\n", b"stop training\n"

LOGGER = logging.getLogger(__name__)

# Read while Dask is imported, in the worker too: too early for `DASK_CONFIG`.
LOG_LEVEL = ("DASK_LOGGING__DISTRIBUTED", "warning")


class LocalCluster:
    """Starts the child process. `address` waits until it listens."""

    def __init__(self) -> None:
        self._telling = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_child_environment(),
            # Ctrl-C is meant for the server, which then closes the pipe.
            **_own_process_group(),
        )

    @property
    def pid(self) -> int:
        """Of the child process."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the scheduler's process runs."""
        return self._process.poll() is None

    def address(self) -> str:
        """Where the scheduler listens; waits for it. Ask once.

        Raises:
            EngineError: the process ended instead.
        """
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            self.close()
            raise EngineError(
                "The processes that run the models could not be started. "
                "Received: exit status {status}. The log of the server says why.",
                status=self._process.wait(),
            )
        return line.decode().strip()

    def tell(self, line: bytes) -> None:
        """Asks for the worker that trains, or lets it go; does not wait.

        Args:
            line: `START_TRAINING`, which may come more than once, or
                `STOP_TRAINING`.

        Raises:
            OSError: the child process is gone.
        """
        with self._telling:
            self._process.stdin.write(line)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]

    def close(self) -> None:
        """Ends the child process and its worker, and waits for that."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]


def _child_environment() -> dict[str, str]:
    """This process's, and where to find this package."""
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    name, value = LOG_LEVEL
    return {
        name: value,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
    }


def _own_process_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


async def _serve() -> None:
    """Runs scheduler and workers until standard input ends."""
    import dask
    from distributed import Scheduler
    from distributed import scheduler as scheduler_module

    dask.config.set(DASK_CONFIG)
    input_ended, lines = _watch_input(asyncio.get_running_loop())
    async with Scheduler(
        host=HOST,
        port=0,
        dashboard=False,
        dashboard_address=f"{HOST}:0",
        extensions=_without_spans(scheduler_module.DEFAULT_EXTENSIONS),
    ) as scheduler:
        _announce(scheduler.address)
        async with contextlib.AsyncExitStack() as stack:
            nannies = [
                await stack.enter_async_context(_nanny(scheduler.address, spec))
                for spec in worker_specs(dask.system.CPU_COUNT)
            ]
            trainer = _WorkerOnDemand(
                scheduler.address, training_spec(dask.system.CPU_COUNT)
            )
            obeying = asyncio.create_task(trainer.obey(lines))
            stack.push_async_callback(trainer.stop)
            stack.callback(obeying.cancel)
            await _until(input_ended, nannies)


def _without_spans(extensions: Mapping[str, Any]) -> dict[str, Any]:
    """Dask's extensions but for the one that never forgets: 500 bytes a call."""
    return {name: kind for name, kind in extensions.items() if name != "spans"}


def _watch_input(
    loop: asyncio.AbstractEventLoop,
) -> tuple[asyncio.Event, asyncio.Queue[bytes]]:
    """Tells when the input ends, and which lines came before."""
    ended = asyncio.Event()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    def watch() -> None:
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(ended.set)
        # If something hangs on the way out, the processes must still end.
        timer = threading.Timer(STOP_SECONDS, os._exit, (1,))
        timer.daemon = True
        timer.start()

    threading.Thread(target=watch, name="watch-input", daemon=True).start()
    return ended, lines


class _WorkerOnDemand:
    """A worker that runs only while it is wanted, and comes back whatever happens."""

    def __init__(self, scheduler_address: str, spec: WorkerSpec) -> None:
        self._address = scheduler_address
        self._spec = spec
        self._nanny: Any = None
        self._is_wanted = False
        self._seconds_away = RESTART_SECONDS

    async def obey(self, lines: asyncio.Queue[bytes]) -> None:
        """Does what each line says, and looks after the worker in between."""
        while True:
            line = b""
            with contextlib.suppress(TimeoutError):
                line = await asyncio.wait_for(lines.get(), 1.0)
            if line in (START_TRAINING, STOP_TRAINING):
                self._is_wanted = line == START_TRAINING
            try:
                await self._follow()
            except Exception:
                LOGGER.exception("The worker %s is out of order.", self._spec.name)
                self._nanny = None

    async def stop(self) -> None:
        """Ends the worker, if it is there."""
        nanny, self._nanny = self._nanny, None
        if nanny is not None:
            await nanny.close()

    async def _follow(self) -> None:
        if not self._is_wanted:
            self._seconds_away = RESTART_SECONDS  # the next start need not wait
            return await self.stop()
        if self._nanny is not None and self._nanny.is_alive():
            self._seconds_away = 0.0
            return None
        # A nanny restarts a worker that dies, but not one that dies as it starts.
        self._seconds_away += 1.0
        if self._seconds_away > RESTART_SECONDS:
            self._seconds_away = 0.0
            await self.stop()
            self._nanny = await _nanny(self._address, self._spec)
        return None


def _announce(address: str) -> None:
    """Tells the parent, and leaves standard output to the log from then on."""
    sys.stdout.write(address + "\n")
    sys.stdout.flush()
    os.dup2(2, 1)


def _nanny(scheduler_address: str, spec: WorkerSpec) -> Any:
    import dask
    from distributed import Nanny, worker

    # The nanny reads this when it is made, and sets it before the worker starts.
    with dask.config.set({"distributed.nanny.pre-spawn-environ": spec.environment}):
        return Nanny(
            scheduler_address,
            name=spec.name,
            nthreads=spec.num_threads,
            # Each may use the machine's memory. Dask's own choice is a share by threads
            # and cores: two threads on 16 cores are killed at an eighth of the memory.
            memory_limit=1.0,
            resources=dict(spec.resources),
            preload=[PRELOAD],
            host=HOST,
            dashboard=False,
            dashboard_address=f"{HOST}:0",
            extensions=_without_spans(worker.DEFAULT_EXTENSIONS),
        )


async def _until(input_ended: asyncio.Event, nannies: list[Any]) -> None:
    """Waits for the end of the input, or for a worker that stays away."""
    seconds_away = 0.0
    while seconds_away < WORKER_LOST_SECONDS:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(input_ended.wait(), 1.0)
            return
        is_whole = all(nanny.is_alive() for nanny in nannies)
        seconds_away = 0.0 if is_whole else seconds_away + 1.0


if __name__ == "__main__":
    asyncio.run(_serve())
