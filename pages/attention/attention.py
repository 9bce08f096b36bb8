"""Attention: who looks at whom, in every head, and what that causes."""

import streamlit as st

from bertviz_core.experiments.attention_matrix import named_heads
from pages.attention.arithmetic import explore_arithmetic
from pages.attention.causes import (
    explore_maps,
    explore_patches,
    explore_patterns,
    explore_switches,
)
from pages.attention.comparison import explore_combinations, explore_differences
from pages.attention.matrix import own_words
from pages.attention.pictures import choose_and_show, follow_lock
from pages.attention.profile import explore_profile
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.language import plain, t
from pages.shared.models import model_picker
from pages.shared.own_text import read_by, type_sentence
from pages.shared.panel import panel
from pages.shared.watched_answer import choose_target

QUESTIONS = (
    *("profile", "combine", "arithmetic"),
    *("switch", "maps", "patch", "sparse", "compare"),
)


@panel
def show_attention(model: str) -> None:
    """Draws the sentence, what its heads look at, and the question that is asked."""
    texts = type_sentence(model)
    read = own_words(read_by(model, texts, ask(named_heads).about(model, texts)))

    view = choose_and_show(read)
    follow_lock(read.tokenized)

    st.header(t("attention.questions_title"), anchor=False)
    masks = {
        position: plain("attention.target_mask", number=number)
        for number, position in enumerate(
            read.tokenized.mask_positions.tolist(), start=1
        )
    }
    # Only the question that is asked is computed.
    question = choose_named("attention.panel", QUESTIONS, widget=st.pills)
    if question == "profile":
        explore_profile(read, view)
    elif question == "combine":
        explore_combinations(read, view)
    elif question == "arithmetic":
        explore_arithmetic(read, view)
    elif question == "compare":
        explore_differences(read, view)
    elif (watched := choose_target(model, texts, masks, "attention")) is None:
        pass  # it has said why
    elif question == "switch":
        explore_switches(read, watched, view)
    elif question == "maps":
        explore_maps(read, watched, view)
    elif question == "patch":
        explore_patches(read, watched)
    else:
        explore_patterns(read, watched, view)


show_attention(model_picker())
