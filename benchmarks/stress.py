"""Visitors of all kinds at a hosted app while its parts are killed: what do they meet?

`make stress`, or `python -m benchmarks.stress --seconds 60 --visitors 30 100`. It runs
on this machine's loopback and ends by itself. Two visitors train a model, one of ten
sends files that do harm, the others read. Meanwhile workers are killed, a page server
restarts and the disk is full. Then it counts the answers of one worker and of two.
"""

import argparse
import asyncio
import contextlib
import datetime
import functools
import io
import itertools
import os
import random
import signal
import statistics
import sys
import tempfile
import time
import urllib.error
import zipfile
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from websockets.exceptions import InvalidStatus, WebSocketException

from benchmarks.machine import OtherWork, describe_machine
from benchmarks.session import Answer, Session, browser_cookies
from benchmarks.stress_site import Site
from benchmarks.table import Table

THINK_SECONDS = 2.0
AGAIN_SECONDS = 1.0  # until a browser connects again
LOST_SECONDS = 45.0  # of connecting in vain
TRAINING_SECONDS = 90.0  # that a training may take after the others have left
SAMPLE_SECONDS = 2.0
SCALE_SECONDS, SCALE_CALLERS = 10.0, 8
TRAIN = ("ft_sample_library_en", "ft_go_data", "ft_go_check", "ft_start")
PAGES = ("", "masked_word", "attention", "embeddings", "layers", "models")
BROKEN = (OSError, WebSocketException, TimeoutError)
# An answer; a sentence that says why there is none; an answer after the browser had to
# connect again; neither an answer nor a sentence.
OUTCOMES = ("answered", "told", "asked again", "lost")


