"""Tasks that make the small pictures of all heads, see `tasks`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.shown_attention import (
    AttentionOptions,
    show_attention,
    show_heads,
)
from bertviz_core.engine.memory import whole_trace
from bertviz_core.experiments.attention_results import Reading
from bertviz_core.figures.attention_held import HeldHeads, hold_heads
from bertviz_core.figures.attention_thumbnails import (
    StrongestLinks,
    grid_thumbnails,
    strongest_links,
)
from bertviz_core.trace import TokenizedText, Trace


def all_heads(
    model: str,
    text: str,
    pair: str | None = None,
    cut: bool = False,
    options: AttentionOptions | None = None,
    word_ids: tuple[int, ...] | None = None,
) -> tuple[np.ndarray, HeldHeads]:
    """Every head in small, filtered once for both pictures of them.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        options: filters, which leave S rows of the T; `None` shows all.
        word_ids: T, words of one's own to merge; `None` for the tokenizer's.

    Returns:
        A thumbnail of every head, uint8 `[L, N, h, w]`; and every head, exact or as a
        sketch, for a browser that does not wait.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    layers = list(_every_layer(whole_trace(model, text, pair, cut), options, word_ids))
    thumbnails = [grid_thumbnails(layer[None]) for layer in layers]
    return np.concatenate(thumbnails), hold_heads(layers)


def difference_thumbnails(
    first: Reading,
    second: Reading,
    cut: bool = False,
    options: AttentionOptions | None = None,
) -> np.ndarray:
    """A small picture of every head's difference, on what both sides have.

    Args:
        first: one side.
        second: the other one, of which the first is taken away.
        cut: leaves out what is beyond the last position.
        options: filters of both sides; `None` shows all.

    Returns:
        uint8 `[L, N, h, w]`, see `grid_thumbnails`; of the heads that both models have.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    layers = _every_difference(first, second, cut, options)
    pictures = [grid_thumbnails(layer[None], is_difference=True) for layer in layers]
    return np.concatenate(pictures)


def difference_links(
    first: Reading,
    second: Reading,
    cut: bool = False,
    options: AttentionOptions | None = None,
) -> list[StrongestLinks]:
    """The largest difference of each row of every head, a result for each layer.

    Args:
        first: one side, as all that follow see `difference_thumbnails`.
        second: the other one.
        cut: leaves out what is beyond the last position.
        options: filters of both sides.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    layers = _every_difference(first, second, cut, options)
    return [strongest_links(layer, 1) for layer in layers]


def difference_heads(
    first: Reading,
    second: Reading,
    cut: bool = False,
    options: AttentionOptions | None = None,
) -> np.ndarray:
    """Every head's difference, for a file: 9 MB for BERT-base and 128 tokens.

    Args:
        first: one side, as all that follow see `difference_thumbnails`.
        second: the other one.
        cut: leaves out what is beyond the last position.
        options: filters of both sides.

    Returns:
        float32 `[L, N, P, P]`, rows look.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    layers = _every_difference(first, second, cut, options)
    return np.stack([layer.astype(np.float32) for layer in layers])


def attention_links(
    model: str,
    text: str,
    layer: int,
    pair: str | None = None,
    cut: bool = False,
    options: AttentionOptions | None = None,
    word_ids: tuple[int, ...] | None = None,
) -> StrongestLinks:
    """The strongest links of every row of a layer's heads.

    Args:
        model: its id.
        text: the first text.
        layer: from 0.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        options: filters, which leave S rows of the T; `None` shows all.
        word_ids: T, words of one's own to merge; `None` for the tokenizer's.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    return strongest_links(
        _filtered(whole_trace(model, text, pair, cut), layer, options, word_ids)
    )


def _every_difference(
    first: Reading, second: Reading, cut: bool, options: AttentionOptions | None
) -> Iterator[np.ndarray]:
    """Layer by layer, `[N, P, P]`: P places of both, heads that both models have."""
    options = options or AttentionOptions()
    here, there = (
        (whole_trace(one.model, one.text, one.pair, cut), options, one.word_ids)
        for one in (first, second)
    )
    alignment = align_tokens(_labels(*here), _labels(*there))
    for sides in zip(_every_layer(*here), _every_layer(*there), strict=False):
        num_heads = min(map(len, sides))
        own, other = (side[:num_heads] for side in sides)
        yield attention_difference(own, other, alignment).values


def _every_layer(
    trace: Trace,
    options: AttentionOptions | None,
    word_ids: tuple[int, ...] | None,
) -> Iterator[np.ndarray]:
    """One after the other, as not all may be needed at a time."""
    for layer in range(len(_attention(trace))):
        yield _filtered(trace, layer, options, word_ids)


def _filtered(
    trace: Trace,
    layer: int,
    options: AttentionOptions | None,
    word_ids: tuple[int, ...] | None,
) -> np.ndarray:
    """The heads of a layer as they are shown, float `[N, S, S]`."""
    attention = _attention(trace)[layer]
    if options is None or options == AttentionOptions():
        return attention
    return show_heads(attention, _read(trace, word_ids), options)


def _labels(
    trace: Trace, options: AttentionOptions, word_ids: tuple[int, ...] | None
) -> tuple[str, ...]:
    """What the rows are called that filters leave."""
    matrix = _attention(trace)[0, 0]
    return show_attention(matrix, _read(trace, word_ids), options).places.labels


def _read(trace: Trace, word_ids: tuple[int, ...] | None) -> TokenizedText:
    if word_ids is None:
        return trace.tokenized
    return replace(trace.tokenized, word_ids=np.array(word_ids))


def _attention(trace: Trace) -> np.ndarray:
    if trace.attention_probs is None:
        raise ValueError("A whole trace always has its attention.")
    return trace.attention_probs
