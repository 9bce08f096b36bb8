"""Memory of the app after the first predictions with the bundled model.

The sum is of proportional shares (PSS): a page of a library that four processes map
counts once. Where the system does not tell them, resident sizes stand in, which count
it four times.
"""

from __future__ import annotations

import asyncio

import psutil

from benchmarks.app_server import AppServer
from benchmarks.session import Session
from benchmarks.table import Table, met

TARGET_SERVER_MEGABYTES = 200
TARGET_SUM_MEGABYTES = 1200
TEXTS = ("The [MASK] sat on the mat.", "She went to [MASK] by [MASK].")


def measure() -> Table:
    """Starts a server, visits both pages that predict, and weighs every process."""
    with AppServer() as server:
        server.wait_until_it_answers()
        asyncio.run(_visit(server.url))
        processes = server.processes()
        rows, shares = [], []
        for index, process in enumerate(processes):
            resident, share = _megabytes(process)
            shares.append(share)
            is_server = index == 0
            target = f"{TARGET_SERVER_MEGABYTES} MB resident" if is_server else ""
            verdict = met(resident, TARGET_SERVER_MEGABYTES) if is_server else ""
            name = "Streamlit" if is_server else _role(process)
            rows.append(
                (name, f"{resident:.0f} MB", f"{share:.0f} MB", target, verdict)
            )
    total = sum(shares)
    target, verdict = f"{TARGET_SUM_MEGABYTES} MB", met(total, TARGET_SUM_MEGABYTES)
    rows.append(("everything", "", f"{total:.0f} MB", target, verdict))
    return Table(
        "Memory after the first predictions",
        ("process", "resident", "share", "target", "met"),
        rows,
        ("Megabytes of 10⁶ bytes; one visitor, both pages that predict.",),
    )


async def _visit(url: str) -> None:
    for page in ("", "masked_word"):
        session, answer = await Session.open(url, page)
        if answer.complaints:
            raise RuntimeError(f"The page complains: {answer.complaints}.")
        if page == "masked_word":
            for text in TEXTS:
                await session.change("masked_text", text)
        await session.close()


def _megabytes(process: psutil.Process) -> tuple[float, float]:
    """Resident size and proportional share."""
    sizes = process.memory_full_info()
    return sizes.rss / 1e6, getattr(sizes, "pss", sizes.rss) / 1e6


def _role(process: psutil.Process) -> str:
    """What a process is for, told by its command line."""
    command = " ".join(process.cmdline())
    if "local_cluster" in command:
        return "scheduler and nannies"
    if "resource_tracker" in command:
        return "Python's resource tracker"
    if "spawn_main" in command or "forkserver" in command:
        return "model worker"
    return command[:60]
