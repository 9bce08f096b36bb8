"""Memory of the app after the first predictions, the other pages and a training.

The sum is of proportional shares (PSS): a page of a library that four processes map
counts once. Where the system does not tell them, resident sizes stand in, which count
it four times.
"""

import asyncio
import tempfile
from pathlib import Path

import psutil
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

from benchmarks.app_server import AppServer
from benchmarks.browser import launch
from benchmarks.session import Session
from benchmarks.table import Table, met

# Of the process of the pages, resident; of all processes, shared out.
_FIRST_TARGETS = (200, 650)
MOST_GROWTH = 1.05
TEXTS = ("The [MASK] sat on the mat.", "She went to [MASK] by [MASK].")
OTHER_PAGES = ("attention", "layers", "embeddings", "activations", "fine_tune")
TRAINING_SECONDS = 600.0
# Nearly all that a table may have: 100 MB, 200,000 rows.
NUM_ROWS, ROW_CHARACTERS = 190_000, 500
ANSWER_MILLISECONDS = 300_000


def measure() -> Table:
    """Starts a server, visits its pages, trains, and weighs every process each time."""
    with AppServer() as server:
        server.wait_until_it_answers()
        asyncio.run(_predict(server.url))
        rows = _weigh("first predictions", server.processes(), *_FIRST_TARGETS)
        asyncio.run(_visit_others(server.url))
        before, _ = _megabytes(server.processes()[0])
        rows += _weigh("all other pages", server.processes())
        query = asyncio.run(_train(server.url))
        rows += _weigh("a training", server.processes(), MOST_GROWTH * before)
        notes = []
        try:
            rows += _with_files(server, query, MOST_GROWTH * before)
        except PlaywrightError as error:
            notes.append(f"Upload and download are left out: {error.message}")
    return Table(
        "Memory of one visitor",
        ("after", "process", "resident", "share", "target", "met"),
        rows,
        (
            "Megabytes of 10⁶ bytes. Tables on the other pages bring pandas and "
            "pyarrow. A training leaves the process of the pages as it was, 5 % at "
            "most. A table that came is on the disk, and no longer in memory, when its "
            "preview is shown; its rows are kept by a model worker. A model that is "
            "taken away is sent from the disk in pieces.",
            *notes,
        ),
    )


def _with_files(server: AppServer, query: str, target: float) -> list[tuple[str, ...]]:
    """Weighs after a large table came, and after the trained model was taken."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page()
        page.set_default_timeout(ANSWER_MILLISECONDS)
        table = Path(scratch) / "table.csv"
        _write_table(table)
        _upload(page, server.url, table)
        size = table.stat().st_size / 1e6
        rows += _weigh(f"a table of {size:.0f} MB", server.processes(), target)
        page.goto(f"{server.url}/fine_tune?{query}")
        taken = Path(scratch) / "model.zip"
        _take(page, taken)
        size = taken.stat().st_size / 1e6
        rows += _weigh(f"taking a model of {size:.0f} MB", server.processes(), target)
        browser.close()
    return rows


def _write_table(path: Path) -> None:
    words = "the book came late and the page was torn "
    text = (words * ROW_CHARACTERS)[: ROW_CHARACTERS - 8]
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for index in range(NUM_ROWS):
            file.write(f"{index} {text},{'ab'[index % 2]}\n")


def _upload(page: Page, url: str, table: Path) -> None:
    page.goto(f"{url}/fine_tune")
    page.locator("[class*='st-key-ft_table_'] input[type=file]").set_input_files(table)
    page.get_by_test_id("stAlertContentSuccess").wait_for()


def _take(page: Page, path: Path) -> None:
    page.wait_for_url("**ft_run_id=*")
    with page.expect_download() as download:
        page.locator(".st-key-ft_take_zip a").click()
    download.value.save_as(path)


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
        await session.change("text", text)
    await session.close()


async def _visit_others(url: str) -> None:
    for page in OTHER_PAGES:
        await (await _opened(url, page)).close()


async def _train(url: str) -> str:
    """Fine-tunes on the bundled English table with the settings that are proposed.

    Returns the query of the page where the model is taken away.
    """
    session = await _opened(url, "fine_tune")
    for button in ("ft_sample_library_en", "ft_go_data", "ft_go_check", "ft_start"):
        await session.press(button)
    async with asyncio.timeout(TRAINING_SECONDS):
        while not session.offers("ft_go_train"):  # to what the end of a run leads to
            await asyncio.sleep(1)
            await session.rerun()
    for button in ("ft_go_train", "ft_go_evaluated", "ft_go_compared"):
        await session.press(button)
    await session.close()
    return session.query_string


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
