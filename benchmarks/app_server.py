"""The app as a user starts it: `streamlit run app.py` in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.01


class AppServer:
    """A fresh server on a free port of this machine. Use it in a `with` statement.

    Args:
        script: what `streamlit run` gets, from the project's folder.
        port: to listen on; `None` for a free one.
        environment: variables of its own; without them nothing that whoever measures
            may have set, and no downloaded models.
    """

    def __init__(
        self,
        script: str = "app.py",
        port: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port or free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self._folder = tempfile.TemporaryDirectory()
        self._log = Path(self._folder.name) / "log.txt"
        command = [sys.executable, "-m", "streamlit", "run", script]
        options = ["--server.port", str(self.port), "--server.address", LOOPBACK]
        self.started = time.perf_counter()
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                command + options,
                cwd=ROOT,
                env=clean_environment(Path(self._folder.name) / "cache")
                | dict(environment or {}),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> AppServer:
        return self

    def __exit__(self, *error: object) -> None:
        family = self.processes()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        _, alive = psutil.wait_procs(family, timeout=STOP_SECONDS)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        self._folder.cleanup()

    def wait_until_it_listens(self) -> float:
        """Waits for the port to open; returns seconds since the process was started."""
        while self.seconds() < START_SECONDS and self._process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection((LOOPBACK, self.port), timeout=1).close()
                return self.seconds()
            time.sleep(POLL_SECONDS)
        raise RuntimeError(f"The server does not listen. It said: {self.output()}")

    def wait_until_it_answers(self) -> None:
        """Waits until it says that it is healthy."""
        self.wait_until_it_listens()
        health = f"{self.url}/_stcore/health"
        with urllib.request.urlopen(health, timeout=START_SECONDS) as answer:
            answer.read()

    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def processes(self) -> list[psutil.Process]:
        """The server's process first, then all that came of it."""
        try:
            server = psutil.Process(self._process.pid)
            return [server, *server.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def output(self) -> str:
        """What the processes have written so far, the last of it."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:]


def clean_environment(cache: Path) -> dict[str, str]:
    """This process's, without what may have been set, and with an empty `cache`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BERTVIZ_", "STREAMLIT_"))
    }
    return {**kept, "BERTVIZ_CACHE": str(cache)}


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]
