"""What the picture of the whole model costs: bytes, seconds, frames.

The bundled model with 16 pieces, and a model of BERT-base's shape with random weights
and 64. The first question is asked twice; the second time counts, as parts of the model
compile in the first. In Chromium: from the arrival of the bytes to the first frame that
shows them, by the component's own clock, and the frames a second while the pointer
crosses the picture.
"""

import base64
import json
import statistics
import time
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from benchmarks.browser import launch
from benchmarks.random_model import random_model
from benchmarks.table import Table, met
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.checkpoints.library import open_model
from bertviz_core.config import BertConfig
from bertviz_core.experiments.whole_model import whole_model
from bertviz_core.explorer import Explorer
from bertviz_core.figures.component_files import component_script, component_style
from bertviz_core.figures.whole_model import whole_model_payload

TARGET_BYTES = {16: 150_000, 64: 1_500_000}
TARGET_DRAWN, TARGET_MOVE = 0.1, 1 / 60  # seconds
NUM_ARRIVALS, NUM_MOVES = 5, 120
_WORDS = Path(__file__).parents[1] / "assets" / "locales" / "en" / "whole_model.json"
_ARRIVE = """async (text) => {
  const host = document.createElement('div')
  document.body.replaceChildren(host)
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const end = showWhole(host, bytes, () => {})
  const frame = () => new Promise((done) => requestAnimationFrame(done))
  while (!host.firstChild.dataset.arrivalMs) await frame()
  const found = Number(host.firstChild.dataset.arrivalMs)
  window.ended = end
  return found
}"""
# How long a move of the pointer keeps the page busy, in milliseconds.
_HOVER = """(count) => {
  const paper = document.querySelector('.paper')
  const box = paper.getBoundingClientRect()
  const began = performance.now()
  for (let move = 0; move < count; move++) {
    const place = { clientX: box.left + (box.width * move) / count,
      clientY: box.top + 60 + ((box.height - 120) * ((7 * move) % count)) / count }
    paper.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, ...place }))
    void paper.getBoundingClientRect()
  }
  return (performance.now() - began) / count
}"""


def measure() -> Table:
    """Measures both."""
    base = BertConfig(vocab_size=30522)
    return Table(
        "The picture of the whole model",
        (
            *("model", "pieces", "bytes", "target", "met", "question"),
            *("drawn", "target", "met", "a move", "target", "met"),
        ),
        [
            _row(DEFAULT_MODEL, Explorer(open_model(DEFAULT_MODEL)), 16, "the "),
            _row("BERT-base's shape", Explorer(random_model(base)), 64, "w7 "),
        ],
        (
            "A move is all that follows one movement of the pointer, layout included; "
            "60 frames a second leave it 0.0167 s.",
        ),
    )


def _row(name: str, explorer: Explorer, num_tokens: int, word: str) -> tuple[str, ...]:
    trace = explorer.trace(word * (num_tokens - 3) + "[MASK]")
    for _ in range(2):
        began = time.perf_counter()
        picture = whole_model(explorer, trace)
        seconds = time.perf_counter() - began
    words = json.loads(_WORDS.read_text("utf-8"))
    said = {"id": "benchmark", "text": "", "file": "", "words": words}
    payload = whole_model_payload(picture, **said)
    target = TARGET_BYTES[num_tokens]
    return (
        *(name, str(trace.tokenized.num_tokens), f"{len(payload):,}", f"{target:,}"),
        *(met(len(payload), target), f"{seconds:.2f} s"),
        *_in_browser(payload),
    )


def _in_browser(payload: bytes) -> tuple[str, ...]:
    """How long until it is drawn, and a move takes; what is wrong without a browser."""
    text = base64.b64encode(payload).decode("ascii")
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            page = browser.new_page(viewport={"width": 1366, "height": 768})
            page.set_content("<!doctype html><body></body>")
            page.add_style_tag(content=component_style("whole_model"))
            page.add_script_tag(content=component_script("whole_model"))
            arrivals = [page.evaluate(_ARRIVE, text) for _ in range(NUM_ARRIVALS)]
            move = page.evaluate(_HOVER, NUM_MOVES) / 1000
            browser.close()
    except PlaywrightError as error:
        return "not run", "", str(error).splitlines()[0], "", "", ""
    drawn = statistics.median(arrivals) / 1000
    return (
        *(f"{drawn:.3f} s", f"{TARGET_DRAWN:.1f} s", met(drawn, TARGET_DRAWN)),
        *(f"{move:.4f} s", f"{TARGET_MOVE:.4f} s", met(move, TARGET_MOVE)),
    )
