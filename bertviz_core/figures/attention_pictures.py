"""The small pictures of all heads of a trace, or of the difference of two."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.shown_attention import (
    AttentionOptions,
    show_attention,
    show_heads,
)
from bertviz_core.figures.attention_held import HeldHeads, hold_heads
from bertviz_core.figures.attention_thumbnails import (
    StrongestLinks,
    grid_thumbnails,
    strongest_links,
)
from bertviz_core.tasks import task
from bertviz_core.trace import TokenizedText, Trace

# T, words of one's own to merge; `None` for the tokenizer's.
WordIds = tuple[int, ...] | None


@task()
def all_heads(
    trace: Trace, options: AttentionOptions | None = None, word_ids: WordIds = None
) -> tuple[np.ndarray, HeldHeads]:
    """Every head in small, filtered once for both pictures of them.

    Args:
        options: filters, which leave S rows of the T; `None` shows all.
        word_ids: T, words of one's own to merge; `None` for the tokenizer's.

    Returns:
        A thumbnail of every head, uint8 `[L, N, h, w]`; and every head, exact or as a
        sketch, for a browser that does not wait.
    """
    layers = list(_every_layer(trace, options, word_ids))
    thumbnails = [grid_thumbnails(layer[None]) for layer in layers]
    return np.concatenate(thumbnails), hold_heads(layers)


@task()
def difference_heads(
    one: Trace,
    other: Trace,
    words: tuple[WordIds, WordIds] = (None, None),
    options: AttentionOptions | None = None,
    in_small: bool = False,
) -> np.ndarray:
    """Every head's difference, on what both sides have: the other less the one.

    Args:
        words: of both sides, see `all_heads`.
        options: filters of both sides; `None` shows all.
        in_small: pictures, see `grid_thumbnails`; else the numbers, for a file: 9 MB
            for BERT-base and 128 tokens.

    Returns:
        uint8 `[L, N, h, w]` or float32 `[L, N, P, P]`, rows look; of the heads that
        both models have.
    """
    layers = _every_difference(one, other, words, options)
    if not in_small:
        return np.stack([layer.astype(np.float32) for layer in layers])
    pictures = [grid_thumbnails(layer[None], is_difference=True) for layer in layers]
    return np.concatenate(pictures)


@task()
def difference_links(
    one: Trace,
    other: Trace,
    words: tuple[WordIds, WordIds] = (None, None),
    options: AttentionOptions | None = None,
) -> list[StrongestLinks]:
    """The largest difference of each row of every head, a result for each layer.

    For the arguments see `difference_heads`.
    """
    layers = _every_difference(one, other, words, options)
    return [strongest_links(layer, 1) for layer in layers]


@task()
def attention_links(
    trace: Trace,
    layer: int,
    options: AttentionOptions | None = None,
    word_ids: WordIds = None,
) -> StrongestLinks:
    """The strongest links of every row of a layer's heads, see `all_heads`."""
    return strongest_links(_filtered(trace, layer, options, word_ids))


def _every_difference(
    one: Trace,
    other: Trace,
    words: tuple[WordIds, WordIds],
    options: AttentionOptions | None,
) -> Iterator[np.ndarray]:
    """Layer by layer, `[N, P, P]`: P places of both, heads that both models have."""
    options = options or AttentionOptions()
    here, there = (one, options, words[0]), (other, options, words[1])
    alignment = align_tokens(_labels(*here), _labels(*there))
    for sides in zip(_every_layer(*here), _every_layer(*there), strict=False):
        num_heads = min(map(len, sides))
        own, others = (side[:num_heads] for side in sides)
        yield attention_difference(own, others, alignment).values


def _every_layer(
    trace: Trace, options: AttentionOptions | None, word_ids: WordIds
) -> Iterator[np.ndarray]:
    """One after the other, as not all may be needed at a time."""
    for layer in range(len(trace.attention)):
        yield _filtered(trace, layer, options, word_ids)


def _filtered(
    trace: Trace, layer: int, options: AttentionOptions | None, word_ids: WordIds
) -> np.ndarray:
    """The heads of a layer as they are shown, float `[N, S, S]`."""
    attention = trace.attention[layer]
    if options is None or options == AttentionOptions():
        return attention
    return show_heads(attention, _read(trace, word_ids), options)


def _labels(
    trace: Trace, options: AttentionOptions, word_ids: WordIds
) -> tuple[str, ...]:
    """What the rows are called that filters leave."""
    matrix = trace.attention[0, 0]
    return show_attention(matrix, _read(trace, word_ids), options).places.labels


def _read(trace: Trace, word_ids: tuple[int, ...] | None) -> TokenizedText:
    if word_ids is None:
        return trace.tokenized
    return replace(trace.tokenized, word_ids=np.array(word_ids))
