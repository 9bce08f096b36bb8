"""An analogy, with the rank that the hoped-for word really has."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.word_vector_results import WordAnalogy
from bertviz_core.experiments.word_vectors import solve_analogy
from bertviz_core.snippets import embeddings as programs
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.embeddings.word_boxes import (
    choose_comparison,
    say_pieces,
    show_neighbours,
    type_word,
)
from pages.ui.language import t

_BOXES = {
    "analogy_a": {"en": "king", "zh": "父"},
    "analogy_b": {"en": "man", "zh": "男"},
    "analogy_c": {"en": "woman", "zh": "女"},
    "analogy_expected": {"en": "queen", "zh": "母"},
}


def show_analogy(model: str, language: str) -> None:
    """Draws the words, the ranks and the neighbours of a - b + c.

    Args:
        model: its id.
        language: of the examples.
    """
    words = []
    for box, (name, examples) in zip(st.columns(4), _BOXES.items(), strict=True):
        with box:
            words.append(type_word(name, language, examples))
    metric, count, without = choose_comparison()
    if not all(words[:3]):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(solve_analogy)(
        model, (words[0], words[1], words[2]), words[3], count, metric, without
    )
    say_pieces(found.in_pieces)
    _show_ranks(found)
    a, b, c = found.inputs
    st.subheader(t("embeddings.analogy_title", a=a, b=b, c=c), anchor=False)
    for box, (name, near) in zip(
        st.columns(2),
        (("all", found.nearest), ("told", found.nearest_without_inputs)),
        strict=True,
    ):
        with box:
            st.markdown(f"**{t(f'embeddings.analogy_{name}')}**")
            show_neighbours(near, metric, f"embeddings_analogy_{name}")
    nearest = found.nearest.words[0] if found.nearest.words else ""
    if nearest in found.inputs:
        st.info(t("embeddings.input_is_nearest", word=nearest), icon=":material/info:")
    show_code(
        programs.ANALOGY,
        name="embeddings_analogy",
        model=model,
        inputs=tuple(words[:3]),
        expected=words[3],
        count=count,
        metric=metric,
        without=without,
    )


def _show_ranks(found: WordAnalogy) -> None:
    rank, without = found.answer.rank, found.answer.rank_without_inputs
    if rank is None:
        return
    boxes = st.columns(2)
    boxes[0].metric(
        t("embeddings.rank_honest", word=found.expected),
        t("embeddings.rank", rank=rank, count=found.num_compared),
        help=t("embeddings.rank_honest_help"),
    )
    if without is not None:
        boxes[1].metric(
            t("embeddings.rank_told", word=found.expected),
            t("embeddings.rank", rank=without, count=found.num_without_inputs),
            help=t("embeddings.rank_told_help"),
        )
