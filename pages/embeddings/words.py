"""The vocabulary in its full space: neighbours, an analogy, words between two words."""

from __future__ import annotations

import re

import numpy as np
import streamlit as st

from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vector_results import WordAnalogy, WordAxis
from bertviz_core.experiments.word_vectors import nearest_words, solve_analogy
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import say_pieces, show_neighbours
from pages.embeddings.widgets import (
    choose_comparison,
    choose_left_out,
    type_word,
)
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_figure, show_table
from pages.shared.language import listed, plain, t
from pages.shared.models import language_of
from pages.shared.panel import panel, show_numbers
from pages.shared.tools import Program, program

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
    ends = {"first": first, "second": second}
    code = program(programs.AXIS, model, **ends, words=laid_out, without=without)
    names = (listed(found.first), listed(found.second))
    _show_line(found, *names, code)
    found_ends = found.first_end, found.second_end
    for box, word, end in zip(st.columns(2), names, found_ends, strict=True):
        said = t("embeddings.axis_end", word=word, words=listed(end.words))
        box.markdown(said if end.words else t("embeddings.nothing_left"))
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
    label, key = "embeddings.neighbours_of", "embeddings_axis_removed"
    word = choose_linked(st.selectbox, label, found.words, key=key)
    removed = ask(remove_axis)(model, word, first, second, without=without)
    sides = {"before": removed.before, "after": removed.after}
    for box, (name, near) in zip(st.columns(2), sides.items(), strict=True):
        with box:
            st.markdown(f"**{t(f'embeddings.axis_{name}')}**")
            show_neighbours(near, "cosine", f"embeddings_axis_{name}")
    before, gone = (
        removed.before.words,
        {*removed.before.words} - {*removed.after.words},
    )
    counts = {"gone": len(gone), "count": len(before), "share": removed.share}
    st.caption(t("embeddings.axis_removed_described", word=removed.word, **counts))


def _show_line(found: WordAxis, first: str, second: str, code: Program) -> None:
    order = np.argsort(found.cosines, kind="stable")
    names = [found.words[i] for i in order]
    ends = {"first": first, "second": second}
    title = t("embeddings.axis_title", **ends)
    st.subheader(title, anchor=False)
    columns = {
        "embeddings.word": names,
        "embeddings.cosine": found.cosines[order],
        "embeddings.percentile": found.percentiles[order],
        "embeddings.place_on_line": found.positions[order],
        "embeddings.distance_from_line": found.distances[order],
    }
    show_figure(
        signed_bars_figure(
            names,
            found.cosines[order],
            plain("embeddings.axis_cosine", **ends),
            digits=3,
        ),
        name="embeddings_axis",
        description=t(
            "embeddings.axis_described", **ends, low=names[0], high=names[-1]
        ),
        columns=columns,
        code=code,
    )
    said = t("embeddings.percentile_explained", count=found.num_compared)
    show_table(columns, title, caption=said)


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
    views[choose_named("embeddings.words_view", list(views))](model, language_of(model))


def _neighbours(model: str, language: str) -> None:
    word = type_word("word", language, _WORD)
    metric, count, without = choose_comparison()
    if not word:
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(nearest_words)(model, word, count, metric, without)
    say_pieces(found.in_pieces)
    if found.token_id is not None:
        said = {"word": found.word, "number": found.token_id, "norm": found.norm}
        rank = {"rank": found.norm_rank, "count": found.num_entries}
        st.caption(t("embeddings.entry_described", **said, **rank))
    how = {"count": count, "metric": metric, "without": without}
    code = program(programs.NEIGHBOURS, model, word=word, **how)
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
    how = {"count": count, "metric": metric, "without": without}
    code = program(programs.ANALOGY, model, inputs=inputs, expected=expected, **how)
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
    if found.rank is None:
        return
    said = {
        "embeddings.rank_honest": (found.rank, found.num_compared),
        "embeddings.rank_told": (found.rank_without_inputs, found.num_without_inputs),
    }
    numbers = {
        key: t("embeddings.rank", rank=one, count=count)
        for key, (one, count) in said.items()
        if one is not None
    }
    show_numbers(numbers, word=found.expected)
