"""What the engine said before, kept by model and text.

A rerun of a page asks the same question again; the answer comes from here without
a way to the engine. Keys are names and texts, and every store has a bound.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.wordlists import entries_of_kind
from bertviz_core.trace import MaskPredictions, ModelEntry, ModelInfo, TokenizedText
from pages.ui.engine import client, note_answer


@st.cache_data(max_entries=1, ttl=30, show_spinner=False)
def installed_models() -> tuple[ModelEntry, ...]:
    """Bundled and downloaded models; at most half a minute old."""
    return tuple(client().models())


@st.cache_data(max_entries=1, ttl=30, show_spinner=False)
def earlier_uploads() -> tuple[ModelEntry, ...]:
    """Everybody's uploads; at most half a minute old. Not for strangers."""
    return tuple(client().earlier_uploads())


@st.cache_data(max_entries=1, show_spinner=False)
def suggested_names() -> tuple[str, ...]:
    """Names on the hub that are worth a download."""
    return tuple(entry.model_id for entry in client().suggested_models())


@st.cache_data(max_entries=32, show_spinner=False)
def describe_model(model: str) -> ModelInfo:
    """Loads a model if need be, and describes it.

    Raises:
        CheckpointError: it cannot be opened.
    """
    info = client().describe_model(model)
    note_answer()
    return info


# Two numbers, four places and a string for each token: 20 MB for the longest text.
@st.cache_data(max_entries=64, max_size="32MB", show_spinner=False)
def tokenize(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> TokenizedText:
    """Splits a text as the model reads it.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    return client().tokenize(model, text, pair, cut)


# One mask takes 64 kB with the bundled vocabulary; a text full of masks 8 MB.
@st.cache_data(max_entries=64, max_size="32MB", show_spinner=False)
def predict_masks(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> MaskPredictions:
    """Scores every word at each mask; one forward pass for a new text.

    Raises:
        CheckpointError: the model has no masked-word head.
        TextError: no mask, empty, or too long while `cut` is false.
    """
    return client().predict_masks(model, text, pair, cut)


@st.cache_resource(max_entries=8, show_spinner=False)
def vocabulary(model: str) -> tuple[str, ...]:
    """A name for each id of a model's logits. Shared by all sessions: a tuple."""
    return tuple(client().vocabulary(model))


@st.cache_data(max_entries=64, show_spinner=False)
def chinese_share(model: str) -> float:
    """Which share of the word pieces of a model hold a Chinese character, 0 to 1."""
    return float(entries_of_kind(vocabulary(model), "cjk").mean())


def forget_lists() -> None:
    """Asks anew which models there are; what is known of each stays true."""
    installed_models.clear()
    earlier_uploads.clear()


def forget_models() -> None:
    """Asks the engine anew: a name may mean other weights after a download.

    Pages keep answers in stores of their own, so all of them are emptied.
    """
    st.cache_data.clear()
    vocabulary.clear()
