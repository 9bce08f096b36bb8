"""Boxes and pictures that the questions to the vocabulary share."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from bertviz_core.analysis.nearest_words import METRICS
from bertviz_core.experiments.word_vector_results import InPieces, NamedNeighbours
from bertviz_core.figures.masked_panels import signed_bars_figure
from pages.ui.address import choose_linked
from pages.ui.embeddings.choosing import choose_left_out
from pages.ui.export import show_figure
from pages.ui.language import plain, t

_MOST_CHARACTERS = 60
_BETWEEN = re.compile(r"[\s,，、;；]+")


def type_word(
    name: str, language: str, examples: dict[str, str], most: int = _MOST_CHARACTERS
) -> str:
    """Draws a box for one word.

    Args:
        name: of the label's text, and of the widget.
        language: of the model, "en" or "zh".
        examples: what stands in the box at first, by language.
        most: characters.
    """
    key = f"embeddings_{name}"
    others = [word for other, word in examples.items() if other != language]
    if st.session_state.get(key) in others:  # untouched: follows the model
        st.session_state[key] = examples[language]
    typed = st.text_input(
        t(f"embeddings.{name}"),
        examples[language],
        key=key,
        max_chars=most,
        bind="query-params",
        persist_state="session",
    )
    return (typed or "").strip()


def type_words(
    name: str, language: str, examples: dict[str, str], most: int = _MOST_CHARACTERS
) -> tuple[str, ...]:
    """Draws a box for several words, with commas or gaps between them.

    Args:
        name: see `type_word`.
        language: see there.
        examples: see there.
        most: characters.
    """
    return tuple(
        filter(None, _BETWEEN.split(type_word(name, language, examples, most)))
    )


def say_pieces(in_pieces: Sequence[InPieces]) -> None:
    """Says which words are no entries, so that the mean of their pieces was taken."""
    for word, pieces in in_pieces:
        st.info(
            t("embeddings.in_pieces", word=word, pieces=" + ".join(pieces)),
            icon=":material/info:",
        )


def choose_comparison() -> tuple[str, int, tuple[str, ...]]:
    """Draws how words are compared: metric, how many to name, what to leave out."""
    first, second = st.columns([3, 1])
    metric = choose_linked(
        first.segmented_control,
        t("embeddings.metric"),
        METRICS,
        key="embeddings_metric",
        required=True,
        help=t("embeddings.metric_help"),
        format_func=lambda name: plain(f"embeddings.metric_{name}"),
    )
    count = second.number_input(
        t("embeddings.count"),
        1,
        100,
        10,
        key="embeddings_count",
        bind="query-params",
        persist_state="session",
    )
    return metric, int(count), choose_left_out("embeddings_left_out")


def show_neighbours(found: NamedNeighbours, metric: str, name: str) -> None:
    """Draws neighbours as bars, with their numbers.

    Args:
        found: nearest first.
        metric: that they were found by.
        name: of the figure.
    """
    if not found.words:
        st.info(t("embeddings.nothing_left"), icon=":material/filter_alt_off:")
        return
    title = plain(f"embeddings.metric_{metric}")
    scores = found.found.scores
    show_figure(
        signed_bars_figure(list(found.words), scores, title, digits=3),
        name=name,
        description=t(
            "embeddings.neighbours_described",
            word=found.words[0],
            metric=title,
            score=float(scores[0]),
        ),
        columns={
            plain("embeddings.word"): list(found.words),
            plain("embeddings.entry"): found.found.ids.tolist(),
            title: scores.tolist(),
        },
    )
