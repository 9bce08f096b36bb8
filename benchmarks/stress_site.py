"""A hosted app on loopback, put together from what `deploy/` gives an operator.

Proxy, page servers, a scheduler and workers over TLS. Without nginx there is no proxy:
visitors share the page servers out themselves.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import yaml

from benchmarks.app_server import (
    LOOPBACK,
    ROOT,
    STOP_SECONDS,
    AppServer,
    clean_environment,
    free_port,
)

DEPLOY = ROOT / "deploy"
DISK_BYTES = 1_600_000_000  # where models and visitors' files go
_PIECE_BYTES = 1_000_000  # less is left on it when it is full
READY_SECONDS = 90.0


class Site:
    """The processes of a hosted app. Use it in a `with` statement.

    Args:
        folder: for certificates, logs and the cache; empty.
        num_readers: workers that read.
        num_replicas: page servers, one or two.
        first_port: of those to listen on; `None` for free ones.
    """

    def __init__(
        self, folder: Path, num_readers: int, num_replicas: int, first_port: int | None
    ) -> None:
        self._folder, self._cache = folder, folder / "cache"
        self._filler = self._cache / "filler"
        ports = itertools.count(first_port) if first_port else iter(free_port, None)
        self.scheduler = f"tls://{LOOPBACK}:{next(ports)}"
        self._web_ports = [next(ports) for _ in range(num_replicas)]
        self._proxy_port = next(ports)
        self._readers = [f"reader {number + 1}" for number in range(num_readers)]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._pages: dict[str, AppServer] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Site:
        with self._stack as stack:
            self.has_small_disk = self._mount()
            for name in ("prepare.sh", "dask.yaml", "nginx.conf"):
                shutil.copy(DEPLOY / name, self._folder)
            self._run("prepare", [str(self._folder / "prepare.sh")], {}).wait()
            self._dask("scheduler", "scheduler", "scheduler")
            for name in self._readers:
                self._dask(name, "read", "worker")
            self._dask("trainer", "train", "worker")
            for number, port in enumerate(self._web_ports):
                self._serve(f"pages {number + 1}", port)
            for server in self._pages.values():
                server.wait_until_it_listens()
                _wait_until_ready(f"{server.url}/ready")
            self.urls = self._proxied()
            _wait_until_ready(f"{self.urls[0]}/_stcore/health")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def environment(self, role: str = "web") -> dict[str, str]:
        """Variables of a process, with the limits that whoever measures has set.

        Its role says whose certificate it shows, see `deploy/prepare.sh`.
        """
        tls = self._folder / "certificates" / role
        limits = {k: v for k, v in os.environ.items() if k.startswith("BERTVIZ_MAX_")}
        return limits | {
            "BERTVIZ_CACHE": str(self._cache),
            "BERTVIZ_SCHEDULER": self.scheduler,
            "BERTVIZ_TLS_CA": str(tls / "ca.pem"),
            "BERTVIZ_TLS_CERT": str(tls / "cert.pem"),
            "BERTVIZ_TLS_KEY": str(tls / "key.pem"),
            "STREAMLIT_SERVER_COOKIE_SECRET": "the same for all",
        }

    def kill(self, name: str) -> None:
        """Kills what a worker's nanny has started, as a system without memory does."""
        for child in psutil.Process(self._processes[name].pid).children():
            if "spawn_main" in " ".join(child.cmdline()):
                child.kill()

    def restart(self, name: str) -> None:
        """Stops a page server and starts it again, as an operator does."""
        self._pages[name].__exit__(None, None, None)
        self._serve(name, self._pages[name].port)

    def fill_disk(self) -> None:
        """Leaves no room for models and visitors' files; again as others make some."""
        with self._filler.open("ab") as file, contextlib.suppress(OSError):
            for begin in range(file.tell(), DISK_BYTES, _PIECE_BYTES):
                os.posix_fallocate(file.fileno(), begin, _PIECE_BYTES)

    def free_disk(self) -> None:
        self._filler.unlink(missing_ok=True)

    def weigh(self) -> dict[str, float]:
        """Megabytes that each process and those it has started hold now."""
        roots = {name: process.pid for name, process in self._processes.items()}
        for name, server in self._pages.items():
            roots.update((name, process.pid) for process in server.processes()[:1])
        weights = {}
        for name, pid in roots.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                root = psutil.Process(pid)
                family = [root, *root.children(recursive=True)]
                weights[name] = sum(one.memory_info().rss for one in family) / 1e6
        return weights

    def _mount(self) -> bool:
        """A small disk for the cache, where this user may make one."""
        self._cache.mkdir()
        options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self._cache)]
        made = subprocess.run(["mount", *options], check=False, capture_output=True)
        if made.returncode == 0:
            self._stack.callback(subprocess.run, ["umount", "-l", str(self._cache)])
        return made.returncode == 0

    def _dask(self, name: str, service: str, role: str) -> None:
        """Starts what a service of `compose.yaml` runs."""
        compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
        command = compose["services"][service]["command"] + f" --host {LOOPBACK}"
        port = self.scheduler.rpartition(":")[2]
        command = command.replace("tls://scheduler:8786", self.scheduler)
        command = command.replace("--port 8786", f"--port {port}")
        command = command.replace("/tls/", f"{self._folder}/certificates/{role}/")
        dask = {"DASK_CONFIG": f"{self._folder}/dask.yaml", "PYTHONPATH": str(ROOT)}
        environment = self.environment(role) | dask
        self._run(name, [sys.executable, "-m", *shlex.split(command)], environment)

    def _serve(self, name: str, port: int) -> None:
        self._pages[name] = AppServer("server.py", port, self.environment())
        self._stack.callback(self._pages[name].__exit__, None, None, None)

    def _proxied(self) -> list[str]:
        """The addresses that visitors ask: of the proxy, or of the page servers."""
        nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if nginx is None or len(self._pages) < 2:
            return [server.url for server in self._pages.values()]
        config = self._folder / "nginx.conf"
        text = config.read_text("utf-8").replace("/tmp/", f"{self._folder}/")
        for end, server in zip(("11", "12"), self._pages.values(), strict=True):
            text = text.replace(f"172.30.86.{end}:8501", f"{LOOPBACK}:{server.port}")
        # No TLS on loopback: it would be the visitors' processor time, not the site's.
        here = f"listen {LOOPBACK}:{self._proxy_port};"
        text = text.replace("listen 8443 ssl http2;", here)
        text = re.sub(r"server \{\s+listen 8080;.*?\}", "", text, flags=re.S)
        text = re.sub(r"/dev/std\w+", f"{self._folder}/nginx.log", text)
        text = text.replace("/etc/nginx/site", f"{self._folder}/certificates/site")
        config.write_text(text, "utf-8")
        self._run("proxy", [nginx, "-c", str(config), "-g", "daemon off;"], {})
        return [f"http://{LOOPBACK}:{self._proxy_port}"]

    def _run(
        self, name: str, command: list[str], environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=clean_environment(self._cache) | environment,
                stdout=log,
                stderr=log,
            )
        self._processes[name] = process
        self._stack.callback(_stop, process)
        return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and what it has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(process.pid)
        family = [*root.children(recursive=True), root]
        root.terminate()
        _, alive = psutil.wait_procs(family, STOP_SECONDS)
        for one in alive:
            one.kill()
    process.wait()


def _wait_until_ready(url: str) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=READY_SECONDS).close()
            return
        time.sleep(0.5)
    raise RuntimeError(f"Nothing answers at {url}.")
