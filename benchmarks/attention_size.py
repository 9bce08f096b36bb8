"""How much a browser is sent to show attention: our view and BertViz's head view.

BERT-base's shape, 12 layers of 12 heads, with random attention whose rows sum to one.
BertViz puts all of it as decimal numbers into the page; we send a head exactly and all
heads near enough to be drawn, and ask again when a visitor chooses another head.

In Chromium, where it is installed: the time from the arrival of our bytes to the first
frame that shows them, by the component's own clock: reading, keeping and drawing.
"""

import base64
import importlib
import importlib.util
import json
import statistics
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from benchmarks.browser import launch
from benchmarks.table import Table, met
from bertviz_core.figures.attention_held import hold_heads
from bertviz_core.figures.attention_payload import view_payload
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import AttentionView, token_kinds
from bertviz_core.figures.component_files import component_script, component_style

NUM_LAYERS, NUM_HEADS = 12, 12
TARGET_BYTES = {16: None, 128: 500_000, 512: 4_000_000}
# BertViz at 512 tokens would be a page of 0.9 GB: nothing learnt for the memory.
MOST_PEER_TOKENS = 128
TARGET_FRAME_SECONDS = 0.3
NUM_ARRIVALS = 5
# A place as wide as a page's, with the view's bytes; what it gives is in milliseconds.
_ARRIVE = """async (text) => {
  const host = document.createElement('div')
  document.body.replaceChildren(host)
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const end = showAttention(host, bytes, () => {})
  const frame = () => new Promise((done) => requestAnimationFrame(done))
  while (!host.firstChild.dataset.arrivalMs) await frame()
  const found = Number(host.firstChild.dataset.arrivalMs)
  end()
  return found
}"""
_WORDS = Path(__file__).parents[1] / "assets" / "locales" / "en" / "attention_view.json"


def measure() -> Table:
    """Measures texts of 16, 128 and 512 tokens."""
    has_peer = importlib.util.find_spec("bertviz") is not None
    if has_peer:
        importlib.import_module("bertviz")  # torch comes along; not part of its time
    peer = "BertViz" if has_peer else "BertViz, computed"
    return Table(
        "What a browser is sent to show attention",
        (
            *("tokens", "ours", "target", "met", "another head", "our seconds"),
            *("first frame", "its target", "met"),
            *(peer, "its seconds", "ratio"),
        ),
        [_row(num_tokens, has_peer) for num_tokens in TARGET_BYTES],
        (
            "Ours is the payload, script and style together. Another head is the "
            "payload for a browser that holds the others; Streamlit sends script and "
            "style along with it again.",
            "BertViz is the HTML of its head view of all layers, for one text. It has "
            "the weights twice: its script names the place for them in a comment, too."
            if has_peer
            else "BertViz is not installed: its numbers are the length of all weights "
            "as JSON, the bulk of its page, and the time that takes.",
        ),
    )


def random_attention(num_tokens: int) -> np.ndarray:
    """Attention of random scores, float32 `[L, N, T, T]`, rows sum to 1."""
    shape = (NUM_LAYERS, NUM_HEADS, num_tokens, num_tokens)
    scores = np.random.default_rng(0).standard_normal(shape, np.float32)
    exponents = np.exp(scores)
    return exponents / exponents.sum(-1, keepdims=True)


def _row(num_tokens: int, has_peer: bool) -> tuple[str, ...]:
    probs = random_attention(num_tokens)
    tokens = tuple(f"token{index}" for index in range(num_tokens))
    began = time.perf_counter()
    view = _our_view(tokens, probs)
    payload = len(view_payload(view))
    seconds = time.perf_counter() - began
    total = payload + len(
        (component_script("attention") + component_style("attention")).encode()
    )
    target = TARGET_BYTES[num_tokens]
    key = view.held.key if view.held is not None else None
    ours = (
        str(num_tokens),
        _megabytes(total),
        "" if target is None else _megabytes(target),
        "" if target is None else met(total, target),
        _megabytes(len(view_payload(view, holds=key))),
        f"{seconds:.2f} s",
        *_first_frame(view),
    )
    if num_tokens > MOST_PEER_TOKENS:
        return (*ours, "not run", "", "")
    began = time.perf_counter()
    theirs = _peer_bytes(tokens, probs) if has_peer else _json_bytes(probs)
    seconds = time.perf_counter() - began
    return (*ours, _megabytes(theirs), f"{seconds:.2f} s", f"1 : {theirs / total:.0f}")


def _first_frame(view: AttentionView) -> tuple[str, str, str]:
    """Median of a few arrivals of the same bytes, in one page of a browser."""
    payload = base64.b64encode(view_payload(view)).decode("ascii")
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            page = browser.new_page()
            page.set_content("<!doctype html><body></body>")
            page.add_style_tag(content=component_style("attention"))
            page.add_script_tag(content=component_script("attention"))
            times = [page.evaluate(_ARRIVE, payload) for _ in range(NUM_ARRIVALS)]
            browser.close()
    except PlaywrightError as error:
        return "not run", "", str(error).splitlines()[0]
    seconds = statistics.median(times) / 1e3
    target = f"<= {TARGET_FRAME_SECONDS:.1f} s"
    return f"{seconds:.3f} s", target, met(seconds, TARGET_FRAME_SECONDS)


def _our_view(tokens: tuple[str, ...], probs: np.ndarray) -> AttentionView:
    return AttentionView(
        tokens,
        token_kinds(tokens),
        np.zeros(len(tokens), int),
        grid_thumbnails(probs),
        probs[0, 0],
        json.loads(_WORDS.read_text(encoding="utf-8")),
        links=strongest_links(probs[0]),
        held=hold_heads(list(probs)),
    )


def _peer_bytes(tokens: tuple[str, ...], probs: np.ndarray) -> int:
    import torch
    from bertviz import head_view

    attention = [torch.from_numpy(layer[None]) for layer in probs]
    page = head_view(attention, list(tokens), html_action="return")
    return len(page.data.encode())


def _json_bytes(probs: np.ndarray) -> int:
    return len(json.dumps(probs.tolist()))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.2f} MB"
