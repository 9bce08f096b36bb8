"""How long the layers page takes to show the next step.

One visitor; the bundled model, and BERT-base with random weights, a folder opened by
its address. First a WebSocket session, see `session`: time runs from the visitor's
message to the last message of the answer. The walk goes through every step: the first
time each layer's numbers are fetched, the second time they are kept. Then Chromium,
where it is installed: from a key until a frame shows the step's
picture, and until one shows all that the page says of it.
"""

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

from benchmarks.app_server import AppServer
from benchmarks.browser import launch
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.session import Answer, Session
from benchmarks.table import Table, met
from bertviz_core.checkpoints.default import DEFAULT_MODEL

PAGE = "layers"
FIRST_STEP = "word_embeddings"
NUM_TOKENS = 128  # of the longer texts, [CLS] and [SEP] included
NUM_KEYS = 40
_SHOWN = ("a key, until the picture", "a key, until all of it")
TARGET_SECONDS = 0.100
ANSWER_MILLISECONDS = 120_000

# Told of the next step: when a frame has shown its picture, and when one has shown the
# last change of the page, title, words, formula and code. Then nothing has changed for
# a quarter of a second.
_WATCH = """() => {
  const sheet = [...document.querySelectorAll('*')]
    .map((one) => one.shadowRoot?.querySelector('.sheet')).find(Boolean)
  const title = () => document.querySelector('h3')?.textContent
  const before = { title: title(), step: sheet.dataset.step }
  let began = 0, picture = 0, page = 0
  addEventListener('keydown', () => { began = performance.now() },
    { capture: true, once: true })
  const whenShown = (take) =>
    requestAnimationFrame(() => setTimeout(() => take(performance.now())))
  const onPicture = new MutationObserver(() => {
    if (sheet.dataset.step !== before.step) whenShown((now) => { picture = now })
  })
  onPicture.observe(sheet, { subtree: true, childList: true, attributes: true })
  const onPage = new MutationObserver(() => {
    if (title() !== before.title) whenShown((now) => { page = now })
  })
  onPage.observe(document.querySelector('[data-testid=stMain]'),
    { subtree: true, childList: true, characterData: true })
  window.stepDrawn = new Promise((resolve, reject) => {
    const look = setInterval(() => {
      const now = performance.now()
      const isOver = began && now - began > 60_000
      const isStill = picture && page && now - Math.max(picture, page) > 250
      if (!isOver && !isStill) return
      clearInterval(look)
      onPicture.disconnect()
      onPage.disconnect()
      if (isStill) resolve([picture - began, page - began])
      else reject(new Error('The step was not drawn.'))
    }, 20)
  })
}"""


@dataclass(frozen=True)
class _Walk:
    """A text in a model, and the names of its steps, first to last."""

    name: str
    model: str
    text: str
    steps: tuple[str, ...]

    def query(self) -> str:
        return urlencode({"model": self.model, "text": self.text})


def measure() -> Table:
    """Walks on to the last step, back to the first one, and on again."""
    notes = ['"Others" is what other work took meanwhile, in cores.']
    with tempfile.TemporaryDirectory() as scratch:
        walks = _walks(Path(scratch) / "base")
        with AppServer() as server:
            server.wait_until_it_answers()
            rows = asyncio.run(_rows(server.url, walks))
            try:
                rows += _drawn(server.url, walks[1:])
            except PlaywrightError as error:
                notes.append(f"Keys are left out: {error.message}")
    return Table(
        "Another step on the layers page",
        (
            *("text", "change", "times", "median", "95 %", "slowest", "target"),
            *("met", "answer", "others"),
        ),
        rows,
        notes,
    )


