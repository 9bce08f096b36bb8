"""What a filter of the attention page costs, for all heads of BERT-base.

Random attention of 512 tokens, the longest text: one set of heads for every layer, so
that memory holds it. Then the small pictures that a browser gets of the filtered heads.
"""

import functools
import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met
from bertviz_core.analysis.shown_attention import AttentionOptions, show_heads
from bertviz_core.figures.attention_held import hold_heads
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.trace import TokenizedText

NUM_LAYERS, NUM_HEADS, NUM_TOKENS = 12, 12, 512
ROUNDS = 3
TARGET_SECONDS = 1.0
FILTERS = {
    "pieces as words": AttentionOptions(merge_words=True),
    "no [CLS] and [SEP]": AttentionOptions(hide_special=True),
    "one text of two": AttentionOptions(from_segment=0, to_segment=1),
    "what is left shared": AttentionOptions(hide_special=True, renormalise=True),
    "smallest weight": AttentionOptions(least_weight=0.05),
    "share of the row": AttentionOptions(mass=0.9),
}


def measure() -> Table:
    """Applies each filter to every layer in turn."""
    rng = np.random.default_rng(0)
    shape = (NUM_HEADS, NUM_TOKENS, NUM_TOKENS)
    scores = rng.normal(scale=2, size=shape)
    powers = np.exp(scores)
    heads = (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)
    read = _text()

    def each_layer(options: AttentionOptions) -> list[np.ndarray]:
        return [show_heads(heads, read, options) for _ in range(NUM_LAYERS)]

    rows = [
        _row(name, functools.partial(each_layer, options))
        for name, options in FILTERS.items()
    ]
    layers = [heads] * NUM_LAYERS
    rows.append(_row("then: small pictures", lambda: _pictures(layers)))
    return Table(
        f"Filters of {NUM_LAYERS * NUM_HEADS} heads, {NUM_TOKENS} tokens",
        ("filter", "measured", "target", "met", "others"),
        rows,
        (
            f"The median of {ROUNDS}, in one process without an engine. "
            '"Others" is what other work took meanwhile, in cores.',
        ),
    )


def _text() -> TokenizedText:
    """A pair of texts whose words have two pieces each."""
    half = NUM_TOKENS // 2
    words = np.arange(NUM_TOKENS) // 2
    signs = np.isin(np.arange(NUM_TOKENS), (0, half - 1, NUM_TOKENS - 1))
    tokens = np.where(signs, "[SEP]", np.where(words % 2, "##ing", "go")).tolist()
    return TokenizedText(
        text="",
        pair="",
        tokens=("[CLS]", *tokens[1:]),
        input_ids=np.where(signs, 2, 5),
        token_type_ids=(np.arange(NUM_TOKENS) >= half).astype(int),
        offsets=np.zeros((NUM_TOKENS, 2), int),
        word_ids=np.where(signs, -1, words),
        unk_token_id=0,
        mask_token_id=1,
        num_tokens_uncut=NUM_TOKENS,
    )


def _pictures(layers: list[np.ndarray]) -> None:
    for layer in layers:
        grid_thumbnails(layer[None])
    hold_heads(layers)


def _row(name: str, work: Callable[[], object]) -> tuple[str, ...]:
    work()
    wait_until_quiet()
    others, seconds = OtherWork(), []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds)
    return (
        name,
        f"{median:.2f} s",
        f"{TARGET_SECONDS:.0f} s",
        met(median, TARGET_SECONDS),
        f"{others.cores():.2f}",
    )
