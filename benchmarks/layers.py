"""How long the layers page takes to show the next step.

One visitor, a real WebSocket session, see `session`; the bundled model. Time runs from
the visitor's message to the last message of the answer. The walk goes through every
step: the first time each layer's numbers are fetched, the second time they are kept.
"""

from __future__ import annotations

import asyncio
import statistics

from benchmarks.app_server import AppServer
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.session import Answer, Session
from benchmarks.table import Table, met

PAGE = "layers"
TEXTS = {
    "a sentence": "The cat sat on the [MASK] because it was tired.",
    # More than 128 tokens; the rest is cut.
    "128 tokens": " ".join(["the cat and the dog"] * 30),
}
# 5 on the way in, 15 in each of 6 layers, 5 of the masked-word head.
NUM_STEPS = 100
TARGET_SECONDS = 0.100


def measure() -> Table:
    """Walks on to the last step, back to the first one, and on again."""
    with AppServer() as server:
        server.wait_until_it_answers()
        rows = asyncio.run(_rows(server.url))
    return Table(
        "Another step on the layers page",
        (
            *("text", "change", "times", "median", "95 %", "slowest", "target"),
            *("met", "answer", "others"),
        ),
        rows,
        ('"Others" is what other work took meanwhile, in cores.',),
    )


async def _rows(url: str) -> list[tuple[str, ...]]:
    session, _ = await Session.open(url, PAGE)
    found = []
    for name, text in TEXTS.items():
        _require_good(await session.change("layers_text", text))
        found.append(await _walk(session, name, "step, first time", "next"))
        found.append(await _walk(session, name, "step, seen before", "previous"))
    await session.close()
    return found


async def _walk(session: Session, text: str, change: str, way: str) -> tuple[str, ...]:
    await asyncio.to_thread(wait_until_quiet)
    others = OtherWork()
    answers = [await session.press(f"layers_{way}") for _ in range(NUM_STEPS - 1)]
    for answer in answers:
        _require_good(answer)
    seconds = sorted(answer.seconds for answer in answers)
    median = statistics.median(seconds)
    return (
        text,
        change,
        str(len(seconds)),
        f"{median * 1e3:.0f} ms",
        f"{seconds[int(0.95 * len(seconds))] * 1e3:.0f} ms",
        f"{seconds[-1] * 1e3:.0f} ms",
        f"median <= {TARGET_SECONDS * 1e3:.0f} ms",
        met(median, TARGET_SECONDS),
        f"{max(answer.num_bytes for answer in answers) / 1e6:.2f} MB",
        f"{others.cores():.2f}",
    )


def _require_good(answer: Answer) -> None:
    if answer.complaints or "plotly_chart" not in answer.kinds:
        raise RuntimeError(f"The page did not show its numbers: {answer}.")