class Met:
    """What visitors met: outcomes and seconds by what was asked, and what was said."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.said: Counter[str] = Counter()
        self.memory: list[dict[str, float]] = []

    def add(self, asked: str, outcome: str, said: str = "") -> None:
        """Counts an outcome, with a sentence or with what became of it."""
        self.outcomes[asked, outcome] += 1
        if said:
            self.said[f"{outcome}, {asked}: {said}"] += 1

    def judge(self, asked: str, answer: Answer, seconds: float, again: bool) -> None:
        self.seconds[asked].append(seconds)
        said = " ".join(answer.complaints)
        outcome = "told" if said else "asked again" if again else "answered"
        self.add(asked, "lost" if "exception" in answer.kinds else outcome, said)


class Visitor:
    """One browser; it connects again where the connection is lost.

    Its number, from 0, decides what it does at the `urls` of the site; `met` gets what
    happens.
    """

    def __init__(self, number: int, urls: list[str], met: Met) -> None:
        self._number, self._met = number, met
        self._url = urls[number % len(urls)]
        self._random = random.Random(number)
        self._session: Session | None = None
        self._page = self._query = ""
        self._cookies: dict[str, str] = {}

    async def visit(self, until: float) -> None:
        """Goes from page to page until the time is over."""
        for round_ in itertools.count():
            if time.monotonic() > until:
                break
            if self._number % 10 == 9:
                await self._send_harm(*HARM[round_ % len(HARM)])
            else:
                await self._read(until)
        await self._leave()

    async def train(self, until: float) -> None:
        """Fine-tunes on the sample table; has it go on where it failed."""
        began = time.monotonic()
        asked = "a look at a training"
        await self._open("fine_tune")
        for key in TRAIN:
            press = functools.partial(Session.press, key=key)
            await self._ask("a training begins", press)
        is_done = False
        while not is_done and time.monotonic() < until + TRAINING_SECONDS:
            await self._think()
            answer = await self._ask(asked, lambda s: s.rerun())
            if answer and answer.complaints:
                await self._ask(asked, lambda s: s.press("ft_resume"))
            is_done = bool(self._session and self._session.offers("ft_go_train"))
        self._met.seconds["a training ends"].append(time.monotonic() - began)
        self._met.add("a training ends", "answered" if is_done else "lost")
        await self._leave()

    async def _read(self, until: float) -> None:
        for page in (self._random.choice(PAGES), "masked_word"):
            await self._open(page)
            await self._think()
        for number in range(self._random.randrange(2, 8)):
            text = f"Visitor {self._number} saw {number} [MASK] at {time.time():.2f}."
            bars = [float(self._random.randrange(5, 15))]
            for asked, key, value in (
                ("a new text", "text", text),
                ("a slider", "masked_shown", bars),
            ):
                if time.monotonic() < until:
                    await self._ask(
                        asked, functools.partial(Session.change, key=key, value=value)
                    )
                    await self._think()

    async def _send_harm(self, page: str, box: str, name: str, data: bytes) -> None:
        await self._open(page)
        is_last = page != "models"
        asked = "a harmful file" if is_last else "its way into the box"
        await self._ask(asked, lambda s: s.upload(box, name, data))
        if not is_last:
            await self._ask("a harmful file", lambda s: s.press("add_upload"))
        await self._think()

    async def _open(self, page: str) -> None:
        await self._leave()
        self._page, self._query = page, ""
        began = time.monotonic()
        answer = await self._connect("a page")
        if answer:
            self._met.judge("a page", answer, time.monotonic() - began, False)

    async def _ask(
        self, asked: str, step: Callable[[Session], Awaitable[Answer]]
    ) -> Answer | None:
        """Has the page do something; once more where the connection was lost."""
        began = time.monotonic()
        for is_again in (False, True):
            session = self._session
            if session is None:
                break
            try:
                answer = await step(session)
            except KeyError:  # not offered, as what came before was refused
                return None
            except urllib.error.URLError as error:  # the box says so
                status = getattr(error, "code", "none, as the server hung up")
                self._met.add(asked, "told", f"status {status}")
                return None
            except BROKEN:
                self._query = session.query_string
                await self._leave()
                await self._connect(asked)
            else:
                seconds = time.monotonic() - began
                self._met.judge(asked, answer, seconds, is_again)
                return answer
        else:
            self._met.add(asked, "lost", "the connection broke twice")
        return None

    async def _connect(self, asked: str) -> Answer | None:
        began, why = time.monotonic(), ""
        while time.monotonic() < began + LOST_SECONDS:
            try:
                if not self._cookies:
                    opening = asyncio.to_thread(browser_cookies, self._url)
                    self._cookies = await opening
                self._session, answer = await Session.open(
                    self._url, self._page, self._query, self._cookies
                )
                return answer
            except (urllib.error.HTTPError, InvalidStatus) as error:
                why = str(error)
                if getattr(error, "code", 0) == 503:  # the page of those who wait
                    self._met.add(asked, "told", "wait")
            except BROKEN as error:
                why = type(error).__name__
            await asyncio.sleep(AGAIN_SECONDS)
        self._met.add(asked, "lost", f"no connection: {why}")
        return None

    async def _leave(self) -> None:
        with contextlib.suppress(*BROKEN):
            if self._session is not None:
                await self._session.close()
        self._session = None

    async def _think(self) -> None:
        await asyncio.sleep(THINK_SECONDS * (0.5 + self._random.random()))


def _zip(name: str, data: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, data)
    return target.getvalue()


# Pages, boxes, names and bytes of files that would do harm.
HARM = (
    ("models", "zip_", "bomb.zip", _zip("vocab.txt", bytes(200_000_000))),
    ("models", "zip_", "cut.zip", _zip("config.json", b"{}" * 500)[:-40]),
    ("models", "zip_", "outside.zip", _zip("../../config.json", b"{}")),
    ("models", "zip_", "pickle.zip", _zip("pytorch_model.bin", b"\x80\x04.")),
    ("fine_tune", "ft_table_", "noise.csv", random.Random(0).randbytes(3_000_000)),
    ("fine_tune", "ft_table_", "columns.csv", b"a," * 2_000_000),
    ("fine_tune", "ft_table_", "zeros.csv", bytes(30_000_000)),
)


async def _break_things(site: Site, seconds: float) -> str:
    """Kills, restarts and fills while visitors are there; says when."""
    pause = 0.15 * seconds
    await asyncio.sleep(pause)
    site.kill("reader 1")
    await asyncio.sleep(pause)
    site.kill("reader 2")
    site.kill("trainer")
    await asyncio.sleep(pause)
    await asyncio.to_thread(site.restart, "pages 1")
    await asyncio.sleep(pause)
    until = time.monotonic() + pause
    while site.has_small_disk and time.monotonic() < until:
        await asyncio.to_thread(site.fill_disk)
        await asyncio.sleep(0.5)
    site.free_disk()
    full = "the disk full as long" if site.has_small_disk else "no disk could be filled"
    return (
        f"Every {pause:.0f} s: a reading worker killed; the other and the trainer "
        f"killed; a page server restarted; {full}."
    )


async def _crowd(site: Site, num_visitors: int, seconds: float) -> tuple[Met, str]:
    met = Met()
    visitors = [Visitor(number, site.urls, met) for number in range(num_visitors)]
    until = time.monotonic() + seconds

    async def sample() -> None:
        while True:
            met.memory.append(await asyncio.to_thread(site.weigh))
            await asyncio.sleep(SAMPLE_SECONDS)

    sampling = asyncio.create_task(sample())
    breaking = asyncio.create_task(_break_things(site, seconds))
    await asyncio.gather(
        *(visitor.train(until) for visitor in visitors[:2]),
        *(visitor.visit(until) for visitor in visitors[2:]),
    )
    said = await breaking
    sampling.cancel()
    return met, said


def measure_crowd(num_visitors: int, seconds: float, first_port: int | None) -> None:
    """Prints what visitors met and what the processes weighed meanwhile."""
    others = OtherWork()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Site(Path(folder), 2, 2, first_port) as site,
    ):
        met, faults = asyncio.run(_crowd(site, num_visitors, seconds))
        at_end = site.weigh()
    proxy = "behind nginx" if len(site.urls) == 1 else "no proxy, as nginx is missing"
    notes = [
        f"{seconds:.0f} s, {proxy}; {others.cores():.1f} cores busy with other work.",
        faults,
        *(f"{count} times {what}" for what, count in met.said.most_common(16)),
    ]
    rows = [_row(asked, met) for asked in sorted({asked for asked, _ in met.outcomes})]
    header = ("asked", *OUTCOMES, "50 %", "95 %")
    print(Table(f"{num_visitors} visitors", header, rows, notes).markdown(), flush=True)
    thirds = ("first third", "second third", "last third")
    title = f"Memory with {num_visitors} visitors"
    columns = ("process", *thirds, "most", "when all have left")
    rows = [_weights(name, met.memory, at_end[name]) for name in at_end]
    note = "Of each third of the time the median."
    print(Table(title, columns, rows, [note]).markdown(), flush=True)


def _weights(
    name: str, samples: list[dict[str, float]], at_end: float
) -> tuple[str, ...]:
    length = -(-len(samples) // 3)
    # A process that is away, as it restarts, weighs nothing.
    thirds = (
        statistics.median(one.get(name, 0.0) for one in samples[begin : begin + length])
        for begin in range(0, len(samples), length)
    )
    most = max(one.get(name, 0.0) for one in samples)
    return (name, *(f"{weight:.0f} MB" for weight in (*thirds, most, at_end)))


def _row(asked: str, met: Met) -> tuple[str, ...]:
    seconds = met.seconds[asked] or [0.0]
    slow = statistics.quantiles(seconds * 2, n=20, method="inclusive")[-1]
    counts = (str(met.outcomes[asked, outcome]) for outcome in OUTCOMES)
    return (asked, *counts, f"{statistics.median(seconds):.2f} s", f"{slow:.2f} s")


def measure_workers(first_port: int | None) -> None:
    """Prints how many answers one worker that reads and two of them give."""
    rows = []
    for num_readers in (1, 2):
        others = OtherWork()
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            Site(Path(folder), num_readers, 1, first_port) as site,
        ):
            os.environ.update(site.environment())
            seconds = _asked()
        slow = statistics.quantiles(seconds, n=20)[-1]
        rate = len(seconds) / SCALE_SECONDS
        numbers = (f"{rate:.0f}", f"{slow * 1e3:.0f} ms", f"{others.cores():.1f}")
        rows.append((str(num_readers), *numbers))
    note = f"{SCALE_CALLERS} callers with new texts, {SCALE_SECONDS:.0f} s each."
    header = ("workers that read", "answers a second", "95 %", "others")
    print(Table("More workers", header, rows, [note]).markdown(), flush=True)


def _asked() -> list[float]:
    """Seconds of each answer that callers got, without pages."""
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.engine import connect
    from bertviz_core.explorer import Explorer

    engine = connect()
    predict = engine.ask(Explorer.predict_masks)

    def call(caller: int) -> list[float]:
        seconds: list[float] = []
        until = time.monotonic() + SCALE_SECONDS
        while (began := time.monotonic()) < until:
            text = f"Caller {caller} reads page {len(seconds)} of the [MASK] at home."
            predict(DEFAULT_MODEL, text)
            seconds.append(time.monotonic() - began)
        return seconds

    try:
        predict(DEFAULT_MODEL, "A first [MASK].")
        with ThreadPoolExecutor(SCALE_CALLERS) as pool:
            return list(itertools.chain(*pool.map(call, range(SCALE_CALLERS))))
    finally:
        engine.close()


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stress")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--visitors", type=int, nargs="*", default=[30, 100])
    parser.add_argument("--first-port", type=int, help="of those to listen on")
    asked = parser.parse_args()
    # Whoever ends it, all that it started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before it was done"))
    print(f"{datetime.date.today()}: {describe_machine()}\n")
    for num_visitors in asked.visitors:
        measure_crowd(num_visitors, asked.seconds, asked.first_port)
    measure_workers(asked.first_port)


if __name__ == "__main__":
    main()
