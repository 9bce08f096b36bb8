"""The vocabulary in its full space: which of its questions is asked."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.word_vectors import nearest_words
from bertviz_core.snippets import embeddings as programs
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.embeddings.analogy import show_analogy
from pages.ui.embeddings.axis import show_axis
from pages.ui.embeddings.word_boxes import (
    choose_comparison,
    say_pieces,
    show_neighbours,
    type_word,
)
from pages.ui.errors import shown_to_user
from pages.ui.language import plain, t
from pages.ui.models import language_of

_VIEWS = ("neighbours", "analogy", "axis")
# Words of one entry in a vocabulary of that language.
_WORD = {"en": "river", "zh": "水"}


@st.fragment
def explore_words(model: str) -> None:
    """Draws one of three questions to the vocabulary.

    Args:
        model: its id.
    """
    st.markdown(t("embeddings.words_intro"))
    with shown_to_user():
        view = choose_linked(
            st.segmented_control,
            t("embeddings.words_view"),
            _VIEWS,
            key="embeddings_words_view",
            required=True,
            format_func=lambda name: plain(f"embeddings.words_{name}"),
        )
        language = language_of(model)
        if view == "neighbours":
            _neighbours(model, language)
        elif view == "analogy":
            show_analogy(model, language)
        else:
            show_axis(model, language)


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
    show_neighbours(found.neighbours, metric, "embeddings_neighbours")
    st.caption(t("embeddings.compared", count=found.num_compared))
    show_code(
        programs.NEIGHBOURS,
        name="embeddings_neighbours",
        model=model,
        word=word,
        count=count,
        metric=metric,
        without=without,
    )
