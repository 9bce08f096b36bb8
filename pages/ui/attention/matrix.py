"""The matrix that the reader asked for, as filters leave it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import (
    AttentionOptions,
    ShownAttention,
    show_attention,
)
from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.experiments.attention_parts import value_zeroing
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, TokenizedText
from pages.ui.answers import ask
from pages.ui.attention.controls import View
from pages.ui.jobs import Wording, ask_job
from pages.ui.language import t

# Squares of tokens times hidden size: a second or two on two cores. More is a job.
_MOST_ZEROED = 1e10


def shown_attention(
    place: str, model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> ShownAttention | None:
    """What the reader asked for, with the filters.

    Args:
        place: on the page; unique.
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        view: what the reader asked for.

    Returns:
        `None` while long work is on its way, which is drawn in its place.
    """
    if view.method == "value_zeroing" and not _is_short(model, tokenized):
        scores = _take_values_away(place, model, texts, tokenized, view.layer)
        if scores is None:
            return None
        return show_attention(scores, tokenized, view.options)
    # Maxima of pieces, added up, would be a number that no head gives.
    words = words_to_merge(tokenized, view.options) if view.method == "max" else None
    matrix = ask(attention_matrix)(
        model, texts, view.method, view.layer, view.head, view.heads, words
    )
    return show_attention(matrix, tokenized, view.options)


def words_to_merge(
    tokenized: TokenizedText, options: AttentionOptions
) -> tuple[int, ...] | None:
    """Which token is of which word, where that matters: as a key, it is long."""
    return tuple(tokenized.word_ids.tolist()) if options.merge_words else None


def _is_short(model: str, tokenized: TokenizedText) -> bool:
    """Whether every token's value can be taken away in a few seconds."""
    hidden = ask(Explorer.info)(model).config.hidden_size
    return (tokenized.num_tokens * hidden) ** 2 <= _MOST_ZEROED


def _take_values_away(
    place: str, model: str, texts: Texts, tokenized: TokenizedText, layer: int
) -> np.ndarray | None:
    """Scores of value zeroing as a job, float32 `[T, T]`; `None` until then."""
    found = ask_job(
        f"attention_zeroing_{place}",
        t("attention.zero_values", count=tokenized.num_tokens),
        ask(value_zeroing).about(model, texts, layer),
        wording=Wording(
            before=lambda: st.info(t("attention.long_to_zero"), icon=":material/timer:")
        ),
    )
    return None if found is None else found.scores.astype("float32")
