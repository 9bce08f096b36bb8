"""The attention component on an empty page, and a test that answers it.

As the page of the app answers, but without Streamlit: an opening costs a tenth. That
the app's page says and hears the same is what `test_attention.py` looks at.
"""

from __future__ import annotations

import base64
import functools
import time

import numpy as np

from bertviz_core.figures.attention_held import hold_heads
from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import (
    AttentionView,
    HeadMap,
    Measure,
    token_kinds,
)
from bertviz_core.figures.component_files import component_script, component_style
from tests.locale_words import component_words

# Of the drawings, in CSS pixels; see GRID_LABEL, HEAT and LINES in the scripts.
GRID_LABEL, HEAT_LEFT, HEAT_TOP, LINES_ROW = 30, 92, 84, 22
TEXTS = {
    "pair": (
        *("[CLS]", "the", "cat", "##s", "drink", "[MASK]", "[SEP]"),
        *("they", "are", "<b>", "happy", "[SEP]"),
    ),
    "chinese": ("[CLS]", *"猫喝了一杯", "[MASK]", *"今天天气很好。", "[SEP]"),
    "words": ("[CLS]", "今天", "天气", "好", "[SEP]"),
    "one": ("word",),
    "middle": ("[CLS]", *(f"word{index}" for index in range(126)), "[SEP]"),
    "long": ("[CLS]", *(f"word{index}" for index in range(510)), "[SEP]"),
}
LENGTHS = Measure("lengths of layer {layer}", "length", ("a filter",), 8.0, True, False)
THEME = ":host { --st-primary-color: #1A64A4 } "
# In a shadow tree, as in the app, whose buttons name the component by its key.
BEGIN = """([style]) => {
  const part = document.body.appendChild(document.createElement('div'))
  part.className = 'st-key-canvas'
  const host = part.appendChild(document.createElement('div'))
  const root = host.attachShadow({ mode: 'open' })
  root.innerHTML = `<style>${style}</style><div class="attention-host"></div>`
  window.show = (text) => showAttention(
    root,
    Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)),
    async (said) => {
      const answer = await tell(said)
      if (answer) show(answer)
    },
    () => {})
}"""
SAVE = """([kind, file]) => dispatchEvent(
  new CustomEvent('bert-explorer-save', { detail: { key: 'canvas', kind, file } }))"""
# What is written on each canvas, with the angle of its letters in degrees.
RECORD_TEXTS = """() => {
  window.written = []
  const write = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, b } = this.getTransform()
    const angle = Math.round((Math.atan2(b, a) * 180) / Math.PI)
    window.written.push([this.canvas.className, text, angle, x, y])
    write.call(this, text, x, y)
  }
}"""


@functools.lru_cache(maxsize=3)
def random_probs(num_tokens, num_layers=12, num_heads=12):
    """Random weights `[L, N, T, T]` whose rows sum to one."""
    shape = (num_layers, num_heads, num_tokens, num_tokens)
    scores = np.random.default_rng(7).standard_normal(shape, np.float32) * 2
    # Every head looks somewhere: a diagonal, more to the right from head to head.
    for head in range(num_heads):
        scores[:, head] += 4 * np.eye(num_tokens, k=head - 3)
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


def weights_of(layer, head, num_tokens=12):
    """Of a head, `[T, T]`; counted from 1."""
    return random_probs(num_tokens)[layer - 1, head - 1]


