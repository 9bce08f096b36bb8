"""How much memory this process may still take."""

import os
from pathlib import Path

import psutil

# Bytes that a worker may take before it is ended; absent elsewhere.
SHARE_VARIABLE = "WORKER_MEMORY_BYTES"
# Where Linux says what a container may use, in both versions of control groups.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def free_memory(groups: tuple[tuple[str, str], ...] = _GROUPS) -> int:
    """Bytes that are free on this machine, in the container, and in a worker's share.

    Source: Linux kernel documentation, "Control Group v2", memory interface files.
    """
    free = int(psutil.virtual_memory().available)
    if share := os.environ.get(SHARE_VARIABLE):
        left = int(share) - psutil.Process().memory_info().rss
        free = min(free, max(left, 0))
    for limit, used in groups:
        try:
            left = int(Path(limit).read_text()) - int(Path(used).read_text())
            left += _given_back(Path(used).with_name("memory.stat"))
        except (OSError, ValueError):  # no such group, or "max"
            continue
        free = min(free, max(left, 0))
    return free


def _given_back(path: Path) -> int:
    """Bytes of files that a container read and holds until it needs the room."""
    lines = map(str.split, path.read_text().splitlines())
    stat = {name: int(size) for name, size in lines}
    # The first is that of version 1, with the groups below.
    return stat.get("total_inactive_file", stat.get("inactive_file", 0))
