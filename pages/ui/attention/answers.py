"""What the engine said about attention, kept by model, text and question."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.cause_results import (
    GradientMap,
    SparsePattern,
    SparsePrediction,
    SwitchedPrediction,
    Switches,
    Target,
)
from pages.ui.attention.texts import Texts
from pages.ui.engine import client


@st.cache_data(max_entries=64, show_spinner=False)
def switch_off(
    model: str, texts: Texts, target: Target, switches: Switches
) -> SwitchedPrediction:
    """One prediction with parts switched off."""
    return client().switch_off(
        model, texts.text, target, switches, texts.pair, cut=True
    )


@st.cache_data(max_entries=32, show_spinner=False)
def estimate_heads(model: str, texts: Texts, target: Target) -> GradientMap:
    """A gradient estimate for every head."""
    return client().estimate_heads(model, texts.text, target, texts.pair, cut=True)


@st.cache_data(max_entries=32, show_spinner=False)
def predict_sparsely(
    model: str, texts: Texts, target: Target, pattern: SparsePattern
) -> SparsePrediction:
    """One prediction under a sparse pattern."""
    return client().predict_sparsely(
        model, texts.text, target, pattern, texts.pair, cut=True
    )