class Alone:
    """The component, what it has said, and the answers that it gets.

    Args:
        page: an empty one.
        text: one of `TEXTS`.
        shape: layers and heads.
        language: of the words.
        is_difference: to the same heads in the opposite order.
        is_length: whether numbers put together of many heads are shown.
        values: `[L, N]` of a map, in place of all that.
        told: what the browser is taken to have said before.
    """

    def __init__(
        self,
        page,
        text="pair",
        shape=(12, 12),
        language="en",
        is_difference=False,
        is_length=False,
        values=None,
        told=None,
    ):
        self.page, self.language, self.values = page, language, values
        self.text, self.is_length, self.is_difference = text, is_length, is_difference
        probs = random_probs(len(TEXTS[text]), *shape)
        self.probs = probs - probs[::-1, ::-1] if is_difference else probs
        self.thumbnails = grid_thumbnails(self.probs, 32, is_difference)
        self.held = None if is_difference else hold_heads(probs)
        self.said, self.messages, self.kept = told or {}, [], None
        page.add_script_tag(content=component_script("attention"))
        page.expose_function("tell", self._hear)
        page.evaluate(BEGIN, [THEME + component_style("attention")])
        self.view = page.locator(".attention")
        self.answer()
        self.view.wait_for()

    def _hear(self, said):
        self.said = said
        self.messages.append(said)
        if self.kept is None:
            return self.payload()
        self.kept.append(self.payload())
        return None

    def payload(self, **more):
        """The bytes that answer what was said last, or this."""
        said, words = self.said | more, component_words(self.language)
        layer, head = said.get("layer", 0), said.get("head", 0)
        turn = said.get("turn", 0)
        if self.values is not None:
            words["map_title"] = "One number for each head"
            answer = map_payload(HeadMap(self.values, words, layer, head), turn)
            return base64.b64encode(answer).decode()
        tokens = TEXTS[self.text]
        is_length = self.is_length and not said.get("chosenAt")
        view = AttentionView(
            tokens,
            token_kinds(tokens),
            np.arange(len(tokens)) // (7 if self.text == "pair" else len(tokens)),
            self.thumbnails,
            self.probs[layer, head] * (8 if is_length else 1),
            words,
            layer,
            head,
            None if is_length else strongest_links(self.probs[layer]),
            said.get("from"),
            said.get("to"),
            is_difference=self.is_difference,
            scale=said.get("scale", "linear"),
            threshold=said.get("threshold", 0.05),
            is_lying=said.get("lying", self.text in ("chinese", "words")),
            heads=tuple(said.get("heads", ())),
            measure=LENGTHS if is_length else None,
            held=self.held,
            groups=np.cumsum([not token.startswith("##") for token in tokens]),
            text_key=self.text,
        )
        answer = view_payload(view, turn, holds=said.get("holds"))
        return base64.b64encode(answer).decode()

    def answer(self, **chosen):
        """Shows it, perhaps with what the page of the app has chosen itself."""
        self.said |= {**chosen, "turn": 0} if chosen else {}
        self.page.evaluate("bytes => show(bytes)", self.payload())

    def hold(self):
        """Keeps answers back."""
        self.kept = []

    def let_through(self):
        kept, self.kept = self.kept, None
        for answer in kept:
            self.page.evaluate("bytes => show(bytes)", answer)

    def hears(self, *values, **expected):
        """Waits until the component has said this; `values` are layer and head."""
        expected |= dict(zip(("layer", "head"), values, strict=False))
        # "from" is a word of Python.
        expected = {name.rstrip("_"): value for name, value in expected.items()}
        deadline = time.monotonic() + 60
        while (found := {key: self.said.get(key) for key in expected}) != expected:
            assert time.monotonic() < deadline, (found, expected)
            self.page.wait_for_timeout(20)

    def save(self, kind, file="saved.svg"):
        """What the browser saves when a button below says so: its name and path."""
        with self.page.expect_download() as download:
            self.ask_to_save(kind, file)
        return download.value.suggested_filename, download.value.path()

    def ask_to_save(self, kind, file="saved.svg"):
        self.page.evaluate(SAVE, [kind, file])

    def canvas(self, name):
        return self.view.locator(f"canvas.{name}")

    def drawing(self, name="heat"):
        return self.canvas(name).evaluate("canvas => canvas.toDataURL()")

    @property
    def status(self):
        return self.view.locator(".status")

    def title(self, text):
        return self.view.locator("h2", has_text=text)

    def click_head(self, layer, head):
        click_head(self.view, layer, head, self.thumbnails.shape[1])

    def cell(self, row, column):
        return cell_position(self.view, row, column, len(TEXTS[self.text]))


def click_head(view, layer, head, num_heads):
    grid = view.locator("canvas.grid")
    cell = (grid.bounding_box()["width"] - GRID_LABEL - 2) / num_heads
    at = {"x": GRID_LABEL + (head - 0.5) * cell, "y": GRID_LABEL + (layer - 0.5) * cell}
    grid.click(position=at)


def cell_position(view, row, column, num_tokens):
    width = view.locator("canvas.heat").bounding_box()["width"]
    cell = (width - HEAT_LEFT - 2) / num_tokens
    return {"x": HEAT_LEFT + (column + 0.5) * cell, "y": HEAT_TOP + (row + 0.5) * cell}
