"""How long a rerun of the masked-word page takes, for one visitor and for thirty.

Visitors are real WebSocket sessions from this process, see `session`. Four kinds of
change: another number of bars or another temperature (a small fragment is drawn again),
a text that was there before (all that the page says of its text is, from what is kept),
a new text (the network runs). Time runs from the visitor's message to the last message
of the answer; a browser draws after that.
"""

import asyncio
import itertools
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.app_server import AppServer
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.session import Answer, Session
from benchmarks.table import Table, met

PAGE = "masked_word"
NUM_VISITORS = 30
CHANGES_ALONE = 40
CHANGES_EACH = 12
THINK_SECONDS = 1.0
TARGET_ALONE_SECONDS = 0.050  # median, nothing to compute
TARGET_CROWD_SECONDS = 0.500  # 95th percentile

# What a change sets: the key of a widget and a stream of new values.
Change = tuple[str, Callable[[int], Iterator[Any]]]


def _bars(visitor: int) -> Iterator[Any]:
    for count in itertools.cycle(range(5, 15)):
        yield [float(count)]


def _temperatures(visitor: int) -> Iterator[Any]:
    for tenths in itertools.cycle(range(5, 25)):
        yield [tenths / 10]


def _known_texts(visitor: int) -> Iterator[Any]:
    return itertools.cycle(("Paris is a big [MASK].", "She drank the [MASK]."))


def _texts(visitor: int) -> Iterator[Any]:
    for number in itertools.count(1):
        yield f"Visitor {visitor} saw {number} [MASK] in the garden of the old house."


CHANGES: dict[str, Change] = {
    "number of bars": ("masked_shown", _bars),
    "temperature": ("masked_temperature", _temperatures),
    "known text": ("text", _known_texts),
    "new text": ("text", _texts),
}
NEEDS_NETWORK = ("new text",)


@dataclass(frozen=True)
class Load:
    """What a number of visitors met."""

    num_visitors: int  # at the same time
    change: str  # one of `CHANGES`
    seconds: tuple[float, ...]  # of each rerun, sorted
    server_cpu_seconds: float  # of the Streamlit process, for each rerun
    driver_cores: float  # busy with these visitors, on the same machine
    other_cores: float  # busy with other work

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[
            percent - 1
        ]


def measure() -> Table:
    """Runs every kind of change, alone and in a crowd, on one fresh server."""
    with AppServer() as server:
        server.wait_until_it_answers()
        found = asyncio.run(_measure_all(server))
    return Table(
        "Rerun of the masked-word page",
        (
            *("visitors", "change", "reruns", "median", "95 %", "target", "met"),
            *("CPU each", "others"),
        ),
        [_row(load) for load in found],
        (
            f"Visitors in a crowd think for {THINK_SECONDS:.0f} s between changes, "
            "on average; one alone does not think.",
            '"CPU each" is processor time of the Streamlit process for one rerun. '
            '"Others" is what other work took meanwhile, in cores; the visitors '
            f"themselves took up to {max(load.driver_cores for load in found):.2f}.",
        ),
    )


async def _measure_all(server: AppServer) -> list[Load]:
    found = []
    for num_visitors, num_changes in ((1, CHANGES_ALONE), (NUM_VISITORS, CHANGES_EACH)):
        opened = [await _opened(server.url) for _ in range(num_visitors)]
        for change in CHANGES:
            found.append(await _apply(server, opened, change, num_changes))
        await asyncio.gather(*(session.close() for session in opened))
    return found


async def _opened(url: str) -> Session:
    session, answer = await Session.open(url, PAGE)
    _require_good(answer)
    return session


async def _apply(
    server: AppServer, visitors: list[Session], change: str, num_changes: int
) -> Load:
    thinks = THINK_SECONDS if len(visitors) > 1 else 0.0
    await asyncio.to_thread(wait_until_quiet)
    others = OtherWork()
    began = asyncio.get_running_loop().time()
    server_before, driver_before = _cpu(server.processes()[0]), _cpu(psutil.Process())
    every = await asyncio.gather(
        *(
            _visit(session, index, change, num_changes, thinks)
            for index, session in enumerate(visitors)
        )
    )
    elapsed = asyncio.get_running_loop().time() - began
    seconds = sorted(itertools.chain.from_iterable(every))
    return Load(
        len(visitors),
        change,
        tuple(seconds),
        (_cpu(server.processes()[0]) - server_before) / len(seconds),
        (_cpu(psutil.Process()) - driver_before) / elapsed,
        others.cores(),
    )


async def _visit(
    session: Session, index: int, change: str, num_changes: int, thinks: float
) -> list[float]:
    """One visitor's changes; gives the seconds of each but the first."""
    key, values = CHANGES[change]
    rng = random.Random(index)
    seconds = []
    for value in itertools.islice(values(index), num_changes + 1):
        # Between half and one and a half: visitors do not click in step.
        await asyncio.sleep(thinks * (0.5 + rng.random()))
        answer = await session.change(key, value)
        _require_good(answer)
        seconds.append(answer.seconds)
    return seconds[1:]


def _require_good(answer: Answer) -> None:
    if answer.complaints or "plotly_chart" not in answer.kinds:
        raise RuntimeError(f"The page did not show its figures: {answer}.")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _row(load: Load) -> tuple[str, ...]:
    median, slow = load.percentile(50), load.percentile(95)
    target, verdict = "", ""
    if load.num_visitors > 1:
        target = f"95 % <= {TARGET_CROWD_SECONDS * 1e3:.0f} ms"
        verdict = met(slow, TARGET_CROWD_SECONDS)
    elif load.change not in NEEDS_NETWORK:
        target = f"median <= {TARGET_ALONE_SECONDS * 1e3:.0f} ms"
        verdict = met(median, TARGET_ALONE_SECONDS)
    return (
        str(load.num_visitors),
        load.change,
        str(len(load.seconds)),
        f"{median * 1e3:.0f} ms",
        f"{slow * 1e3:.0f} ms",
        target,
        verdict,
        f"{load.server_cpu_seconds * 1e3:.0f} ms",
        f"{load.other_cores:.2f}",
    )
