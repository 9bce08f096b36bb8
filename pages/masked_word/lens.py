"""The logit lens: what each layer would answer if it were the last."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.layer_results import LogitLens
from bertviz_core.experiments.lens import read_layers
from bertviz_core.figures.lines import lines_figure
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import masked_words
from pages.masked_word.question import Question, choose_words, likely_ids
from pages.shared.answers import ask
from pages.shared.choices import choose_number
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.tools import program

_MOST_COLUMNS = 12  # a word needs the width of a word


@panel
def explore_layers(question: Question) -> None:
    """Draws every layer's guess at every place, and a word or two on their way up."""
    st.markdown(t("masked_panels.lens_intro"))
    st.caption(t("masked_panels.lens_caveat"))
    words = tuple(dict.fromkeys(choose_words(question, "lens")))
    # All that is offered is asked for at once: another choice asks nothing.
    ids = tuple(dict.fromkeys((*likely_ids(question), *words)))
    lens = ask(read_layers)(question.model, question.text, word_ids=tuple(sorted(ids)))
    _show_map(lens, question)
    _show_ranks(lens, question, words)


def _rows(lens: LogitLens) -> list[str]:
    numbers = range(1, len(lens.top_ids))
    return [plain("masked_panels.lens_input"), *map(str, numbers)]


def _show_map(lens: LogitLens, question: Question) -> None:
    places = _choose_places(lens, question)
    tokens = [lens.tokenized.tokens[int(lens.positions[i])] for i in places]
    best = [[row[i][0] for i in places] for row in lens.top_tokens]
    probs = np.exp(lens.top_log_probs[:, places, 0])
    names = _rows(lens)
    # The last layer on top, as the text goes up through the network.
    show_figure(
        value_map_figure(
            probs[::-1],
            names[::-1],
            tokens,
            title=plain("masked_panels.probability"),
            row_title=plain("masked_panels.after_layer"),
            column_title=plain("masked_panels.token"),
            is_signed=False,
            words=best[::-1],
        ),
        name="masked_lens",
        description=t("masked_panels.lens_described", layers=len(names) - 1),
        columns={
            "masked_panels.after_layer": [n for n in names for _ in places],
            "masked_panels.token": [token for _ in names for token in tokens],
            "masked_panels.best": [word for row in best for word in row],
            "masked_panels.probability": probs.ravel(),
            "masked_panels.entropy": lens.entropy_bits[:, places].ravel().tolist(),
        },
    )


def _choose_places(lens: LogitLens, question: Question) -> list[int]:
    """Which places of the lens to draw; the mask is among them at first."""
    total = len(lens.positions)
    if total <= _MOST_COLUMNS:
        return list(range(total))
    here = lens.positions.tolist().index(question.position)
    last = total - _MOST_COLUMNS
    start = choose_number(
        st.slider,
        "masked_panels.lens_from",
        1,
        last + 1,
        min(max(here - _MOST_COLUMNS // 2, 0), last) + 1,
        key="masked_lens_from",
    )
    return list(range(start - 1, start - 1 + _MOST_COLUMNS))


def _show_ranks(lens: LogitLens, question: Question, words: tuple[int, ...]) -> None:
    """Draws the rank of words at the mask through the layers.

    The description speaks of the first of `words`, ids that `lens` was asked for.
    """
    place = lens.positions.tolist().index(question.position)
    rows = [lens.word_ids.tolist().index(word) for word in words]
    ranks = {
        ask(vocabulary)(question.model)[word]: lens.word_ranks[row, :, place]
        for word, row in zip(words, rows, strict=True)
    }
    names = _rows(lens)
    first, own = next(iter(ranks.items()))
    # The first layer from which on the word stays the best one.
    worse = np.flatnonzero(own > 1)
    since = int(worse[-1]) + 1 if len(worse) else 0
    arrives = t("masked_panels.lens_never", word=first, rank=int(own[-1]))
    if since < len(own):
        arrives = t("masked_panels.lens_since", word=first, row=names[since])
    columns: dict[str, list[object]] = {"masked_panels.after_layer": [*names]}
    for word, row in zip(ranks, rows, strict=True):
        rank, probability = (
            plain(f"masked_panels.{kind}_with", name=word)
            for kind in ("rank", "probability")
        )
        columns[rank] = lens.word_ranks[row, :, place].tolist()
        columns[probability] = np.exp(lens.word_log_probs[row, :, place]).tolist()
    show_figure(
        lines_figure(
            ranks,
            names,
            x_title=plain("masked_panels.after_layer"),
            y_title=plain("masked_panels.rank"),
            are_ranks=True,
        ),
        name="masked_lens_rank",
        description=arrives,
        columns=columns,
        code=program(
            masked_words.LENS,
            **question.program,
            words=tuple(ranks),
            position=question.position,
        ),
    )
