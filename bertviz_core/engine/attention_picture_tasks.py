"""Tasks that make the small pictures of all heads, see `tasks`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bertviz_core.analysis.shown_attention import AttentionOptions, show_heads
from bertviz_core.engine.memory import whole_trace
from bertviz_core.figures.attention_held import HeldHeads, hold_heads
from bertviz_core.figures.attention_thumbnails import (
    StrongestLinks,
    grid_thumbnails,
    strongest_links,
)
from bertviz_core.trace import Trace


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
    trace = whole_trace(model, text, pair, cut)
    num_layers = len(_attention(trace))
    layers = [_filtered(trace, i, options, word_ids) for i in range(num_layers)]
    thumbnails = [grid_thumbnails(layer[None]) for layer in layers]
    return np.concatenate(thumbnails), hold_heads(layers)


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
    read = trace.tokenized
    if word_ids is not None:
        read = replace(read, word_ids=np.array(word_ids))
    return show_heads(attention, read, options)


def _attention(trace: Trace) -> np.ndarray:
    if trace.attention_probs is None:
        raise ValueError("A whole trace always has its attention.")
    return trace.attention_probs
