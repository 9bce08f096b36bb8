"""Words laid out between two words, and what is near once that axis is gone."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vector_results import WordAxis
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.snippets import embeddings as programs
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.embeddings.choosing import choose_left_out
from pages.ui.embeddings.word_boxes import (
    say_pieces,
    show_neighbours,
    type_words,
)
from pages.ui.export import show_figure
from pages.ui.language import listed, plain, t

_FIRST, _SECOND = {"en": "he", "zh": "男"}, {"en": "she", "zh": "女"}
_WORDS = {
    "en": "nurse, doctor, king, queen, teacher, soldier, mother, boss",
    "zh": "医, 护, 兵, 师, 母, 父, 王",
}
_MOST_CHARACTERS, _MOST_AT_END = 1000, 200
_REMOVED = "embeddings_axis_removed"


def show_axis(model: str, language: str) -> None:
    """Draws the boxes, the words on the line, and both ends of the vocabulary.

    Args:
        model: its id.
        language: of the examples.
    """
    boxes = st.columns([1, 1, 3])
    with boxes[0]:
        first = type_words("axis_first", language, _FIRST, _MOST_AT_END)
    with boxes[1]:
        second = type_words("axis_second", language, _SECOND, _MOST_AT_END)
    with boxes[2]:
        words = type_words("axis_words", language, _WORDS, _MOST_CHARACTERS)
    st.caption(t("embeddings.axis_of_several"))
    without = choose_left_out("embeddings_left_out")
    if not (first and second and words):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(project_words)(model, first, second, words, without)
    say_pieces(found.in_pieces)
    first_name, second_name = _names(found)
    _show_line(found)
    ends = ((found.first_end, first_name), (found.second_end, second_name))
    for box, (end, word) in zip(st.columns(2), ends, strict=True):
        box.markdown(
            t("embeddings.axis_end", word=word, words=listed(end.words))
            if end.words
            else t("embeddings.nothing_left")
        )
    _show_removed(model, first, second, found, without)
    show_code(
        programs.AXIS,
        name="embeddings_axis",
        model=model,
        first=first,
        second=second,
        words=words,
        without=without,
    )


def _names(found: WordAxis) -> tuple[str, str]:
    """What both ends are called."""
    return listed(found.first), listed(found.second)


def _show_removed(
    model: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    found: WordAxis,
    without: tuple[str, ...],
) -> None:
    first_name, second_name = _names(found)
    title = t("embeddings.axis_removed", first=first_name, second=second_name)
    st.subheader(title, anchor=False)
    st.caption(t("embeddings.axis_removed_explained"))
    word = choose_linked(
        st.selectbox, t("embeddings.neighbours_of"), found.words, key=_REMOVED
    )
    removed = ask(remove_axis)(model, word, first, second, without=without)
    sides = (("before", removed.before), ("after", removed.after))
    for box, (name, near) in zip(st.columns(2), sides, strict=True):
        with box:
            st.markdown(f"**{t(f'embeddings.axis_{name}')}**")
            show_neighbours(near, "cosine", f"embeddings_axis_{name}")
    gone = set(removed.before.words) - set(removed.after.words)
    st.caption(
        t(
            "embeddings.axis_removed_described",
            word=removed.word,
            share=removed.share,
            gone=len(gone),
            count=len(removed.before.words),
        )
    )


def _show_line(found: WordAxis) -> None:
    order = np.argsort(found.cosines, kind="stable")
    names = [found.words[i] for i in order]
    first, second = _names(found)
    title = t("embeddings.axis_title", first=first, second=second)
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
            plain("embeddings.axis_cosine", first=first, second=second),
            digits=3,
        ),
        name="embeddings_axis",
        description=t(
            "embeddings.axis_described",
            first=first,
            second=second,
            low=names[0],
            high=names[-1],
        ),
        columns=columns,
    )
    st.dataframe(columns, hide_index=True, alt=title)
    st.caption(t("embeddings.percentile_explained", count=found.num_compared))
