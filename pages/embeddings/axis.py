"""Words laid out between two words, and what is near once that axis is gone."""

from __future__ import annotations

import re

import numpy as np
import streamlit as st

from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vector_results import WordAxis
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import say_pieces, show_neighbours
from pages.embeddings.widgets import choose_left_out, type_word
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.language import listed, plain, t

_FIRST, _SECOND = {"en": "he", "zh": "男"}, {"en": "she", "zh": "女"}
_WORDS = {
    "en": "nurse, doctor, king, queen, teacher, soldier, mother, boss",
    "zh": "医, 护, 兵, 师, 母, 父, 王",
}
_MOST_CHARACTERS, _MOST_AT_END = 1000, 200
_BETWEEN = re.compile(r"[\s,，、;；]+")


def show_axis(model: str, language: str) -> None:
    """Draws the boxes, the words on the line, and both ends of the vocabulary."""
    boxes = zip(
        st.columns([1, 1, 3]),
        ("axis_first", "axis_second", "axis_words"),
        (_FIRST, _SECOND, _WORDS),
        (_MOST_AT_END, _MOST_AT_END, _MOST_CHARACTERS),
        strict=True,
    )
    typed = []
    for box, name, examples, most in boxes:
        with box:
            words = _BETWEEN.split(type_word(name, language, examples, most))
        typed.append(tuple(filter(None, words)))
    st.caption(t("embeddings.axis_of_several"))
    without = choose_left_out()
    if not all(typed):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    first, second, laid_out = typed
    found = ask(project_words)(model, first, second, laid_out, without)
    say_pieces(found.in_pieces)
    code = program(
        programs.AXIS,
        model=model,
        first=first,
        second=second,
        words=laid_out,
        without=without,
    )
    names = (listed(found.first), listed(found.second))
    _show_line(found, *names, code)
    ends = zip(names, (found.first_end, found.second_end), strict=True)
    for box, (word, end) in zip(st.columns(2), ends, strict=True):
        box.markdown(
            t("embeddings.axis_end", word=word, words=listed(end.words))
            if end.words
            else t("embeddings.nothing_left")
        )
    _show_removed(model, first, second, found, without)


def _show_removed(
    model: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    found: WordAxis,
    without: tuple[str, ...],
) -> None:
    names = {"first": listed(found.first), "second": listed(found.second)}
    st.subheader(t("embeddings.axis_removed", **names), anchor=False)
    st.caption(t("embeddings.axis_removed_explained"))
    word = choose_linked(
        st.selectbox,
        t("embeddings.neighbours_of"),
        found.words,
        key="embeddings_axis_removed",
    )
    removed = ask(remove_axis)(model, word, first, second, without=without)
    sides = {"before": removed.before, "after": removed.after}
    for box, (name, near) in zip(st.columns(2), sides.items(), strict=True):
        with box:
            st.markdown(f"**{t(f'embeddings.axis_{name}')}**")
            show_neighbours(near, "cosine", f"embeddings_axis_{name}")
    st.caption(
        t(
            "embeddings.axis_removed_described",
            word=removed.word,
            share=removed.share,
            gone=len(set(removed.before.words) - set(removed.after.words)),
            count=len(removed.before.words),
        )
    )


def _show_line(found: WordAxis, first: str, second: str, code: Program) -> None:
    order = np.argsort(found.cosines, kind="stable")
    names = [found.words[i] for i in order]
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
        code=code,
    )
    st.dataframe(columns, hide_index=True, alt=title)
    st.caption(t("embeddings.percentile_explained", count=found.num_compared))
