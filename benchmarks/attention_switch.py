"""How long the attention page takes to show another head or layer of a long text.

One visitor, a text of 128 tokens in the bundled model. First a WebSocket session, see
`session`: time runs from the visitor's message to the last message of the answer, which
holds choices and pictures; the questions below follow when the browser says that it
shows them. Then Chromium, where it is installed: from a click in the grid of heads
until a frame shows the new head, and until its exact numbers have come, by the
component's own clock.
"""

import asyncio
import itertools
import statistics
from urllib.parse import urlencode

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, Page, sync_playwright

from benchmarks.app_server import AppServer
from benchmarks.browser import launch
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.session import Answer, Session
from benchmarks.table import Table, met

PAGE, CANVAS = "attention", "attention_canvas"
TEXT = " ".join(["the cat and the dog"] * 30)  # more than 128 tokens; the rest is cut
NUM_CHANGES = 40
NUM_CLICKS = 30
NUM_HEADS, NUM_LAYERS = 8, 6  # of the bundled model
TARGET_SECONDS = 0.100
# A visitor looks at a head before the next click; the questions follow meanwhile.
LOOK_SECONDS = 0.5


def measure() -> Table:
    """Shows every head and layer, then forty more of each."""
    with AppServer() as server:
        server.wait_until_it_answers()
        rows = asyncio.run(_rows(server.url))
        notes = ['"Others" is what other work took meanwhile, in cores.']
        try:
            rows += _clicks(server.url)
        except PlaywrightError as error:
            notes.append(f"Clicks are left out: {error.message}")
    return Table(
        "Another head on the attention page, 128 tokens",
        ("change", "times", "median", "slowest", "target", "met", "answer", "others"),
        rows,
        notes,
    )


async def _rows(url: str) -> list[tuple[str, ...]]:
    session, _ = await Session.open(url, PAGE, "attention_layer=1&attention_head=1")
    _require_good(await session.change("text", TEXT))
    found = []
    for key, count in (("attention_head", NUM_HEADS), ("attention_layer", NUM_LAYERS)):
        name = key.removeprefix("attention_")
        # From 2 on: 1 is shown already.
        values = [str(number + 1) for number in range(1, count)]
        found += await _switch(session, f"{name}, first time", key, values)
        again = list(itertools.islice(itertools.cycle(values), NUM_CHANGES))
        found += await _switch(session, f"{name}, seen before", key, again)
    await session.close()
    return found


def _clicks(url: str) -> list[tuple[str, ...]]:
    """Clicks here and there into the grid of heads."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        # The page's own policy would refuse the condition that waits for the head.
        page = browser.new_page(bypass_csp=True)
        page.goto(f"{url}/{PAGE}?{urlencode({'text': TEXT})}")
        grid = page.locator(".attention[data-grid-ms] canvas.grid").first
        grid.wait_for()
        wait_until_quiet()
        rows = []
        for name, pause in (("a click", LOOK_SECONDS), ("clicks without a pause", 0.0)):
            others = OtherWork()
            clicks = [_click(page, grid, number, pause) for number in range(NUM_CLICKS)]
            busy = others.cores()
            drawn, exact = map(list, zip(*clicks, strict=True))
            rows.append(_row(f"{name}, until it is drawn", drawn, "", busy))
            rows.append(_row(f"{name}, until its numbers are there", exact, "", busy))
        browser.close()
    return rows


def _click(page: Page, grid: Locator, number: int, pause: float) -> tuple[float, float]:
    box = grid.bounding_box()
    view = page.locator(".attention").first.element_handle()
    if box is None or view is None:
        raise RuntimeError("The grid of heads is not drawn.")
    view.evaluate(
        "({ dataset }) => { delete dataset.switchMs; delete dataset.exactMs }"
    )
    # Within the grid, beside its labels; two in a row fall on different heads.
    across = 0.2 + 0.7 * (3 * number % NUM_HEADS) / NUM_HEADS
    down = 0.2 + 0.7 * (number % NUM_LAYERS) / NUM_LAYERS
    grid.click(position={"x": across * box["width"], "y": down * box["height"]})
    page.wait_for_function(
        "({ dataset }) => dataset.switchMs && dataset.exactMs", arg=view
    )
    times = view.evaluate("({ dataset }) => [dataset.switchMs, dataset.exactMs]")
    drawn, exact = (float(time) / 1e3 for time in times)
    page.wait_for_timeout(1e3 * pause)
    return drawn, exact


async def _switch(
    session: Session, name: str, key: str, values: list[str]
) -> list[tuple[str, ...]]:
    await asyncio.to_thread(wait_until_quiet)
    others = OtherWork()
    answers, rests = [], []
    for value in values:
        answers.append(await session.change(key, value))
        rests.append(await session.trigger(CANVAS, "shown", value))
    for answer in (*answers, *rests):
        _require_good(answer)
    size = max(answer.num_bytes for answer in answers)
    busy = others.cores()
    return [
        _row(name, _seconds(answers), f"{size / 1e6:.2f} MB", busy),
        (
            f"{name}: the questions",
            str(len(rests)),
            *_median_and_slowest(_seconds(rests)),
            "",
            "",
            f"{max(rest.num_bytes for rest in rests) / 1e6:.2f} MB",
            f"{busy:.2f}",
        ),
    ]


def _row(
    name: str, seconds: list[float], size: str, other_cores: float
) -> tuple[str, ...]:
    return (
        name,
        str(len(seconds)),
        *_median_and_slowest(seconds),
        f"median <= {TARGET_SECONDS * 1e3:.0f} ms",
        met(statistics.median(seconds), TARGET_SECONDS),
        size,
        f"{other_cores:.2f}",
    )


def _median_and_slowest(seconds: list[float]) -> tuple[str, str]:
    return f"{statistics.median(seconds) * 1e3:.0f} ms", f"{max(seconds) * 1e3:.0f} ms"


def _seconds(answers: list[Answer]) -> list[float]:
    return [answer.seconds for answer in answers]


def _require_good(answer: Answer) -> None:
    if answer.complaints or "bidi_component" not in answer.kinds:
        raise RuntimeError(f"The page did not show its pictures: {answer}.")
