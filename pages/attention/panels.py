"""The questions below the pictures; only the one that is asked is computed."""

from __future__ import annotations

import streamlit as st

from bertviz_core.trace import Texts, TokenizedText
from pages.attention.arithmetic import explore_arithmetic
from pages.attention.combined import explore_combinations
from pages.attention.compare import explore_differences
from pages.attention.controls import View
from pages.attention.maps import explore_maps
from pages.attention.patch import explore_patches
from pages.attention.profile import explore_profile
from pages.attention.sparse import explore_patterns
from pages.attention.switch_off import explore_switches
from pages.attention.target import choose_target
from pages.shared.choices import choose_linked
from pages.shared.language import plain, t

PANELS = (
    "profile",
    "combine",
    "arithmetic",
    "switch",
    "maps",
    "patch",
    "sparse",
    "compare",
)


def ask_further(model: str, texts: Texts, tokenized: TokenizedText, view: View) -> None:
    """Draws the choice of a question, and its answer."""
    panel = choose_linked(
        st.pills,
        t("attention.panel"),
        PANELS,
        key="attention_panel",
        required=True,
        format_func=lambda name: plain(f"attention.panel_{name}"),
    )
    if panel == "profile":
        explore_profile(model, texts, view.layer, view.head)
    elif panel == "combine":
        explore_combinations(model, texts, tokenized, view)
    elif panel == "arithmetic":
        explore_arithmetic(model, texts, tokenized, view.layer, view.head)
    elif panel == "compare":
        explore_differences(model, texts, tokenized, view)
    elif (watched := choose_target(model, texts, tokenized)) is None:
        return  # it has said why
    elif panel == "switch":
        explore_switches(model, texts, tokenized, watched, view.layer, view.head)
    elif panel == "maps":
        explore_maps(model, texts, watched, tokenized.num_tokens)
    elif panel == "patch":
        explore_patches(model, texts, watched)
    else:
        explore_patterns(model, texts, tokenized, watched)
