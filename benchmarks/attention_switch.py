"""How long the attention page takes to show another head or layer of a long text.

One visitor, a real WebSocket session, see `session`; a text of 128 tokens in the
bundled model. Time runs from the visitor's message to the last message of the answer;
the browser draws after that, see `data-switch-ms` of the component.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics

from benchmarks.app_server import AppServer
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.session import Answer, Session
from benchmarks.table import Table, met

PAGE = "attention"
TEXT = " ".join(["the cat and the dog"] * 30)  # more than 128 tokens; the rest is cut
NUM_CHANGES = 40
NUM_HEADS, NUM_LAYERS = 8, 6  # of the bundled model
TARGET_SECONDS = 0.100


def measure() -> Table:
    """Shows every head and layer, then forty more of each."""
    with AppServer() as server:
        server.wait_until_it_answers()
        rows = asyncio.run(_rows(server.url))
    return Table(
        "Another head on the attention page, 128 tokens",
        ("change", "times", "median", "slowest", "target", "met", "answer", "others"),
        rows,
        ('"Others" is what other work took meanwhile, in cores.',),
    )


async def _rows(url: str) -> list[tuple[str, ...]]:
    session, _ = await Session.open(url, PAGE)
    _require_good(await session.change("attention_text", TEXT))
    found = []
    for key, count in (("attention_head", NUM_HEADS), ("attention_layer", NUM_LAYERS)):
        name = key.removeprefix("attention_")
        # From 2 on: 1 is shown already.
        values = [str(number + 1) for number in range(1, count)]
        found.append(await _switch(session, f"{name}, first time", key, values))
        again = list(itertools.islice(itertools.cycle(values), NUM_CHANGES))
        found.append(await _switch(session, f"{name}, seen before", key, again))
    await session.close()
    return found


async def _switch(
    session: Session, name: str, key: str, values: list[str]
) -> tuple[str, ...]:
    await asyncio.to_thread(wait_until_quiet)
    others = OtherWork()
    answers = [await session.change(key, value) for value in values]
    for answer in answers:
        _require_good(answer)
    seconds = [answer.seconds for answer in answers]
    median = statistics.median(seconds)
    size = max(answer.num_bytes for answer in answers)
    return (
        name,
        str(len(seconds)),
        f"{median * 1e3:.0f} ms",
        f"{max(seconds) * 1e3:.0f} ms",
        f"median <= {TARGET_SECONDS * 1e3:.0f} ms",
        met(median, TARGET_SECONDS),
        f"{size / 1e6:.2f} MB",
        f"{others.cores():.2f}",
    )


def _require_good(answer: Answer) -> None:
    if answer.complaints or "bidi_component" not in answer.kinds:
        raise RuntimeError(f"The page did not show its pictures: {answer}.")
