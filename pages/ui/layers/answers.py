"""What the engine said about the inside of the layers, kept by model and text."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep, PartNumbers
from pages.ui.engine import client


@st.cache_data(max_entries=32, show_spinner=False)
def layer_steps(model: str, text: str) -> tuple[LayerStep, ...]:
    """Every operation in its order; one forward pass for a new text."""
    return client().layer_steps(model, text, cut=True)


# One token in a layer of BERT-base takes 1 MB for 512 tokens, 0.1 MB for a sentence.
@st.cache_data(max_entries=256, max_size="32MB", show_spinner=False)
def part_numbers(model: str, text: str, part: str, token: int) -> PartNumbers:
    """What every step of a part computed for one token."""
    return client().part_numbers(model, text, part, token, cut=True)
