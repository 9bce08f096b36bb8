"""From `streamlit run app.py` to a page that answers, in a real browser.

Every run starts a fresh server; a browser that is already open goes there as soon as
the port listens. Files come from the system's cache, as after a first start of the
day.
"""

import statistics
import time
from dataclasses import dataclass

from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from benchmarks.app_server import AppServer
from benchmarks.browser import launch
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met

NUM_RUNS = 5
ANSWER_MILLISECONDS = 120_000
TARGET_TITLE_SECONDS = 2.0
TARGET_PREDICTION_SECONDS = 4.0

HAS_TITLE = "document.title.includes('BERT Explorer') && !!document.querySelector('h1')"
# Address of a page, and what shows on it once the model has answered.
PAGES = {"": "[data-testid=stProgress]", "masked_word": ".js-plotly-plot .point"}


@dataclass(frozen=True)
class Start:
    """One fresh server, in seconds."""

    listens: float  # from the server's start until its port is open
    title: float  # from opening the address until title and heading are there
    prediction: float  # from the server's start until the first prediction shows
    other_cores: float  # busy with other work meanwhile


def measure() -> Table:
    """Starts `NUM_RUNS` servers for each of `PAGES`."""
    title = "Cold start"
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except PlaywrightError as error:
            return Table(title, ("",), (), (f"Left out, no browser: {error.message}",))
        starts = {
            page: [_start(browser, page) for _ in range(NUM_RUNS)] for page in PAGES
        }
        browser.close()
    return Table(
        title,
        ("page", "what", "median", "slowest", "target", "met"),
        [row for page, runs in starts.items() for row in _rows(page, runs)],
        (
            f"{NUM_RUNS} fresh servers for each page; other work took up to "
            f"{max(s.other_cores for runs in starts.values() for s in runs):.2f} "
            "cores meanwhile. The browser itself uses the same cores.",
        ),
    )


def _start(browser: Browser, path: str) -> Start:
    # The page's own policy would refuse the condition that waits for the title.
    tab = browser.new_page(bypass_csp=True)
    wait_until_quiet()
    others = OtherWork()
    with AppServer() as server:
        listens = server.wait_until_it_listens()
        opened = time.perf_counter()
        tab.goto(f"{server.url}/{path}", wait_until="commit")
        tab.wait_for_function(HAS_TITLE, timeout=ANSWER_MILLISECONDS)
        title = time.perf_counter() - opened
        tab.locator(PAGES[path]).first.wait_for(timeout=ANSWER_MILLISECONDS)
        prediction = server.seconds()
        start = Start(listens, title, prediction, others.cores())
        tab.close()
    return start


def _rows(page: str, runs: list[Start]) -> list[tuple[str, ...]]:
    name = page or "home"
    return [
        _row(name, "server listens", [run.listens for run in runs], None),
        _row(
            name,
            "title, from opening the address",
            [run.title for run in runs],
            TARGET_TITLE_SECONDS,
        ),
        _row(
            name,
            "first prediction, from the server's start",
            [run.prediction for run in runs],
            TARGET_PREDICTION_SECONDS,
        ),
    ]


def _row(
    name: str, what: str, seconds: list[float], target: float | None
) -> tuple[str, ...]:
    median = statistics.median(seconds)
    return (
        name,
        what,
        f"{median:.1f} s",
        f"{max(seconds):.1f} s",
        "" if target is None else f"{target:.0f} s",
        "" if target is None else met(median, target),
    )
