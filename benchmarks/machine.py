"""The machine that measures: what it is, and what else it is doing meanwhile."""

import os
import platform
import time
from pathlib import Path

import psutil

# Instructions that decide how fast a matrix product can be.
MATRIX_INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_tile")

# Other work that does not spoil a measurement.
QUIET_CORES = 0.15
PROBE_SECONDS = 0.3


def describe_machine() -> str:
    """Names the processor, its cores, its matrix instructions and the memory."""
    facts = _processor_facts()
    flags = facts.get("flags", "").split()
    known = [flag for flag in MATRIX_INSTRUCTIONS if flag in flags]
    gibibytes = psutil.virtual_memory().total / 2**30
    return (
        f"{facts.get('model name', platform.processor() or 'unknown processor')}, "
        f"{platform.machine()}, {os.cpu_count()} cores "
        f"({', '.join(known) or 'instructions not known'}), "
        f"{gibibytes:.0f} GiB of memory, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _processor_facts() -> dict[str, str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return {}
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


class OtherWork:
    """How many cores were busy with what is not ours since this was made.

    Ours is this process and all that it started. A measurement on a shared
    machine is worth little without it.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._all, self._ours = _all_cpu_seconds(), _our_cpu_seconds()

    def cores(self) -> float:
        """Cores, 0 = the machine was ours alone."""
        elapsed = time.perf_counter() - self._began
        everything = _all_cpu_seconds() - self._all
        ours = _our_cpu_seconds() - self._ours
        return max(0.0, (everything - ours) / elapsed)


def wait_until_quiet(limit_seconds: float = 20.0) -> None:
    """Returns when others leave the machine to us, or when the limit is over."""
    until = time.perf_counter() + limit_seconds
    while time.perf_counter() < until:
        others = OtherWork()
        time.sleep(PROBE_SECONDS)
        if others.cores() <= QUIET_CORES:
            return


def _all_cpu_seconds() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0)


def _our_cpu_seconds() -> float:
    seconds = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += times.user + times.system
    return seconds
