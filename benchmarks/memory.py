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

TARGET_SERVER_MEGABYTES = 200
TARGET_SUM_MEGABYTES = 1200
TEXTS = ("The [MASK] sat on the mat.", "She went to [MASK] by [MASK].")
OTHER_PAGES = ("attention", "layers", "embeddings", "activations", "fine_tune")
TRAINING_SECONDS = 600.0


def measure() -> Table:
    """Starts a server, visits its pages, trains, and weighs every process each time."""
    with AppServer() as server:
        server.wait_until_it_answers()
        rows = []
        for moment, visit in _MOMENTS.items():
            asyncio.run(visit(server.url))
            rows += _weigh(moment, server.processes())
    return Table(
        "Memory of one visitor",
        ("after", "process", "resident", "share", "target", "met"),
        rows,
        ("Megabytes of 10⁶ bytes. A training lets the process of the pages be.",),
    )


def _weigh(moment: str, processes: list[psutil.Process]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    total = 0.0
    for index, process in enumerate(processes):
        resident, share = _megabytes(process)
        total += share
        is_server = index == 0
        target = f"{TARGET_SERVER_MEGABYTES} MB resident" if is_server else ""
        verdict = met(resident, TARGET_SERVER_MEGABYTES) if is_server else ""
        name = "Streamlit" if is_server else _role(process)
        sizes = (f"{resident:.0f} MB", f"{share:.0f} MB")
        rows.append((moment, name, *sizes, target, verdict))
    target, verdict = f"{TARGET_SUM_MEGABYTES} MB", met(total, TARGET_SUM_MEGABYTES)
    return [*rows, (moment, "everything", "", f"{total:.0f} MB", target, verdict)]


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


_MOMENTS = {
    "first predictions": _predict,
    "all other pages": _visit_others,
    "a training": _train,
}


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
