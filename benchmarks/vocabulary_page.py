"""How long a visitor waits for the map of a vocabulary of BERT-base's size.

A folder with random weights of 30,522 words and 768 numbers each, one layer below them,
opened by its address as a visitor's own checkpoint is. Time runs in Chromium from
opening the address until the component has drawn its points: for the first visitor,
whose model has to be read, and for others, who come to a model that is there. What the
page receives meanwhile is counted, all WebSocket frames: the map in full, with its
words, and what else a page consists of.
"""

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from benchmarks.app_server import AppServer
from benchmarks.browser import launch
from benchmarks.embeddings import HIDDEN_SIZE, MAP_BYTES, MAP_SECONDS, NUM_WORDS
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met

NUM_VISITORS = 7
ANSWER_MILLISECONDS = 120_000
DRAWN = ".point-map[data-draw-ms]"


def measure() -> Table:
    """Opens the map as the first visitor and as some more."""
    title = f"Map of {NUM_WORDS:,} x {HIDDEN_SIZE} words in the browser"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        try:
            browser = launch(playwright)
        except PlaywrightError as error:
            return Table(title, ("",), (), (f"Left out, no browser: {error.message}",))
        folder = Path(scratch) / "wide"
        _write_model(folder)
        with AppServer() as server:
            server.wait_until_it_answers()
            _visit(browser, f"{server.url}/embeddings", "", "h1")  # the app is warm
            query = {
                "model": str(folder),
                "embeddings_panel": "map",
                "embeddings_map_method": "pca",
            }
            visits, others = [], []
            for _ in range(1 + NUM_VISITORS):
                wait_until_quiet()
                work = OtherWork()
                address = f"{server.url}/embeddings"
                visits.append(_visit(browser, address, urlencode(query), DRAWN))
                others.append(work.cores())
        browser.close()
    seconds = [visit.seconds for visit in visits]
    size = max(visit.num_bytes for visit in visits)
    target, told = f"{MAP_BYTES / 1e6:.0f} MB", f"{size / 1e6:.2f} MB"
    rows = (
        _row("first visitor, model and map included", seconds[:1], None),
        _row("visitors after that", seconds[1:], MAP_SECONDS),
        ("received", str(len(visits)), "", told, target, met(size, MAP_BYTES)),
    )
    return Table(
        title,
        ("from opening the address", "times", "median", "most", "target", "met"),
        rows,
        (
            f"Other work took up to {max(others):.2f} cores meanwhile. The browser "
            "uses the same cores, and draws without a graphics card.",
        ),
    )


@dataclass(frozen=True)
class _Visit:
    """From opening the address until it was drawn."""

    seconds: float
    num_bytes: int  # of the received frames


def _visit(browser: Browser, address: str, query: str, wanted: str) -> _Visit:
    page = browser.new_page()
    frames: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on(
            "framereceived", lambda frame: frames.append(len(frame))
        ),
    )
    began = time.perf_counter()
    page.goto(f"{address}?{query}", wait_until="commit")
    # A locator sees into the component, where a selector of the page does not.
    page.locator(wanted).first.wait_for(timeout=ANSWER_MILLISECONDS)
    seconds = time.perf_counter() - began
    page.close()
    return _Visit(seconds, sum(frames))


def _write_model(folder: Path) -> None:
    from benchmarks.random_model import random_model
    from bertviz_core.checkpoints.export import save_model
    from bertviz_core.config import BertConfig
    from bertviz_core.model.bert import PRETRAINING_HEADS

    config = BertConfig(NUM_WORDS, HIDDEN_SIZE, num_hidden_layers=1)
    save_model(random_model(config, PRETRAINING_HEADS), folder)


def _row(what: str, seconds: list[float], target: float | None) -> tuple[str, ...]:
    median = statistics.median(seconds)
    return (
        what,
        str(len(seconds)),
        f"{median:.2f} s",
        f"{max(seconds):.2f} s",
        "" if target is None else f"median <= {target:.0f} s",
        "" if target is None else met(median, target),
    )
