"""How much memory this process may still take."""

from __future__ import annotations

from pathlib import Path

import psutil

# Where Linux says what a container may use, in both versions of control groups.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def free_memory(groups: tuple[tuple[str, str], ...] = _GROUPS) -> int:
    """Bytes that are free on this machine, or in the container around this process.

    Args:
        groups: files with the limit of a container and what it uses.

    Source:
        Linux kernel documentation, "Control Group v2", memory interface files.
    """
    free = int(psutil.virtual_memory().available)
    for limit, used in groups:
        try:
            left = int(Path(limit).read_text()) - int(Path(used).read_text())
        except (OSError, ValueError):  # no such group, or "max"
            continue
        free = min(free, max(left, 0))
    return free
