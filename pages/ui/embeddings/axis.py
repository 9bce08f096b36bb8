"""Words laid out between two words."""

from __future__ import annotations

import re

import numpy as np
import streamlit as st

from bertviz_core.experiments.word_vector_results import WordAxis
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.snippets import embeddings as programs
from pages.ui.code import show_code
from pages.ui.embeddings.answers import project_words
from pages.ui.embeddings.choosing import choose_left_out
from pages.ui.embeddings.word_boxes import type_word
from pages.ui.export import show_figure
from pages.ui.head import model_at_work
from pages.ui.language import plain, t

_FIRST, _SECOND = {"en": "he", "zh": "男"}, {"en": "she", "zh": "女"}
_WORDS = {
    "en": "nurse, doctor, king, queen, teacher, soldier, mother, boss",
    "zh": "医, 护, 兵, 师, 母, 父, 王",
}
_WORDS_KEY = "embeddings_axis_words"
_BETWEEN = re.compile(r"[\s,，、;；]+")


def show_axis(model: str, language: str) -> None:
    """Draws the boxes, the words on the line, and both ends of the vocabulary.

    Args:
        model: its id.
        language: of the examples.
    """
    boxes = st.columns([1, 1, 3])
    with boxes[0]:
        first = type_word("axis_first", language, _FIRST)
    with boxes[1]:
        second = type_word("axis_second", language, _SECOND)
    with boxes[2]:
        words = _type_words(language)
    without = choose_left_out("embeddings_left_out")
    if not (first and second and words):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    with model_at_work(at_start_only=True):
        found = project_words(model, first, second, words, without)
    _show_line(found)
    ends = ((found.first_end, found.first), (found.second_end, found.second))
    for box, (end, word) in zip(st.columns(2), ends, strict=True):
        box.markdown(
            t("embeddings.axis_end", word=word, words=", ".join(end.words))
            if end.words
            else t("embeddings.nothing_left")
        )
    show_code(
        programs.AXIS,
        name="embeddings_axis",
        model=model,
        first=first,
        second=second,
        words=words,
        without=without,
    )


def _type_words(language: str) -> tuple[str, ...]:
    if st.session_state.get(_WORDS_KEY) in _WORDS.values():
        st.session_state[_WORDS_KEY] = _WORDS[language]
    typed = st.text_input(
        t("embeddings.axis_words"),
        _WORDS[language],
        key=_WORDS_KEY,
        max_chars=1000,
        bind="query-params",
        persist_state="session",
    )
    return tuple(filter(None, _BETWEEN.split(typed or "")))


def _show_line(found: WordAxis) -> None:
    order = np.argsort(found.cosines, kind="stable")
    names = [found.words[i] for i in order]
    title = t("embeddings.axis_title", first=found.first, second=found.second)
    st.subheader(title, anchor=False)
    columns = {
        plain("embeddings.word"): names,
        plain("embeddings.cosine"): found.cosines[order].tolist(),
        plain("embeddings.percentile"): found.percentiles[order].tolist(),
        plain("embeddings.place_on_line"): found.positions[order].tolist(),
        plain("embeddings.distance_from_line"): found.distances[order].tolist(),
    }
    show_figure(
        signed_bars_figure(
            names,
            found.cosines[order],
            plain("embeddings.axis_cosine", first=found.first, second=found.second),
            digits=3,
        ),
        name="embeddings_axis",
        description=t(
            "embeddings.axis_described",
            first=found.first,
            second=found.second,
            low=names[0],
            high=names[-1],
        ),
        columns=columns,
    )
    st.dataframe(columns, hide_index=True, alt=title)
    st.caption(t("embeddings.percentile_explained", count=found.num_compared))
