"""A Dask cluster on this machine, in processes that end with this one.

One child process runs the scheduler and the nannies, and a nanny runs each worker. In
the process of the pages, as Dask's `LocalCluster`, they would hold up the pages, and
each worker would begin by running `app.py`, Python's main module there. Dask's
`SubprocessCluster` takes a process for the scheduler and each nanny (60 MB and 0.4 s
more), leaves its processes behind when the server is killed, and does not run on
Windows.

Whoever talks to them shows a certificate that is made at each start: another user of
this machine has none. The child tells this process through a pipe, and the workers
through pipes of the same kind.

The child reads from a pipe that only this process holds. When this process ends, in
whatever way, the pipe closes and the child stops the workers and itself; when the child
is killed, Dask ends the workers through pipes of the same kind. Windows has such pipes
too, but nobody has tried this there.

Run as a program, this module is that child.
"""

import asyncio
import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bertviz_core.engine.worker_specs import environment, reading_spec, training_spec
from bertviz_core.errors import EngineError

HOST = "127.0.0.1"
# How the scheduler and the nannies listen.
LISTENING: dict[str, Any] = {
    "host": HOST,
    "protocol": "tls",
    "dashboard": False,
    "dashboard_address": f"{HOST}:0",
}
PRELOAD = "bertviz_core.engine.worker"
STOP_SECONDS = 10.0
# What a nanny is given to restart a dead worker before another nanny is made.
RESTART_SECONDS = 5.0
# How often the child looks after its workers.
LOOK_SECONDS = 0.25
# A worker that nothing has asked for so long is ended, and its memory comes back.
IDLE_SECONDS = 300.0

# What Dask does for batch work and what costs an idle server processor time.
DASK_CONFIG = {
    # What was with a worker that died is tried again by `connection`.
    "distributed.scheduler.allowed-failures": 0,
    # A worker that is restarted needs some seconds; one that is away for longer will
    # not come back, and who waits for it is told.
    "distributed.scheduler.no-workers-timeout": "60s",
    # Reports of jobs, with all that they show: nobody reads them a second time.
    "distributed.admin.low-level-log-length": 20,
    "distributed.scheduler.preload": ["bertviz_core.engine.without_spans"],
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
LOGGER = logging.getLogger(__name__)


class Listening(NamedTuple):
    """Where the scheduler is and what opens it, both texts in PEM."""

    address: str
    certificate: str
    key: str


class LocalCluster:
    """Starts the child process. `listening` waits until it listens."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_child_environment(),
            # Ctrl-C is meant for the server, which then closes the pipe.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def listening(self) -> Listening:
        """Waits for the scheduler; ask once. If its process ended, an `EngineError`."""
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            self.close()
            raise EngineError(
                "The processes that run the models could not be started. Received: "
                "exit status {status}. See the server log for the reason.",
                status=self._process.wait(),
            )
        return Listening(*json.loads(line))

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
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {
        # Read while Dask is imported, in the worker too: too early for `DASK_CONFIG`.
        "DASK_LOGGING__DISTRIBUTED": "warning",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


async def _serve() -> None:
    """Runs scheduler and workers until standard input ends."""
    import dask
    from distributed import Scheduler, Security

    dask.config.set(DASK_CONFIG)
    variables = environment(dask.system.CPU_COUNT)
    dask.config.set({"distributed.nanny.pre-spawn-environ": variables})
    input_ended = _watch_input(asyncio.get_running_loop())
    security = Security.temporary()
    async with Scheduler(port=0, security=security, **LISTENING) as scheduler:
        _announce(scheduler.address, security)
        reading, training = reading_spec(), training_spec()
        is_wanted = _demand(scheduler, training["resources"])
        keeping = [
            asyncio.create_task(_keep(scheduler, security, reading, lambda: True)),
            asyncio.create_task(_keep(scheduler, security, training, is_wanted)),
        ]
        await input_ended.wait()
        for task in keeping:
            task.cancel()
        await asyncio.wait(keeping)


def _watch_input(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """Tells when the input ends."""
    ended = asyncio.Event()

    def watch() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)
        # If something hangs on the way out, the processes must still end.
        timer = threading.Timer(STOP_SECONDS, os._exit, (1,))
        timer.daemon = True
        timer.start()

    threading.Thread(target=watch, name="watch-input", daemon=True).start()
    return ended


def _announce(address: str, security: Any) -> None:
    """Tells the parent, and leaves standard output to the log from then on."""
    told = Listening(address, security.tls_client_cert, security.tls_client_key)
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    os.dup2(2, 1)


def _demand(scheduler: Any, resources: Mapping[str, float]) -> Callable[[], bool]:
    """Tells whether tasks that take one of the resources wait, run, or did lately."""
    asked_at = float("-inf")

    def is_wanted() -> bool:
        nonlocal asked_at
        if any(
            not resources.keys().isdisjoint(task.resource_restrictions or ())
            for task in scheduler.tasks.values()
            if task.state not in ("memory", "erred")
        ):
            asked_at = time.monotonic()
        return time.monotonic() - asked_at < IDLE_SECONDS

    return is_wanted


async def _keep(
    scheduler: Any,
    security: Any,
    spec: Mapping[str, Any],
    is_wanted: Callable[[], bool],
) -> None:
    """Has a worker there while it is wanted; it comes back whatever happens."""
    while True:
        if is_wanted():
            try:
                async with _nanny(scheduler.address, security, spec) as nanny:
                    await _lost_or_unwanted(nanny, is_wanted)
            except Exception:
                LOGGER.exception("The worker %s is out of order.", spec["name"])
                await asyncio.sleep(RESTART_SECONDS)
        await asyncio.sleep(LOOK_SECONDS)


async def _lost_or_unwanted(nanny: Any, is_wanted: Callable[[], bool]) -> None:
    # A nanny restarts a worker that dies, but not one that dies as it starts.
    seen_at = time.monotonic()
    while is_wanted() and time.monotonic() - seen_at < RESTART_SECONDS:
        if nanny.is_alive():
            seen_at = time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)


def _nanny(scheduler_address: str, security: Any, spec: Mapping[str, Any]) -> Any:
    from distributed import Nanny

    how = {"preload": [PRELOAD], "security": security, **LISTENING, **spec}
    return Nanny(scheduler_address, **how)


if __name__ == "__main__":
    asyncio.run(_serve())
