"""Activation functions: their curves, what is wrong with each, and GELU from Φ."""

import streamlit as st

from pages.activations.curves import explore_curves
from pages.activations.gelu import explore_approximation, explore_normal
from pages.activations.training import explore_training
from pages.activations.weaknesses import (
    explore_centre,
    explore_collapse,
    explore_vanishing,
)
from pages.shared.choices import choose_named
from pages.shared.language import t
from pages.shared.panel import panel

PARTS = {
    "curves": explore_curves,
    "vanishing": explore_vanishing,
    "centre": explore_centre,
    "dead": explore_training,
    "collapse": explore_collapse,
    "gelu": explore_normal,
    "approximation": explore_approximation,
}


@panel
def show_activations() -> None:
    """Draws the part that is looked at, which alone is computed."""
    part = choose_named(
        "activations.part", list(PARTS), widget=st.pills, label_visibility="collapsed"
    )
    if part != "curves":  # which come first, without a word
        st.markdown(t(f"activations.intro_{part}"))
    PARTS[part]()


show_activations()
