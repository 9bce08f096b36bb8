"""The vocabulary in its full space: neighbours, an analogy, words between two words."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.word_vector_results import WordAnalogy
from bertviz_core.experiments.word_vectors import nearest_words, solve_analogy
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.axis import show_axis
from pages.embeddings.figures import say_pieces, show_neighbours
from pages.embeddings.widgets import choose, choose_comparison, type_word
from pages.shared.answers import ask
from pages.shared.code import program
from pages.shared.language import t
from pages.shared.models import language_of
from pages.shared.panel import panel

# Words of one entry in a vocabulary of that language.
_WORD = {"en": "river", "zh": "水"}
_BOXES = {
    "analogy_a": {"en": "king", "zh": "父"},
    "analogy_b": {"en": "man", "zh": "男"},
    "analogy_c": {"en": "woman", "zh": "女"},
    "analogy_expected": {"en": "queen", "zh": "母"},
}


@panel
def explore_words(model: str) -> None:
    """Draws one of three questions to the vocabulary."""
    st.markdown(t("embeddings.words_intro"))
    views = {"neighbours": _neighbours, "analogy": _analogy, "axis": show_axis}
    views[choose("words_view", list(views))](model, language_of(model))


def _neighbours(model: str, language: str) -> None:
    word = type_word("word", language, _WORD)
    metric, count, without = choose_comparison()
    if not word:
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(nearest_words)(model, word, count, metric, without)
    say_pieces(found.in_pieces)
    if found.token_id is not None:
        st.caption(
            t(
                "embeddings.entry_described",
                word=found.word,
                number=found.token_id,
                norm=found.norm,
                rank=found.norm_rank,
                count=found.num_entries,
            )
        )
    code = program(
        programs.NEIGHBOURS,
        model=model,
        word=word,
        count=count,
        metric=metric,
        without=without,
    )
    show_neighbours(found.neighbours, metric, "embeddings_neighbours", code)
    st.caption(t("embeddings.compared", count=found.num_compared))


def _analogy(model: str, language: str) -> None:
    """The words nearest to a - b + c, and the rank of the expected word."""
    words = []
    for box, (name, examples) in zip(st.columns(4), _BOXES.items(), strict=True):
        with box:
            words.append(type_word(name, language, examples))
    metric, count, without = choose_comparison()
    first, second, third, expected = words
    inputs = (first, second, third)
    if not all(inputs):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(solve_analogy)(model, inputs, expected, count, metric, without)
    say_pieces(found.in_pieces)
    _show_ranks(found)
    a, b, c = found.inputs
    st.subheader(t("embeddings.analogy_title", a=a, b=b, c=c), anchor=False)
    code = program(
        programs.ANALOGY,
        model=model,
        inputs=inputs,
        expected=expected,
        count=count,
        metric=metric,
        without=without,
    )
    all_words, others = st.columns(2)
    with all_words:
        st.markdown(f"**{t('embeddings.analogy_all')}**")
        show_neighbours(found.nearest, metric, "embeddings_analogy_all", code)
    with others:
        st.markdown(f"**{t('embeddings.analogy_told')}**")
        near = found.nearest_without_inputs
        show_neighbours(near, metric, "embeddings_analogy_told")
    nearest = found.nearest.words[0] if found.nearest.words else ""
    if nearest in found.inputs:
        st.info(t("embeddings.input_is_nearest", word=nearest), icon=":material/info:")


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
