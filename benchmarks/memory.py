"""Memory of the app after the first predictions, the other pages and a training.

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

# Of the process of the pages, resident; of all processes, shared out.
_FIRST_TARGETS = (200, 1200)
MOST_GROWTH = 1.05
TEXTS = ("The [MASK] sat on the mat.", "She went to [MASK] by [MASK].")
OTHER_PAGES = ("attention", "layers", "embeddings", "activations", "fine_tune")
TRAINING_SECONDS = 600.0


def measure() -> Table:
    """Starts a server, visits its pages, trains, and weighs every process each time."""
    with AppServer() as server:
        server.wait_until_it_answers()
        asyncio.run(_predict(server.url))
        rows = _weigh("first predictions", server.processes(), *_FIRST_TARGETS)
        asyncio.run(_visit_others(server.url))
        before, _ = _megabytes(server.processes()[0])
        rows += _weigh("all other pages", server.processes())
        asyncio.run(_train(server.url))
        rows += _weigh("a training", server.processes(), MOST_GROWTH * before)
    return Table(
        "Memory of one visitor",
        ("after", "process", "resident", "share", "target", "met"),
        rows,
        (
            "Megabytes of 10⁶ bytes. Tables on the other pages bring pandas and "
            "pyarrow. A training leaves the process of the pages as it was, 5 % at "
            "most.",
        ),
    )


def _weigh(
    moment: str,
    processes: list[psutil.Process],
    server_target: float | None = None,
    sum_target: float | None = None,
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    total = 0.0
    for index, process in enumerate(processes):
        resident, share = _megabytes(process)
        total += share
        is_server = index == 0
        name = "Streamlit" if is_server else _role(process)
        sizes = (f"{resident:.0f} MB", f"{share:.0f} MB")
        judged = _judged(resident, server_target if is_server else None)
        rows.append((moment, name, *sizes, *judged))
    judged = _judged(total, sum_target)
    return [*rows, (moment, "everything", "", f"{total:.0f} MB", *judged)]


def _judged(measured: float, target: float | None) -> tuple[str, str]:
    return ("", "") if target is None else (f"{target:.0f} MB", met(measured, target))


async def _predict(url: str) -> None:
    await (await _opened(url, "")).close()
    session = await _opened(url, "masked_word")
    for text in TEXTS:
        await session.change("masked_text", text)
    await session.close()


async def _visit_others(url: str) -> None:
    for page in OTHER_PAGES:
        await (await _opened(url, page)).close()


async def _train(url: str) -> None:
    """Fine-tunes on the bundled English table with the settings that are proposed."""
    session = await _opened(url, "fine_tune")
    for button in ("ft_sample_en", "ft_go_data", "ft_go_check", "ft_start"):
        await session.press(button)
    async with asyncio.timeout(TRAINING_SECONDS):
        while not session.offers("ft_go_train"):  # to what the end of a run leads to
            await asyncio.sleep(1)
            await session.rerun()
    await session.close()


async def _opened(url: str, page: str) -> Session:
    session, answer = await Session.open(url, page)
    if answer.complaints:
        raise RuntimeError(f"The page complains: {answer.complaints}.")
    return session


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
