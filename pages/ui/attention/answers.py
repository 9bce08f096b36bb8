"""What the engine said about attention, kept by model, text and question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import (
    AttentionOptions,
    ShownAttention,
    show_attention,
)
from bertviz_core.experiments.attention_results import CorpusProfile, PairArithmetic
from bertviz_core.experiments.cause_results import (
    SparsePattern,
    SparsePrediction,
    SwitchedPrediction,
    Switches,
    Target,
)
from bertviz_core.figures.attention_held import HeldHeads
from bertviz_core.figures.attention_thumbnails import StrongestLinks
from bertviz_core.trace import TokenizedText
from pages.ui.answers import describe_model
from pages.ui.engine import client
from pages.ui.jobs import Wording, ask_job
from pages.ui.language import t
from pages.ui.text_pair import Texts

if TYPE_CHECKING:  # other pages ask, too, and have no use for the pictures
    from pages.ui.attention.controls import View

# Squares of tokens times hidden size: a second or two on two cores. More is a job.
_MOST_ZEROED = 1e10


# A matrix of 512 tokens takes 1 MB.
@st.cache_data(max_entries=64, max_size="32MB", show_spinner=False)
def attention_matrix(
    model: str,
    texts: Texts,
    method: str,
    layer: int,
    head: int,
    heads: tuple[tuple[int, int], ...] = (),
    word_ids: tuple[int, ...] | None = None,
) -> np.ndarray:
    """One matrix of a text's attention, float32 `[T, T]`."""
    return client().attention_matrix(
        model, texts.text, method, layer, head, texts.pair, True, heads, word_ids
    )


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
    matrix = attention_matrix(
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
    hidden = int(str(describe_model(model).config["hidden_size"]))
    return (tokenized.num_tokens * hidden) ** 2 <= _MOST_ZEROED


def _take_values_away(
    place: str, model: str, texts: Texts, tokenized: TokenizedText, layer: int
) -> np.ndarray | None:
    """Scores of value zeroing as a job, float32 `[T, T]`; `None` until then."""
    scores: np.ndarray | None = ask_job(
        f"attention_zeroing_{place}",
        t("attention.zero_values", count=tokenized.num_tokens),
        "zero_values",
        wording=Wording(
            before=lambda: st.info(t("attention.long_to_zero"), icon=":material/timer:")
        ),
        model=model,
        text=texts.text,
        layer=layer,
        pair=texts.pair,
        cut=True,
    )
    return scores


def all_attention(model: str, texts: Texts) -> np.ndarray | None:
    """Float32 `[L, N, T, T]`, not kept: for a file that is asked for once."""
    trace = client().trace(
        model, texts.text, texts.pair, cut=True, parts=("attention_probs",)
    )
    return trace.attention_probs


@st.cache_data(max_entries=16, show_spinner=False)
def all_heads(
    model: str,
    texts: Texts,
    options: AttentionOptions,
    word_ids: tuple[int, ...] | None,
) -> tuple[np.ndarray, HeldHeads]:
    """Every head as filters leave it: thumbnails, and what a browser can hold."""
    return client().all_heads(
        model,
        texts.text,
        texts.pair,
        cut=True,
        options=options,
        word_ids=word_ids,
    )


@st.cache_data(max_entries=32, show_spinner=False)
def attention_links(
    model: str,
    texts: Texts,
    layer: int,
    options: AttentionOptions,
    word_ids: tuple[int, ...] | None,
) -> StrongestLinks:
    """The strongest links of every row that filters leave of a layer's heads."""
    return client().attention_links(
        model,
        texts.text,
        layer,
        texts.pair,
        cut=True,
        options=options,
        word_ids=word_ids,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def attention_mass(model: str, texts: Texts, position: int) -> np.ndarray:
    """What each head gives to real words from one token, float `[L, N]`."""
    return client().attention_mass(model, texts.text, position, texts.pair, cut=True)


@st.cache_data(max_entries=32, show_spinner=False)
def compare_heads(
    model: str, texts: Texts, other_model: str, other_texts: Texts
) -> np.ndarray:
    """How much of each head's attention goes elsewhere, float `[L, N]`."""
    return client().compare_heads(
        model,
        texts.text,
        other_model,
        other_texts.text,
        texts.pair,
        other_texts.pair,
        cut=True,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def pair_arithmetic(
    model: str, texts: Texts, layer: int, head: int, query_token: int, key_token: int
) -> PairArithmetic:
    """How one attention probability comes about."""
    return client().pair_arithmetic(
        model, texts.text, layer, head, query_token, key_token, texts.pair, cut=True
    )


@st.cache_data(max_entries=16, show_spinner=False)
def profile_heads(model: str, texts: Texts) -> CorpusProfile:
    """All heads measured on one text."""
    return client().profile_heads(model, texts.text, texts.pair, cut=True)


@st.cache_data(max_entries=64, show_spinner=False)
def switch_off(
    model: str, texts: Texts, target: Target, switches: Switches
) -> SwitchedPrediction:
    """One prediction with parts switched off."""
    return client().switch_off(
        model, texts.text, target, switches, texts.pair, cut=True
    )


@st.cache_data(max_entries=32, show_spinner=False)
def predict_sparsely(
    model: str, texts: Texts, target: Target, pattern: SparsePattern
) -> SparsePrediction:
    """One prediction under a sparse pattern."""
    return client().predict_sparsely(
        model, texts.text, target, pattern, texts.pair, cut=True
    )