def _walks(folder: Path) -> list[_Walk]:
    from benchmarks.random_model import random_model
    from bertviz_core.checkpoints.export import save_model
    from bertviz_core.config import BertConfig
    from bertviz_core.model.bert import PRETRAINING_HEADS

    config = BertConfig(vocab_size=30_522)
    save_model(random_model(config, PRETRAINING_HEADS), folder)
    sentence = "The cat sat on the [MASK] because it was tired."
    words = ["the", "cat", "and", "the", "dog"]
    made_up = [f"w{index}" for index in range(NUM_TOKENS)]
    length = f"{NUM_TOKENS} tokens"
    return [
        _walk_of("a sentence", DEFAULT_MODEL, sentence),
        _walk_of(length, DEFAULT_MODEL, _long(words)),
        _walk_of(f"BERT-base, {length}", str(folder), _long(made_up)),
    ]


def _long(words: Sequence[str]) -> str:
    """As many words as leave room for [CLS] and [SEP]."""
    return " ".join(itertools.islice(itertools.cycle(words), NUM_TOKENS - 2))


def _walk_of(name: str, model: str, text: str) -> _Walk:
    """Asks the model itself, which does not outlive this."""
    from bertviz_core.experiments.token_numbers import steps_for_one_token
    from bertviz_core.explorer import Explorer

    explorer = Explorer.open(model)
    trace = explorer.trace(text)
    count = trace.tokenized.num_tokens
    if "tokens" in name and count != NUM_TOKENS:
        raise RuntimeError(f"{name} was meant to be {NUM_TOKENS}. Received: {count}.")
    steps = steps_for_one_token(explorer, trace)
    return _Walk(name, model, text, tuple(step.name for step in steps))


async def _rows(url: str, walks: Sequence[_Walk]) -> list[tuple[str, ...]]:
    found = []
    for walk in walks:
        session, first = await Session.open(url, PAGE, walk.query())
        _require_good(first)
        on, back = walk.steps[1:], walk.steps[-2::-1]
        found.append(await _all_steps(session, walk.name, "step, first time", on))
        found.append(await _all_steps(session, walk.name, "step, seen before", back))
        await session.close()
    return found


async def _all_steps(
    session: Session, name: str, change: str, steps: Sequence[str]
) -> tuple[str, ...]:
    await asyncio.to_thread(wait_until_quiet)
    others = OtherWork()
    answers = []
    for turn, step in enumerate(steps, start=1):
        choice = {"step": step, "turn": turn}
        answers.append(await session.trigger("layers_strip", "choice", choice))
        _require_good(answers[-1])
    # The page leaves its first step out of the address.
    (reached,) = parse_qs(session.query_string).get("layers_step", [FIRST_STEP])
    if reached != steps[-1]:
        raise RuntimeError(f"The walk should end at {steps[-1]}. Received: {reached}.")
    size = max(answer.num_bytes for answer in answers)
    seconds = [answer.seconds for answer in answers]
    told = f"{size / 1e6:.2f} MB"
    return _row(name, change, seconds, told, others.cores())


def _drawn(url: str, walks: Sequence[_Walk]) -> list[tuple[str, ...]]:
    """Walks by the keyboard, where the mouse touches no figure."""
    rows = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for walk in walks:
            page = browser.new_page()
            page.goto(f"{url}/{PAGE}?{walk.query()}")
            picture = page.locator(".step-picture svg")
            picture.wait_for(timeout=ANSWER_MILLISECONDS)
            wait_until_quiet()
            others = OtherWork()
            shown = [_press(page) for _ in range(NUM_KEYS)]
            busy = others.cores()
            page.close()
            for what, seconds in zip(_SHOWN, zip(*shown, strict=True), strict=True):
                rows.append(_row(walk.name, what, seconds, "", busy))
        browser.close()
    return rows


def _press(page: Page) -> tuple[float, float]:
    page.evaluate(_WATCH)
    page.keyboard.press("ArrowRight")
    picture, whole = page.evaluate("() => window.stepDrawn")
    return picture / 1e3, whole / 1e3


def _row(
    text: str, change: str, answers: Sequence[float], size: str, other_cores: float
) -> tuple[str, ...]:
    seconds = sorted(answers)
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
        size,
        f"{other_cores:.2f}",
    )


def _require_good(answer: Answer) -> None:
    if answer.complaints or answer.kinds.count("bidi_component") != 2:
        raise RuntimeError(f"The page did not show its numbers: {answer}.")
