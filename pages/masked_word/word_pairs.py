"""Exact probabilities of pairs of words for two masks, in both orders."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.joint_filling import best_pairs
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.sentence_pairs import two_sentences_figure
from bertviz_core.snippets import masked_words
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.code import program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown

_TOP_K = 20
_NUM_WRITTEN = 8  # pairs in the picture that carry their words


def show_pairs(question: Question) -> None:
    """Draws the best pairs as a table and a picture."""
    size = question.tokenized.num_tokens
    pairs = ask_job(
        "masked_pairs",
        t("masked_panels.compute"),
        ask(best_pairs).about(question.model, question.text, top_k=_TOP_K),
        at_once=is_short(question.model, 3 * _TOP_K, size),
    )
    if pairs is None:
        return
    numbers = {
        plain("masked_panels.forward"): np.exp(pairs.log_prob_forward),
        plain("masked_panels.backward"): np.exp(pairs.log_prob_backward),
        plain("masked_panels.apart"): np.exp(pairs.log_prob_independent),
    }
    words: dict[str, list[str]] = {
        plain("masked_panels.first_word"): [first for first, _ in pairs.tokens],
        plain("masked_panels.second_word"): [second for _, second in pairs.tokens],
    }
    shown = {name: [percent(float(v)) for v in row] for name, row in numbers.items()}
    st.dataframe(words | shown, hide_index=True, alt=plain("masked_panels.pairs_table"))
    bounds = (float(np.exp(b)) for b in (pairs.bound_forward, pairs.bound_backward))
    forward, backward = (Markdown(percent(bound)) for bound in bounds)
    st.caption(t("masked_panels.pairs_bound", forward=forward, backward=backward))
    show_figure(
        two_sentences_figure(
            [f"{first} · {second}" for first, second in pairs.tokens],
            pairs.log_prob_forward,
            pairs.log_prob_backward,
            range(min(_NUM_WRITTEN, len(pairs.tokens))),
            title_a=plain("masked_panels.forward"),
            title_b=plain("masked_panels.backward"),
        ),
        name="masked_pairs",
        description=t("masked_panels.pairs_described", count=len(pairs.tokens)),
        columns=words | {name: row.tolist() for name, row in numbers.items()},
        code=program(masked_words.PAIRS, **question.program, top_k=_TOP_K),
    )
    apart = np.abs(pairs.log_prob_forward - pairs.log_prob_backward).max()
    st.caption(t("masked_panels.pairs_lesson", factor=float(np.exp(apart))))
