"""Choices that several parts of the embeddings page ask for."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from bertviz_core.analysis.nearest_words import METRICS
from bertviz_core.analysis.wordlists import KINDS
from bertviz_core.experiments.map_results import NEIGHBOURHOODS
from pages.shared.answers import Wording
from pages.shared.choices import (
    choose_named,
    choose_number,
    choose_several,
    type_linked,
)
from pages.shared.language import plain, t

# A row without a word is never an answer, so it is no choice either.
LEFT_OUT = tuple(kind for kind in KINDS if kind != "empty")
# The library cannot be interrupted within a stage, see `tsne_map`.
DRAWING = Wording(stopped=lambda: t("embeddings.drawing_stopped"))
# What the methods themselves call the size of a neighbourhood.
SIZES = {"tsne": "perplexity", "umap": "n_neighbors"}


def choose_place(name: str, most: int, default: int = 1) -> int:
    """Draws the choice of a whole number, counted from 1."""
    return choose_number(
        st.number_input, f"embeddings.{name}", 1, most, min(default, most)
    )


def type_word(
    name: str, language: str, examples: dict[str, str], most: int = 60
) -> str:
    """Draws a box for words."""
    return type_linked(
        st.text_input, f"embeddings.{name}", examples[language], max_chars=most
    )


def choose_comparison() -> tuple[str, int, tuple[str, ...]]:
    """Draws how words are compared: metric, how many to name, what to leave out."""
    first, second = st.columns([3, 1])
    metric = choose_named("embeddings.metric", METRICS, widget=first.segmented_control)
    count = choose_number(second.number_input, "embeddings.count", 1, 100, 10)
    return metric, count, choose_left_out()


def choose_left_out() -> tuple[str, ...]:
    """Draws which kinds of entries are no answer; some of `KINDS`, in their order."""
    return choose_several(
        "embeddings.left_out",
        LEFT_OUT,
        ("piece", "unused", "special"),
        format_func=lambda kind: plain(f"embeddings.kind_{kind}"),
    )


def choose_map(key: str, methods: Sequence[str]) -> tuple[str, int]:
    """Draws how a map is made, and whether it has 2 or 3 axes."""
    first, second = st.columns(2)
    with first:
        method = choose_named("embeddings.method", methods, key=f"{key}_method")
    with second:
        axes = choose_named("embeddings.num_axes", ("2", "3"), key=f"{key}_axes")
    return method, int(axes)


def choose_neighbourhood(key: str, method: str) -> tuple[int, float]:
    """Draws the seed and the size of a neighbourhood, of one of `NEIGHBOURHOODS`."""
    boxes = st.columns(2)
    size = choose_number(
        *(boxes[0].slider, f"embeddings.{SIZES[method]}"),
        *(5.0, 60.0, NEIGHBOURHOODS[method]),
        key=f"{key}_{SIZES[method]}",
        step=5.0,
        format="%g",
    )
    with boxes[1]:
        return choose_seed(key), size


def choose_seed(key: str, **arguments: Any) -> int:
    """Draws the seed, from which all that is drawn at random follows."""
    box = (st.number_input, "embeddings.seed", 0, 9999, 0)
    return choose_number(*box, key=f"{key}_seed", **arguments)
